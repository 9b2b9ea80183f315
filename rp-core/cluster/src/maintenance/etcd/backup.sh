# Moves the manifest and the data of the etcd member of this node aside, so that the node starts no member and the next one
# begins empty. What an earlier attempt has moved stays where it is. HOST is the root of the node, PROC its processes.
set -euo pipefail
manifest=$HOST/etc/kubernetes/manifests/etcd-pod.yaml
data=$HOST/var/lib/etcd
aside=$HOST/var/lib/etcd-backup-$(date -u +%Y%m%dT%H%M%SZ)
if [ ! -e "$manifest" ] && [ ! -e "$data" ]; then
  echo "there is neither a manifest nor data of etcd on this node"
  exit 0
fi
mkdir -p -m 0700 "$aside"
if [ -e "$manifest" ]; then
  mv "$manifest" "$aside/"
  echo "moved $manifest to $aside"
fi
# The kubelet ends the member when its manifest is gone. Data that is in use is not moved.
waited=0
while grep -qsx etcd "$PROC"/[0-9]*/comm; do
  if [ "$waited" -ge "$PATIENCE" ]; then
    echo "etcd still runs on this node after $PATIENCE s" >&2
    exit 1
  fi
  sleep 1
  waited=$((waited + 1))
done
if [ -e "$data" ]; then
  mv "$data" "$aside/"
  echo "moved $data to $aside"
fi
sync
