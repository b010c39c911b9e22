#!/bin/sh
# The picture of the README: the page of a real run, light and dark, in docs/pictures. The server
# stands still for a second of it. Needs redis-server and Chromium (make setup-test).
#
#   sh scripts/pictures.sh [KEYSTORM]     where KEYSTORM is the program, by default from the PATH
set -eu
cd "$(dirname "$0")/.."
keystorm=${1:-keystorm}
for name in chromium chromium-browser google-chrome google-chrome-stable; do
    browser=$(command -v $name) && break
done
[ "$browser" ] || { echo "Chromium is missing; make setup-test installs it" >&2 && exit 1; }

dir=$(mktemp -d)
# A socket in a directory of its own: no other server can be met there.
redis-server --port 0 --unixsocket "$dir/redis" --save '' >/dev/null &
server=$!
trap 'kill -CONT $server; kill $server; rm -r "$dir"' EXIT
until [ -S "$dir/redis" ]; do sleep 0.1 && kill -0 $server; done
"$keystorm" -s "$dir/redis" -q -t set -n 10000 -r 10k --sequential >/dev/null
(sleep 4 && kill -STOP $server && sleep 1 && kill -CONT $server) &
"$keystorm" -s "$dir/redis" -t get -r 10k --rps 5k --duration 10 -q --html "$dir/page.html"

# What a browser shows to who prefers light, or dark, whatever this machine prefers.
sed 's/(prefers-color-scheme: *dark)/(max-width: 0)/g' "$dir/page.html" >"$dir/light.html"
sed 's/(prefers-color-scheme: *dark)/(min-width: 0)/g' "$dir/page.html" >"$dir/dark.html"
mkdir -p docs/pictures
for look in light dark; do
    "$browser" --headless=new --no-sandbox --disable-gpu --hide-scrollbars --virtual-time-budget=2000 \
        --user-data-dir="$dir/profile" --window-size=720,1045 --force-device-scale-factor=1.5 \
        --screenshot="$PWD/docs/pictures/page-$look.png" "file://$dir/$look.html" 2>/dev/null
    echo "docs/pictures/page-$look.png"
done
