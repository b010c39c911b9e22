#!/bin/sh
# Fails if more checks were skipped than may be. usage: skipped-checks.sh FILE, a line for each.
#
# Where all that the tests use is installed, no check is skipped for want of it. On a busy machine, checks that only a
# quiet one decides are skipped; if many are, something makes results undecided.
set -eu
skipped=$1
servers=$(cd "$(dirname "$0")/.." && pwd)/target/test-servers

# Beside two programs that hold two CPUs of a slow machine, 21 were.
busy_max=30
lacking_max=0
# Adds a number of checks that may be skipped where a command fails.
without() {
    checks=$1
    shift
    "$@" >/dev/null 2>&1 || lacking_max=$((lacking_max + checks))
}
without 1 mpirun --version
without 1 faketime --version
without 1 sh -c 'test -x /usr/sbin/sshd || test -x /usr/local/sbin/sshd'
without 1 ip netns list
without 1 unshare --time --monotonic 3600 true
without 1 python3 -c 'import redisbench_admin'
without 1 python3 -m pip --version
without 1 test -d "$servers/ray"
without 1 test -d "$servers/python/redis"
without 4 test -e "$servers/memcached-1.6.38"
without 6 test -e "$servers/ycsb/core.jar"
without 1 test -e "$servers/ycsb/hdrhistogram.jar"
without 7 java -version
without 4 test -e "$servers/valkey-server-9.1.2"
without 4 test -e "$servers/redis-server-8.2.3"

# Fails if more lines begin with a text than may.
at_most() {
    count=$(grep -c "^$2" "$skipped" || true)
    if [ "$count" -gt "$1" ]; then
        echo "error: $count checks were \"$2\", at most $1 may be: see scripts/skipped-checks.sh" >&2
        exit 1
    fi
}
at_most "$lacking_max" 'skipped: '
at_most "$busy_max" 'skipped on a busy machine: '
