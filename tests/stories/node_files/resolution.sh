# In a network of its own: a name server of the network at 127.0.0.2, and the machine's dnsmasq, with the configuration that
# is put on machines, at 127.0.0.1. Then the questions. Arguments: folder, dnsmasq, dig.
set -euo pipefail
folder=$1 dnsmasq=$2 dig=$3
ip link set lo up

"$dnsmasq" --conf-file=/dev/null --no-hosts --no-resolv --listen-address=127.0.0.2 --bind-interfaces --pid-file= \
    --user=root --address=/elsewhere.example/192.0.2.7 --address=/api.cluster.example.com/203.0.113.1 --keep-in-foreground &
upstream=$!
"$dnsmasq" --conf-file="$folder/dnsmasq.conf" --listen-address=127.0.0.1 --bind-interfaces --pid-file= --keep-in-foreground &
own=$!
trap 'kill "$own" "$upstream" 2>/dev/null || true' EXIT

for server in 127.0.0.1 127.0.0.2; do
    until "$dig" +short +time=1 +tries=1 @$server elsewhere.example A >/dev/null 2>&1; do sleep 0.1; done
done

answer() {
    "$dig" +short +time=2 +tries=5 @127.0.0.1 "$1" A | paste -sd' '
}

for name in api.cluster.example.com api-int.cluster.example.com console.apps.cluster.example.com deep.a.apps.cluster.example.com \
    arosvc.azurecr.io elsewhere.example; do
    echo "up $name $(answer "$name")"
done
# The network's name server goes away.
kill "$upstream"
wait "$upstream" || true
for name in api.cluster.example.com api-int.cluster.example.com console.apps.cluster.example.com arosvc.azurecr.io; do
    echo "down $name $(answer "$name")"
done
