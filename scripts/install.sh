# Installing packages: sourced by the setup scripts, does nothing by itself.
#
# One package manager is chosen, the same step has a name of its own in each, and what this user
# may not do is printed as the one line to run.

have() {
    command -v "$1" >/dev/null 2>&1
}

# Prints the package manager, or nothing.
manager() {
    for name in apt-get dnf apk brew; do
        if have "$name"; then
            echo "$name"
            return
        fi
    done
}

# Whether packages can be installed without asking anybody. Homebrew refuses root and needs none.
may_install() {
    [ "$(manager)" = brew ] || [ "$(id -u)" -eq 0 ] || { have sudo && sudo -n true 2>/dev/null; }
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    else
        sudo "$@"
    fi
}

# Prints the command that installs the packages named.
install_line() {
    case $(manager) in
    apt-get) echo "apt-get install -y --no-install-recommends $*" ;;
    dnf) echo "dnf install -y $*" ;;
    apk) echo "apk add $*" ;;
    brew) echo "brew install $*" ;;
    esac
}

# Prints the name that a thing has in this package manager:
# package FOR_APT FOR_DNF FOR_APK FOR_BREW. A dash means that it is not to be had there.
package() {
    case $(manager) in
    apt-get) echo "$1" ;;
    dnf) echo "$2" ;;
    apk) echo "$3" ;;
    brew) echo "$4" ;;
    esac
}

# Installs the packages named, or says how and fails.
install_packages() {
    if [ -z "$(manager)" ]; then
        echo "There is no package manager that keystorm knows (apt, dnf, apk, brew): install them" \
            "by hand." >&2
        return 1
    fi
    case " $* " in
    *' - '*)
        # Only the compiler on macOS is outside every manager.
        echo "To install the compiler, run:  xcode-select --install" >&2
        return 1
        ;;
    esac
    line=$(install_line "$@")
    if ! may_install; then
        echo "To install it, run:  sudo $line" >&2
        return 1
    fi
    echo "Installing: $line" >&2
    case $(manager) in
    apt-get)
        # A list that cannot be fetched need not be the one with these packages. RUNLEVEL=1 keeps a
        # server that comes as a package from being started as a service, where there is no systemd.
        as_root apt-get update -qq >&2 || true
        as_root env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 $line -qq >&2
        ;;
    brew) $line >&2 ;;
    *) as_root $line >&2 ;;
    esac
}

# What is missing, and the packages that have it.
missing=''
wanted=''

# Notes that a command is needed: want COMMAND APT DNF APK BREW.
want() {
    if ! have "$1"; then
        missing="$missing $1"
        shift
        wanted="$wanted $(package "$@")"
    fi
}

# Whether the compiler's side of a library is there.
have_library() {
    have pkg-config && pkg-config --exists "$1"
}

# Libraries that are missing.
libraries=''

# Notes that a library to build against is needed: want_library PKG_CONFIG_NAME APT DNF APK BREW.
want_library() {
    want pkg-config pkg-config pkgconf-pkg-config pkgconf pkgconf
    if ! have_library "$1"; then
        libraries="$libraries $1"
        shift
        wanted="$wanted $(package "$@")"
    fi
}

# Installs what is missing, and looks whether it is there then: install_wanted WHAT_FOR.
install_wanted() {
    if [ -z "$missing$libraries" ]; then
        return
    fi
    echo "Missing for $1:$missing$libraries" >&2
    # Names of packages have no spaces; the list is to be split.
    install_packages $wanted || exit 1
    for command in $missing; do
        if ! have "$command"; then
            echo "Still missing: $command. Is where it was installed on the PATH?" >&2
            exit 1
        fi
    done
    for library in $libraries; do
        # Homebrew keeps its OpenSSL out of the way; the build knows where.
        if ! have_library "$library" && [ "$(manager)" != brew ]; then
            echo "Still missing: $library. Does pkg-config find it?" >&2
            exit 1
        fi
    done
    missing=''
    wanted=''
    libraries=''
}

# What building takes: a linker, which Rust borrows from a C compiler, and OpenSSL.
want_build_tools() {
    want cc 'gcc libc6-dev' gcc build-base -
    # With Homebrew, having it installed is enough, whether pkg-config finds it or not.
    if [ "$(manager)" != brew ] || ! brew --prefix --installed openssl@3 >/dev/null 2>&1; then
        want_library openssl libssl-dev openssl-devel 'openssl-dev openssl-libs-static' openssl@3
    fi
}

need_rust() {
    if ! have cargo; then
        echo "Missing: a Rust toolchain. See https://rustup.rs, or add ~/.cargo/bin to the PATH." >&2
        exit 1
    fi
}
