#!/bin/sh
# A server that freezes for 1 second of every 10, measured by keystorm at 1,000 requests per second
# and by redis-benchmark. Prints what each of them reports of the same freeze: the opening example
# of docs/publishing.md. Takes 50 seconds.
#
#   sh scripts/freeze.sh [KEYSTORM]     where KEYSTORM is the program, by default from the PATH
set -eu
keystorm=${1:-keystorm}
port=${PORT:-7391}

redis-server --port "$port" --save '' --appendonly no >/dev/null &
server=$!
freezer=
end() {
    # A process that is stopped does not hear that it is to end.
    kill -CONT "$server" 2>/dev/null || true
    kill "$freezer" "$server" 2>/dev/null || true
}
trap end EXIT
trap 'exit 130' INT TERM

tries=0
until redis-cli -p "$port" set k v >/dev/null 2>&1; do
    tries=$((tries + 1))
    if [ "$tries" -gt 50 ]; then
        echo "redis-server does not answer on port $port; choose another: PORT=7392 sh $0" >&2
        exit 1
    fi
    sleep 0.1
done

# Freezes the server for a second in the middle of every ten.
freeze() {
    sleep 4.5
    while kill -STOP "$server"; do
        sleep 1
        kill -CONT "$server"
        sleep 9
    done
}

# Runs a command line against the server while it freezes.
measure() {
    echo "\$ $*"
    freeze &
    freezer=$!
    "$@"
    kill "$freezer"
    wait "$freezer" 2>/dev/null || true
    kill -CONT "$server"
}

measure "$keystorm" -p "$port" --rps 1000 --duration 20 get k

# redis-benchmark cannot be told a time: as many requests as it sends in some 20 seconds. Its live line
# is left out.
rate=$(redis-benchmark -p "$port" -n 50000 --csv get k | sed -n '$s/^"[^"]*","\([0-9]*\).*/\1/p')
measure redis-benchmark -p "$port" -n $((rate * 20)) get k | sed 's/.*\r//'
