#!/bin/sh
# Takes back what the installation offered to update-alternatives.
set -e
# An upgrade keeps them: "upgrade" is what dpkg says, 1 what rpm does.
case "${1:-}" in upgrade | 1) exit 0 ;; esac
command -v update-alternatives >/dev/null 2>&1 || exit 0
for name in redis-benchmark valkey-benchmark memtier_benchmark ycsb; do
    update-alternatives --remove "$name" "/usr/lib/keystorm/$name" 2>/dev/null || true
done
