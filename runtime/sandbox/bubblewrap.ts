/**
 * Confines a command by bubblewrap (https://github.com/containers/bubblewrap): the same view and the same rights as by
 * `namespaces.ts`, put together by a program that some systems allow more than others.
 */
import { readlink } from "node:fs/promises"
import type { Execution } from "#core/ports/sandbox.ts"
import type { SandboxLimits } from "#runtime/sandbox/limits.ts"
import type { Machine } from "#runtime/sandbox/machine.ts"
import { commandEnvironment, lastScript, type Program, variablesFor } from "#runtime/sandbox/program.ts"
import { resourceLimits } from "#runtime/sandbox/resource-limits.ts"
import type { Shown } from "#runtime/sandbox/view.ts"

/** Descriptor 3 takes the complaints of bubblewrap, and `ready` when the command begins. */
const outside = `
echo 1000 >/proc/self/oom_score_adj
exec 9>&2 2>&3
exec "$@"`
const inside = `
echo ready >&3
exec 2>&9 3>&- 9>&-
exec "$@"`

const accounts = [
  ["/etc/passwd", "root:x:0:0::/:/bin/false\nsvc:x:1000:1000::/tmp:/bin/sh\n"],
  ["/etc/group", "root:x:0:\nsvc:x:1000:\n"],
  ["/etc/hosts", "127.0.0.1 localhost svc\n::1 localhost\n"],
] as const

/** `program` is that of bubblewrap. */
export const byBubblewrap = async (
  program: string,
  execution: Execution,
  shown: ReadonlyArray<Shown>,
  machine: Machine,
  limits: SandboxLimits,
): Promise<Program> => {
  const links = await Promise.all(machine.links.map(async (path) => ["--symlink", await readlink(path), path]))
  const files = execution.network ? [...machine.files, ...machine.networkFiles] : machine.files
  const inMemory = (path: string) => ["--perms", "1777", "--size", String(limits.temporaryBytes), "--tmpfs", path]
  const args = [
    ...["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"],
    ...(execution.network ? [] : ["--unshare-net"]),
    ...["--disable-userns", "--uid", "1000", "--gid", "1000", "--hostname", "svc"],
    ...["--die-with-parent", "--new-session", "--cap-drop", "ALL"],
    ...["--proc", "/proc", ...inMemory("/tmp"), "--dir", "/dev", ...inMemory("/dev/shm")],
    // what is bound read-only is no device any more; only root could change the entry
    ...machine.devices.flatMap((device) => ["--dev-bind", device, device]),
    ...machine.folders.flatMap((folder) => ["--ro-bind", folder, folder]),
    ...files.flatMap((file) => ["--ro-bind", file, file]),
    ...accounts.flatMap(([path], index) => ["--perms", "0644", "--ro-bind-data", String(5 + index), path]),
    ...links.flat(),
    ...shown.flatMap(({ path, as }) =>
      as === "covered" ? ["--tmpfs", path] : [as === "writable" ? "--bind" : "--ro-bind", path, path],
    ),
    ...shown.flatMap(({ path, as }) => (as === "covered" ? ["--remount-ro", path] : [])),
    ...["--remount-ro", "/proc", "--remount-ro", "/", "--chdir", execution.workingDirectory],
  ]
  return {
    file: "/bin/sh",
    args: [
      ...["-ec", outside, "sh", program, "--args", "4", "--", "/bin/sh", "-ec", inside, "sh"],
      ...["prlimit", ...resourceLimits(execution.timeout, limits, machine), "/bin/sh", "-fc", lastScript],
    ],
    environment: {
      PATH: "/usr/sbin:/usr/bin:/sbin:/bin",
      LC_ALL: "C",
      ...variablesFor(execution.command, commandEnvironment(machine.path, "/tmp", execution.environment)),
    },
    workingDirectory: execution.workingDirectory,
    saysReady: true,
    handed: [`${args.join("\0")}\0`, ...accounts.map(([, text]) => text)],
  }
}
