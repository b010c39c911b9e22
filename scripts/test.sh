#!/bin/sh
# Everything that must pass: formatting, lints, all tests. What the tests need from the network is fetched
# while lints and tests are built.
set -eu
cd "$(dirname "$0")/.."
cargo=${CARGO:-cargo}
make=${MAKE:-make}
target=${CARGO_TARGET_DIR:-target}
skipped=$target/skipped-checks

"$cargo" fmt --check
sh scripts/test-servers.sh &
fetching=$!
# What lints look at and what tests run is built at once, in places of their own: alone, either waits for one
# crate or another with a CPU idle.
CARGO_TARGET_DIR=$target/lints "$make" --no-print-directory clippy >"$target/lints.log" 2>&1 &
linting=$!
trap 'kill "$fetching" "$linting" 2>/dev/null || true' EXIT
rm -f "$skipped"
"$cargo" test --locked --no-run
wait "$fetching"
wait "$linting" || { cat "$target/lints.log"; exit 1; }
trap - EXIT

# Tests against servers mostly wait, so there are more of them at once than CPUs.
RUST_TEST_THREADS=${RUST_TEST_THREADS:-6} "$cargo" test --locked
"$make" --no-print-directory test-python
if [ -s "$skipped" ]; then
    echo "$(wc -l <"$skipped") checks were skipped:"
    cat "$skipped"
fi
