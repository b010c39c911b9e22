#!/bin/sh
# keystorm as the tests of the documents call it: a line that names no server means the one of the
# test, and what takes long is made short. Everything else is as the page has it.
program=$KEYSTORM_LINKS/${0##*/}
# A file says all.
[ "${0##*/}" != rpc-perf ] || exec "$program" "$@"
command=
case $1 in
show | merge | history | presets | sink | help | man | completions) exec "$program" "$@" ;;
rpc-perf | replay | record | describe | profile) exec "$program" "$@" ;;
ycsb) exec "$program" "$@" -p redis.port="$KEYSTORM_PORT" ;;
compare)
    case " $* " in
    *" --baseline "*) exec "$program" "$@" ;;
    *" --replay "*)
        "$program" "$@" --repeat 2 --disturbed=count
        code=$?
        # What changes here is no fault of the page.
        [ $code -ne 3 ] && [ $code -ne 4 ] || exit 0
        exit $code
        ;;
    esac
    command=$1 && shift
    ;;
sweep | search | doctor | survey | footprint | suite | impact | durability | memtier) command=$1 && shift ;;
deliver) command="$1 $2" && shift 2 ;;
connect) command=$1 && shift ;;
esac

# The rate of a run is told by quarters of a second.
short=0.6
[ -z "$command" ] || short=0.1
[ "$KEYSTORM_SHORT" ] || short=

server= length= repeat= protocol= keys= before=
left=$#
while [ "$left" -gt 0 ]; do
    arg=$1 left=$((left - 1))
    shift
    case $before in
    -n) case $arg in *[kMG] | ?????*) arg=$KEYSTORM_REQUESTS ;; esac ;;
    -r) case $arg in *[MG] | ??????*) arg=10k ;; esac ;;
    --duration) arg=${short:-$arg} ;;
    --warmup) arg=0.05 ;;
    --time) arg=0.1 ;;
    --test-time) arg=1 ;;
    # A busy machine takes long to open connections.
    --start-at) case $arg in +*) arg=+6 ;; esac ;;
    --repeat) arg=2 ;;
    --rps) case $arg in */*) arg=${arg%/*}/0.1s length=yes ;; esac ;;
    --protocol) protocol=$arg ;;
    esac
    case $arg in
    -p | -u | -s | --spawn | --spawn=*) server=yes ;;
    -n | --duration) length=yes ;;
    --repeat) repeat=yes ;;
    --keys) keys=yes ;;
    *.json) [ "$before" = --json ] || [ "$command" != compare ] || length=yes repeat=yes ;;
    esac
    before=$arg
    set -- "$@" "$arg"
done

[ "$command" != compare ] || [ "$repeat" ] || set -- --repeat 2 "$@"

mix=
[ "$command" != impact ] || case " $* " in *" --of mix "*) mix=-mix && set -- --blocks 2 "$@" ;; esac
[ "$command" != footprint ] || [ "$keys" ] || set -- --keys 256 "$@"
case $command$mix in
sweep | search | compare | impact-mix) [ "$length" ] || set -- --duration "$short" "$@" ;;
'') [ "$length" ] || set -- -n 500 "$@" ;;
esac
if [ -z "$server" ] && [ "$command" != compare ]; then
    case $protocol in
    memcache*) set -- -p "$KEYSTORM_MEMCACHED" "$@" ;;
    *) set -- -p "$KEYSTORM_PORT" "$@" ;;
    esac
fi
# shellcheck disable=SC2086 # no word where there is no subcommand
"$program" $command "$@"
code=$?
case $command:$code in
# What a doctor finds here, and which of two is faster here, is no fault of the page.
doctor:1 | compare:[34] | impact:4) exit 0 ;;
esac
exit $code
