#!/bin/sh
# Installs each package of target/packages for this architecture into an empty place and runs the program
# from there, against a server of its own. Says how long each takes.
set -eu
cd "$(dirname "$0")/.."
. scripts/install.sh
packages=$(realpath "${CARGO_TARGET_DIR:-target}/packages")
case $(uname -m) in x86_64) here=amd64 ;; aarch64) here=arm64 ;; *) here=$(uname -m) ;; esac
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

# A run of what is installed, with nothing else of ours on the PATH.
works() {
    what=$1
    shift
    ran=$("$@" --spawn -q -n 1000 -t set,get 2>"$place/stderr") || {
        cat "$place/stderr"
        echo "FAILED: $what"
        exit 1
    }
    echo "$ran" | grep -q '^GET: ' || { echo "FAILED: $what printed: $ran"; exit 1; }
    echo "$what: works, installed and run in $(($(date +%s) - began)) s"
}

began=$(date +%s)
python3 -m venv "$place/venv"
"$place/venv/bin/pip" install --quiet --no-index "$packages"/keystorm-*"$(uname -m)".whl
works wheel "$place/venv/bin/keystorm"

# The program that `cargo package` built of the crates, to see that they have all it takes.
began=$(date +%s)
works crates "${CARGO_TARGET_DIR:-target}/crates/debug/keystorm"

# As dpkg unpacks it, and as it configures it: in a root of its own, where update-alternatives is.
began=$(date +%s)
dpkg-deb -x "$packages"/keystorm_*_"$here".deb "$place/deb"
works .deb "$place/deb/usr/bin/keystorm"
man -l "$place/deb/usr/share/man/man1/keystorm.1.gz" >/dev/null 2>&1 || gzip -t "$place/deb/usr/share/man/man1/keystorm.1.gz"
[ "$("$place/deb/usr/lib/keystorm/redis-benchmark" --version)" != "$("$place/deb/usr/bin/keystorm" --version)" ]
if [ "$(id -u)" -eq 0 ] && command -v dpkg >/dev/null; then
    began=$(date +%s)
    dpkg -i "$packages"/keystorm_*_"$here".deb >/dev/null
    works '.deb by dpkg' keystorm
    keystorm completions bash | cmp - /usr/share/bash-completion/completions/keystorm
    chosen=$(update-alternatives --query memtier_benchmark | sed -n 's/^Value: //p')
    [ "$chosen" = /usr/lib/keystorm/memtier_benchmark ]
    dpkg -r keystorm >/dev/null
    [ ! -e /usr/bin/keystorm ] && [ ! -e /usr/bin/memtier_benchmark ]
fi

# As rpm installs it, into an empty root with a list of packages of its own. Its scripts are those of the .deb,
# which ran above, and want a shell in that root.
{ have rpm && have cpio; } || install_packages rpm cpio || true
if have rpm; then
    began=$(date +%s)
    rpm --root "$place/rpm" --initdb
    rpm --root "$place/rpm" --nodeps --noscripts --ignorearch -i "$packages"/keystorm-*"$(uname -m)".rpm
    works '.rpm by rpm' "$place/rpm/usr/bin/keystorm"
    gzip -t "$place/rpm/usr/share/man/man1/keystorm.1.gz"
    [ "$("$place/rpm/usr/lib/keystorm/redis-benchmark" --version)" != "$("$place/rpm/usr/bin/keystorm" --version)" ]
else
    echo ".rpm: not installed here: there is no rpm (Debian: apt-get install rpm)"
fi

# The container without a container engine: its file tree, an empty root but for the C library, no
# privileges, and no io_uring.
began=$(date +%s)
mkdir -p "$place/root/usr/local/bin" "$place/root/tmp"
cp "$packages/tree/$here/keystorm" "$place/root/usr/local/bin/"
for library in $(ldd "$place/root/usr/local/bin/keystorm" | grep -o '/[^ ]*'); do
    mkdir -p "$place/root$(dirname "$library")"
    cp -L "$library" "$place/root$library"
done
if [ "$(id -u)" -eq 0 ] && command -v redis-server >/dev/null; then
    redis-server --port 0 --unixsocket "$place/root/tmp/redis.sock" --unixsocketperm 777 --save '' \
        --daemonize yes --pidfile "$place/redis.pid" >/dev/null
    until [ -S "$place/root/tmp/redis.sock" ]; do sleep 0.1; done
    chroot --userspec=65534:65534 "$place/root" /usr/local/bin/keystorm -s /tmp/redis.sock -q -n 1000 \
        -t set,get >"$place/out" || { kill "$(cat "$place/redis.pid")"; exit 1; }
    kill "$(cat "$place/redis.pid")"
    grep -q '^GET: ' "$place/out"
    echo "container's tree: works as nobody, in $(($(date +%s) - began)) s"
fi
