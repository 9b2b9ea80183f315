#!/bin/bash
# Puts the lines of /etc/hosts.d/aro.conf into /etc/hosts in place of those that it put there before; other lines stay. It
# may run any number of times. The first argument is the root of the file system; it is for tests.
set -euo pipefail

root=${1:-}
readonly mark='# openshift-aro-etchosts-resolver'
readonly hosts=$root/etc/hosts
readonly entries=$root/etc/hosts.d/aro.conf
readonly new=$root/etc/hosts.d/aro.tmp

{
    if [[ -f $hosts ]]; then
        # awk ends the last line, so that the first of ours does not become a part of it.
        awk -v mark="$mark" 'index($0, mark) == 0' "$hosts"
    fi
    while read -r line || [[ -n $line ]]; do
        if [[ -n $line ]]; then
            printf '%s %s\n' "$line" "$mark"
        fi
    done <"$entries"
} >"$new"

if cmp -s "$new" "$hosts"; then
    rm -f "$new"
else
    chmod 0644 "$new"
    mv -fZ "$new" "$hosts"
fi
