#!/bin/sh
# Everything that must pass: formatting, lints, all tests. What the tests need from the network is fetched
# while lints and tests are built.
set -eu
cd "$(dirname "$0")/.."
cargo=${CARGO:-cargo}
make=${MAKE:-make}
target=${CARGO_TARGET_DIR:-target}
case $target in /*) ;; *) target=$(pwd)/$target ;; esac
skipped=$target/skipped-checks
export KEYSTORM_SKIPPED_CHECKS="$skipped"

sh scripts/test-servers.sh &
fetching=$!
trap 'kill "$fetching" 2>/dev/null || true' EXIT
"$cargo" fmt --check
# Clippy's driver compiles the tests and prints its lints meanwhile, as `cargo clippy` has it; that command, however,
# builds nothing that could be run, and all libraries once more.
export RUSTC_WORKSPACE_WRAPPER=clippy-driver
export CLIPPY_ARGS=-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__
rm -f "$skipped"
"$cargo" test --locked --no-run --all-targets
"$make" --no-print-directory lint-fuzz
wait "$fetching"
trap - EXIT

# Tests against servers mostly wait, so there are more of them at once than CPUs.
export RUST_TEST_THREADS=${RUST_TEST_THREADS:-8}
"$cargo" test --locked --test e2e
# Those of Python take as long as all others.
"$make" --no-print-directory test-python >"$target/test-python.log" 2>&1 &
python=$!
trap 'kill "$python" 2>/dev/null || true' EXIT
"$cargo" test --locked --lib --bins --examples --test '[!e]*'
"$cargo" test --locked --doc
wait "$python" || { cat "$target/test-python.log"; exit 1; }
trap - EXIT
tail -n 4 "$target/test-python.log"
if [ -s "$skipped" ]; then
    echo "$(wc -l <"$skipped") checks were skipped:"
    cat "$skipped"
    sh scripts/skipped-checks.sh "$skipped"
fi
