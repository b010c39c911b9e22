# Becomes "$server", counted by "$counter" into the file "$out".
#
# Where name spaces may be made, a file of random bytes, "$seed", lies over those that the server begins with.
seeded() {
    space="unshare --user --map-root-user --mount sh -c"
    if $space 'mount --bind "$0" /dev/urandom' "$seed" 2>/dev/null; then
        exec $space 'mount --bind "$0" /dev/urandom && exec "$@"' "$seed" "$@"
    fi
    exec "$@"
}

# The limit of open files that memcached asks for: valgrind lets it ask for neither more nor fewer.
[ "$protocol" != memcache ] || ulimit -S -n 1024

if [ "$counter" = perf ]; then
    perf stat -x , -e instructions:u -o "$out" -p $$ &
    # Until it counts this shell, which is to be the server.
    sleep 1
    seeded "$server" "$@"
fi
# Functions that a server's timers call are left out, as a slow run has more of them; without the last option, they
# would be all that is counted.
seeded valgrind --tool=callgrind --quiet --separate-threads=yes --collect-systime=yes \
    --toggle-collect=serverCron '--toggle-collect=clientsTimeProc*' --collect-atstart=yes \
    --callgrind-out-file="$out" "$server" "$@"
