#!/bin/sh
# The pages of docs/ as a site in target/book, by mdBook: the one on the PATH, or one that cargo
# installs into target/tools. Where it cannot be installed, says so and makes nothing.
set -eu
cd "$(dirname "$0")/.."
tools=${CARGO_TARGET_DIR:-target}/tools
PATH="$tools/bin:$PATH"
if ! command -v mdbook >/dev/null; then
    echo "Installing mdbook into $tools (some minutes)" >&2
    if ! ${CARGO:-cargo} install --quiet --locked mdbook --no-default-features --features search --root "$tools"; then
        echo "make docs: skipped, mdbook is not there; install it with: cargo install --locked mdbook" >&2
        exit 0
    fi
fi
mdbook build
echo "target/book/index.html"
