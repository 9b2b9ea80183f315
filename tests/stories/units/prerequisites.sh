#!/usr/bin/env bash
# What a machine of its own (machine.sh) takes of this one. Names on standard output what is missing and what to do about
# it; the exit status is 1 then. Nothing of what it mounts or makes stays.
#
# Usage: bash prerequisites.sh FOLDER
#   FOLDER  an empty folder
set -uo pipefail

export PATH=$PATH:/usr/sbin:/sbin
folder=$1 status=0
missing() { printf '%s\n' "$*"; status=1; }
privileges='run the tests as root with all capabilities (of a container: docker run --privileged --cgroupns=private)'

if [ "${2:-}" = inside ]; then
  if ! error=$(mount -t tmpfs -o mode=755 layer "$folder" 2>&1); then
    missing "mounts: a folder in memory cannot be mounted ($error): $privileges"
    exit "$status"
  fi
  mkdir "$folder"/{upper,work,root,groups}
  layers="lowerdir=/,upperdir=$folder/upper,workdir=$folder/work"
  error=$(mount -t overlay -o "$layers" machine "$folder/root" 2>&1) ||
    missing "overlayfs: / cannot be the lower layer of one ($error): modprobe overlay; a container's root folder must allow it"
  own=$(sed -n 's/^0:://p' /proc/self/cgroup)
  if [ -z "$own" ]; then
    missing "control groups of version 2: this host has none: boot it with systemd.unified_cgroup_hierarchy=1"
  elif ! error=$(mount -t cgroup2 groups "$folder/groups" 2>&1); then
    missing "control groups of version 2: they cannot be mounted ($error): $privileges"
  else
    group=$folder/groups$own/aro-prerequisites-$$
    if error=$(mkdir "$group" 2>&1); then
      (echo "$BASHPID" > "$group/cgroup.procs") 2> /dev/null ||
        missing "control groups of version 2: no process can be moved within $own: $privileges"
      rmdir "$group"
    else
      missing "control groups of version 2: none can be made below $own ($error): $privileges"
    fi
  fi
  exit "$status"
fi

while read -r program package; do
  type -P "$program" > /dev/null || missing "$program: apt-get install --no-install-recommends $package (tests/parts/install does it)"
done << 'END'
unshare util-linux
nsenter util-linux
setsid util-linux
pivot_root util-linux
runuser util-linux
mount mount
umount mount
ip iproute2
useradd passwd
sysctl procps
systemctl systemd
systemd-analyze systemd
curl curl
python3 python3
END
[ "$status" = 0 ] || exit "$status"

own='--mount --propagation private --pid --fork --ipc --uts --cgroup --net'
# shellcheck disable=SC2086 # several words
error=$(unshare $own true 2>&1) || missing "namespaces: none can be made ($error): $privileges"
[ "$status" = 0 ] || exit "$status"
exec unshare --mount --propagation private bash "$0" "$folder" inside
