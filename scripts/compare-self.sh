#!/bin/sh
# Compares a server with itself twenty times and counts how often a figure is said to differ, which
# should be one time in twenty. Fails if that is over two of twenty for the throughput. Needs a quiet
# machine and takes some six minutes.
#
#   sh scripts/compare-self.sh [KEYSTORM [SERVER]]
#
# KEYSTORM and SERVER are programs, by default from the PATH; TIMES, BLOCKS and OPTIONS say how often,
# in how many blocks of A B B A, and under which load.
set -eu
keystorm=${1:-keystorm}
server=${2:-redis-server}
times=${TIMES:-20}
blocks=${BLOCKS:-5}
options=${OPTIONS:--t ping_mbulk --duration 0.5 --warmup 0.1}
rows=$(mktemp)
trap 'rm -f "$rows"' EXIT
trap 'exit 130' INT TERM

n=0
while [ "$n" -lt "$times" ]; do
    n=$((n + 1))
    # shellcheck disable=SC2086 # options are several words
    "$keystorm" compare "$server" "$server" --csv --repeat "$blocks" $options 2>/dev/null |
        tail -n +2 >>"$rows"
    echo "$n of $times" >&2
done

awk -F, -v most=$((times / 10)) '
    { gsub(/"/, ""); figure[$2]++; if ($8 == "differ") found[$2]++ }
    END {
        for (f in figure) printf "%-28s %d of %d said to differ\n", f, found[f], figure[f]
        if (!("throughput_rps" in figure)) { print "nothing was compared"; exit 1 }
        exit (found["throughput_rps"] > most)
    }' "$rows"
