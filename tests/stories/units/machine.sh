#!/usr/bin/env bash
# A machine of its own for units of systemd: the root folder of this one under a layer in memory, namespaces of its own for
# processes, mounts, network, names and control groups, and a real systemd as process 1. It ends with this process.
#
# Usage: unshare --mount --propagation private bash machine.sh FOLDER ARO DEPLOY
#   FOLDER  files/ in it is laid over the root folder; systemd writes systemd.log there
#   ARO     the binary, DEPLOY the folder of units and examples: where a checkout has them, below /srv/aro
set -euo pipefail

folder=$1 aro=$2 deploy=$3

# systemd keeps each service in a control group, here below one of our own. A process outside it removes it when all is over.
if [ "${4:-}" != inside ]; then
  mkdir "$folder/layer"
  mount -t cgroup2 groups /sys/fs/cgroup
  parent=/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)
  group=$parent/aro-machine-$$
  mkdir "$group"
  echo $$ > "$group/cgroup.procs"
  (setsid bash -c '
    echo $$ > "$1/cgroup.procs"
    while grep -q "populated 1" "$2/cgroup.events"; do sleep 0.2; done
    for _ in {1..50}; do find "$2" -depth -type d -exec rmdir {} + && break; sleep 0.2; done
    ' remove "$parent" "$group" < /dev/null > /dev/null 2>&1 &)
  exec unshare --mount --propagation private --pid --fork --kill-child --ipc --uts --cgroup --net bash "$0" "$@" inside
fi

layer=$folder/layer root=$folder/layer/root
mount -t tmpfs -o mode=755 layer "$layer"
mkdir "$layer"/{upper,work,root}
mount -t overlay -o "lowerdir=/,upperdir=$layer/upper,workdir=$layer/work" machine "$root"
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t cgroup2 groups "$root/sys/fs/cgroup"
mount -t tmpfs -o mode=755 run "$root/run"
mount -t tmpfs -o mode=1777 tmp "$root/tmp"
mount -t tmpfs -o mode=755 dev "$root/dev"
mkdir "$root"/dev/{pts,shm}
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
mount -t tmpfs -o mode=1777 shm "$root/dev/shm"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
show() { : > "$2"; mount --bind "$1" "$2"; }
for device in null zero full random urandom tty; do show "/dev/$device" "$root/dev/$device"; done
: > "$folder/systemd.log"
show "$folder/systemd.log" "$root/dev/kmsg"
ip link set lo up

# As a machine that has neither us nor services yet; somebody lives there.
rm -rf "$root"/etc/{aro,systemd/system} "$root"/var/{lib,log}/aro "$root"/{home,srv}
mkdir -p "$root"/{logs,home/somebody,srv/aro/deploy,srv/aro/target/dist}
echo private > "$root/home/somebody/file"
mkdir -m 1777 "$root/run/lock"
cp -R "$folder/files/." "$root/"
show "$aro" "$root/srv/aro/target/dist/aro"
mount --bind -o ro "$deploy" "$root/srv/aro/deploy"

cd "$root"
mkdir old
pivot_root . old
umount -l old
rmdir old
exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin container=machine SYSTEMD_UNIT_PATH=/etc/systemd/system \
  /usr/lib/systemd/systemd --system --unit=machine.target --show-status=no --log-target=kmsg --log-level=info
