#!/bin/sh
# Installs what building keystorm and benchmarking with it needs: a linker, which Rust borrows
# from a C compiler, OpenSSL to build against, and a server. Says nothing when all is there.
set -eu
. "$(dirname "$0")/install.sh"

need_rust
want_build_tools
if ! have valkey-server; then
    want redis-server redis-server valkey valkey valkey
fi
install_wanted 'make bench'
