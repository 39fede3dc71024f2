/** Ways out of a sandbox: each command succeeds (exit code 0) where the way is open. */

export interface Escape {
  readonly name: string
  readonly command: string
  /** It must be open without a sandbox, or the command proves nothing: always, for root, or it cannot be tried. */
  readonly openOutside: "always" | "root" | "untried"
}

const connect = (where: string): string =>
  `node -e "const s=require('net').connect(${where});s.on('connect',()=>process.exit(0)).on('error',()=>process.exit(1));setTimeout(()=>process.exit(1),3000)"`

const rows: ReadonlyArray<readonly [Escape["openOutside"], string, string]> = [
  // what lies on the disk
  ["always", "reads a secret of the data folder", 'cat "$DATA/secret"'],
  ["always", "finds the secret beside the checkout", "test -e ../secret"],
  ["always", "goes up with dots", "cd ../../../../.. && cat secret"],
  ["always", "reads another run's checkout", 'cat "$OTHER/secret"'],
  ["always", "lists the folder of all runs", "ls ../../other"],
  ["always", "follows a link of its own to a secret", 'ln -sfn "$DATA/secret" link && cat link'],
  ["always", "links a secret into the checkout", 'ln -f "$DATA/secret" hard'],
  [
    "always",
    "goes through the root of process 1",
    'ls "/proc/$SERVICE/root$DATA/secret" || ls "/proc/1/root$DATA/secret"',
  ],
  ["always", "goes through the working directory of a process", 'cat "/proc/$BYSTANDER/cwd/secret"'],
  ["always", "looks into the home folder's parent", 'ls "$OUTSIDE"'],
  ["root", "reads the password file", "cat /etc/shadow"],
  ["root", "reads private keys", "ls /etc/ssl/private"],
  ["always", "sees the accounts of the machine", "grep -q ^daemon: /etc/passwd"],
  ["always", "sees /var", "test -e /var/lib"],
  ["always", "sees /run", "test -e /run || test -e /var/run"],
  ["always", "sees /sys", "test -e /sys/kernel || test -e /sys/fs"],
  ["always", "sees /home or /root", "test -e /root || test -e /home"],
  [
    "untried",
    "opens a disk",
    'set -- $(awk "/sd|vd|nvme/ {print \\$1, \\$2; exit}" /proc/partitions); mknod disk b $1 $2 && head -c 1 disk',
  ],
  ["untried", "opens memory", "head -c 1 /dev/mem || head -c 1 /proc/kcore"],
  // changing it
  ["always", "writes beside the checkout", 'echo x >"$OUTSIDE/new"'],
  ["root", "writes into /usr", "touch /usr/bin/true"],
  ["root", "writes into /etc", "touch /etc/services"],
  ["root", "writes into the root folder", "touch /svc-sandbox-test && rm /svc-sandbox-test"],
  ["always", "writes into a read-only folder", 'touch "$LIBRARY/secret"'],
  ["always", "writes into a read-only folder of the checkout", "touch .git/secret"],
  ["untried", "moves a read-only folder of the checkout away", "mv .git elsewhere"],
  ["untried", "removes what is in it", "rm -rf .git/secret"],
  ["root", "changes the rights of a device", 'chmod "$(stat -c %a /dev/null)" /dev/null'],
  ["root", "writes a setting of the kernel", 'f=/proc/sys/kernel/core_pattern; v=$(cat $f); echo "$v" >$f'],
  ["untried", "triggers the kernel", "echo h >/proc/sysrq-trigger"],
  ["root", "lifts a mount", "mkdir -p m && mount -t tmpfs x m && umount m"],
  ["untried", "makes the system writable again", "mount -o remount,rw,bind /usr"],
  ["untried", "makes the root writable again", "mount -o remount,rw /"],
  ["untried", "uncovers what is below", "umount -l /proc/sys || umount -l /tmp || umount -l .git"],
  ["root", "changes its root", "chroot / true"],
  // processes
  [
    "always",
    "finds a secret in the environment of others",
    "cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | grep ^CANARY=canary",
  ],
  ["always", "finds a secret in the arguments of others", "cat /proc/[0-9]*/cmdline | grep -qa setTime[o]ut"],
  ["always", "signals a process outside", 'kill -0 "$BYSTANDER"'],
  ["untried", "kills all it can", 'kill -9 -1; kill -9 "$BYSTANDER"'],
  ["root", "finds rights in process 1", "grep -Eq '^Cap(Inh|Prm|Eff|Bnd|Amb):.*[1-9a-f]' /proc/1/status"],
  ["always", "gains rights by programs", "grep -q '^NoNewPrivs:.0' /proc/self/status"],
  ["root", "has capabilities", "grep -Eq '^Cap(Inh|Prm|Eff|Bnd|Amb):.*[1-9a-f]' /proc/self/status"],
  ["always", "makes a user namespace", "unshare --user true"],
  ["root", "makes a mount namespace", "unshare --mount true"],
  ["root", "is root", "[ $(id -u) = 0 ]"],
  ["root", "becomes somebody else", "setpriv --reuid 1 --regid 1 --clear-groups true"],
  ["root", "sets the clock", 'date -s "$(date)"'],
  ["untried", "renames the machine", "hostname svc2 || echo svc2 >/proc/sys/kernel/hostname"],
  ["root", "raises its limits", "prlimit --nofile=$(($(ulimit -Hn) + 1)) true || prlimit --core=unlimited true"],
  ["untried", "raises the number of processes", "echo 30000 >/proc/sys/kernel/pid_max || prlimit --nproc=100000 true"],
  ["untried", "opens a terminal", "test -t 0 || test -t 1 || exec 3<>/dev/tty"],
  ["untried", "has a terminal's multiplexer", "test -e /dev/ptmx && test -e /dev/console"],
  ["always", "reads the session of the service", 'cut -d" " -f6 /proc/$SERVICE/stat | grep -q .'],
  [
    "untried",
    // the shell itself reads from 3
    "has a descriptor that it was left",
    // one that is gone when it is looked at was the shell's own
    'for f in /proc/$$/fd/*; do [ $(basename $f) -le 3 ] && continue; l=$(readlink $f) || continue; [ "$l" = /dev/null ] || exit 0; done; exit 1',
  ],
  ["untried", "finds secrets of the service in its environment", "env | grep -q -e CANARY -e SVC_ -e NODE_ -e VITEST"],
  // network
  ["always", "connects to the loopback of the machine", connect("process.env.PORT, '127.0.0.1'")],
  ["always", "connects to an address of the machine", connect("process.env.PORT, process.env.ADDRESS")],
  ["always", "connects to an abstract socket", connect("'\\\\0' + process.env.ABSTRACT")],
  ["always", "connects to a named socket", connect("process.env.OUTSIDE + '/socket'")],
  ["untried", "resolves a name", "getent ahosts example.com"],
  ["untried", "reaches the outside", connect("53, '1.1.1.1'")],
  ["always", "sees the network devices of the machine", "grep -v -e lo: -e '|' /proc/net/dev"],
  ["untried", "adds a network device", "ip link add svc0 type dummy"],
]

export const escapes: ReadonlyArray<Escape> = rows.map(([openOutside, name, command]) => ({
  openOutside,
  name,
  command,
}))
