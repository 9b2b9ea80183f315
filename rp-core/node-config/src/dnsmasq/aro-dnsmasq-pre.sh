#!/bin/bash
# Before dnsmasq starts: tells dnsmasq the name servers of the network, and NetworkManager that this machine asks its own
# dnsmasq. It may run any number of times. The first argument is the root of the file system; it is for tests.
set -euo pipefail

root=${1:-}
tries=${2:-30}
readonly azure=168.63.129.16 # Only the route to it is read; nothing is sent.
readonly upstream=$root/etc/resolv.conf.dnsmasq
readonly settings=$root/etc/NetworkManager/conf.d/aro-dns.conf

node_address() {
    { ip -4 route get "$azure" 2>/dev/null || true; } | sed -n 's/.* src \([0-9.]*\).*/\1/p' | sed -n 1p
}

# Each value of a field of all devices, once, in order.
of_devices() {
    { nmcli -t -f "$1" device show 2>/dev/null || true; } | sed -n 's/^[A-Z0-9]*\.[A-Z]*\[[0-9]*\]://p' | awk 'NF && !known[$0]++'
}

# Each value of a keyword of resolv.conf, once, in order.
of_resolv_conf() {
    awk -v keyword="$1" '$1 == keyword { for (i = 2; i <= NF; i++) if (!known[$i]++) print $i }' "$root/etc/resolv.conf" 2>/dev/null || true
}

# This machine is no server of itself: a question would go round in circles.
without_self() {
    awk -v self="$address" '$0 != self && $0 !~ /^127\./ && $0 != "::1"'
}

# Writes a file whole or not at all; false: it is so already.
write() {
    local file=$1 text=$2 new
    if [[ -f $file && $(<"$file") == "$text" ]]; then
        return 1
    fi
    mkdir -p "${file%/*}"
    new=$(mktemp "$file.XXXXXX")
    printf '%s\n' "$text" >"$new"
    chmod 0644 "$new"
    mv -fZ "$new" "$file"
}

address='' servers=''
for ((try = 1; try <= tries; try++)); do
    address=$(node_address)
    if [[ -n $address ]]; then
        servers=$(of_devices IP4.DNS | without_self)
        [[ -n $servers ]] || servers=$(of_resolv_conf nameserver | without_self)
    fi
    if [[ -n $address && -n $servers ]]; then
        break
    fi
    if ((try < tries)); then
        sleep 2
    fi
done

if [[ -z $address ]]; then
    echo "this machine has no route to $azure, so its own address is not known" >&2
    exit 1
fi
if [[ -n $servers ]]; then
    write "$upstream" "$(sed 's/^/nameserver /' <<<"$servers")" || true
elif [[ ! -s $upstream ]]; then
    echo "the network gives no name server, and none is known from before" >&2
    exit 1
fi

domains=$(of_devices IP4.DOMAIN)
[[ -n $domains ]] || domains=$(of_resolv_conf search)
text='[global-dns]'
if [[ -n $domains ]]; then
    text+=$'\n'searches=$(paste -sd, <<<"$domains")
fi
text+=$'\n\n[global-dns-domain-*]\n'servers=$address
if write "$settings" "$text"; then
    nmcli general reload conf
    nmcli general reload dns-rc
fi
