#!/bin/sh
# Installs what the tests need beside what building does: formatter and linter, redis-server with
# redis-benchmark and redis-cli to compare with, memcached, Chromium to open pages in, and Python. Says
# nothing when all is there. What is fetched and not installed is test-servers.sh's.
set -eu
. "$(dirname "$0")/install.sh"

need_rust
for component in rustfmt clippy; do
    if ! cargo "${component#rust}" --version >/dev/null 2>&1; then
        echo "Installing: rustup component add $component" >&2
        rustup component add "$component" >&2
    fi
done

want_build_tools
want redis-server redis-server redis redis redis
want redis-cli redis-tools redis redis redis
want redis-benchmark redis-tools redis redis redis
want memcached memcached memcached memcached memcached
want valgrind valgrind valgrind valgrind valgrind
want strace strace strace strace strace
# A browser to open pages in, by any of its names.
if ! have chromium-browser && ! have google-chrome && [ ! -d /Applications/Chromium.app ]; then
    want chromium chromium chromium chromium chromium
fi
want python3 python3 python3 python3 python3
install_wanted 'make test'

# A wall clock that is off, for one test, which is skipped by name without it.
if ! have faketime && may_install; then
    install_packages "$(package faketime libfaketime libfaketime libfaketime)" ||
        echo "libfaketime cannot be installed, so the test of a wrong wall clock will be skipped." >&2
fi
