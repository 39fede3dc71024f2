#!/bin/sh
# Process 1 of new namespaces: puts together the file system that a command sees, gives up every right, and runs the
# command. Everything comes in variables and arguments; none of it is read as a script but SVC_LAST, when
# there is nothing left to be gained. Descriptor 3 takes complaints, and `ready` when the command begins.
#
#   SVC_ROOT      an existing folder, on which the new root is put together; what is in it is not seen any more
#   SVC_TABLE     what is mounted there, as in fstab
#   SVC_FOLDERS   folders to make there first, relative, a line each
#   SVC_FILES     empty files to make there, a line each
#   SVC_LINKS     links to copy there, a line each
#   SVC_PIDS      highest process id; empty: leave it
#   SVC_LOOPBACK  program and arguments, a line each, that bring the loopback device up; empty: leave it
#   SVC_LIMITS    options of prlimit, a line each
#   SVC_LAST      the script that sets the variables of the command, and runs it
#   $1            the checkout, which is also the working directory at the start
#   $2 $3 …       folders that are seen at the same path, each with mount options or `covered`, outer ones first
set -euf
umask 022
exec 5>&2 2>&3
root=$SVC_ROOT
checkout=$1
shift
# the script splits only lines
IFS='
'

cd -P .
[ "$PWD" = "$checkout" ] || { echo "the checkout was moved" >&2 && exit 1; }
exec 6<.

# Others may be changing the folder or what is around it: what is mounted is what was looked at.
show() {
  [ -d "$root$1" ] || mkdir -p -- "$root$1"
  if [ "$2" = covered ]; then
    mount -t tmpfs -o nosuid,nodev,noexec,size=64k,mode=0755 svc "$root$1"
    return
  fi
  if [ "$1" = "$checkout" ]; then
    exec 4<&6
  else
    cd -P -- "$1"
    [ "$PWD" = "$1" ] || { echo "a folder was moved" >&2 && exit 1; }
    exec 4<.
  fi
  case $2 in
    rw,*) mount -c -o "rbind,$2" /proc/self/fd/4 "$root$1" ;;
    *)
      mount -c --rbind /proc/self/fd/4 "$root$1"
      cd -P -- "$root$1"
      [ "$PWD" = "$root$1" ] || { echo "a folder was moved" >&2 && exit 1; }
      mount -c -o "remount,bind,$2" .
      ;;
  esac
  exec 4<&-
}

# where memory runs out, this is ended before anything else
echo 1000 >/proc/self/oom_score_adj
loopback=
if [ -n "$SVC_LOOPBACK" ]; then
  $SVC_LOOPBACK &
  loopback=$!
fi

mount -t tmpfs -o nosuid,nodev,mode=0755,size=1m svc "$root"
mount -t proc -o nosuid,nodev,noexec,X-mount.mkdir=0755 proc "$root/proc"
# root only; others keep the name of the machine
{ echo svc >"$root/proc/sys/kernel/hostname"; } 2>/dev/null || :
[ -z "$SVC_PIDS" ] || echo "$SVC_PIDS" >"$root/proc/sys/kernel/pid_max"
# that of the command itself
echo 1 >"$root/proc/sys/user/max_user_namespaces"
cd "$root"
mkdir -p -- $SVC_FOLDERS
for file in $SVC_FILES; do : >"$root$file"; done
cp -P --parents -- $SVC_LINKS "$root"
printf 'root:x:0:0::/:/bin/false\nsvc:x:1000:1000::/tmp:/bin/sh\n' >"$root/etc/passwd"
printf 'root:x:0:\nsvc:x:1000:\n' >"$root/etc/group"
printf '127.0.0.1 localhost svc\n::1 localhost\n' >"$root/etc/hosts"
# mount reads no pipe; the file ends below what is mounted at /tmp
printf '%s\n' "$SVC_TABLE" >"$root/tmp/table"
mount -a -T "$root/tmp/table"
covered=
while [ $# -gt 0 ]; do
  show "$1" "$2"
  [ "$2" != covered ] || covered="$covered$1$IFS"
  shift 2
done
for folder in $covered; do mount -o remount,bind,ro,nosuid,nodev,noexec "$root$folder"; done

[ -z "$loopback" ] || wait "$loopback"
cd "$root"
pivot_root . mnt
umount -l /mnt
mount -o remount,bind,ro,nosuid,nodev /
cd -- "$checkout"
limits=$SVC_LIMITS
unset OLDPWD SVC_ROOT SVC_TABLE SVC_FOLDERS SVC_FILES SVC_LINKS SVC_PIDS SVC_LOOPBACK SVC_LIMITS
echo ready >&3
exec 2>&5 3>&- 5>&- 6<&-
exec prlimit $limits unshare --user --map-user=1000 --map-group=1000 --keep-caps \
  setpriv --pdeathsig KILL --no-new-privs --ambient-caps=-all --inh-caps=-all --bounding-set=-all \
  /bin/sh -fc "$SVC_LAST"
