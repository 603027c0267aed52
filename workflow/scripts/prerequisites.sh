#!/bin/sh
# Makes sure that the few programs are there that everything else is made with: prerequisites.sh PYTHON
# Root gets what is missing through apt-get; anybody else is told the one command to have run.

python=${1:-python3}
packages=

need() { # need PACKAGE COMMAND...: the package is missing if the command fails
    package=$1
    shift
    "$@" >/dev/null 2>&1 || packages="$packages $package"
}

need python3-venv "$python" -c 'import ensurepip, venv'
toolchain=$(sed -n 's/^toolchain: *\([^ #]*\).*/\1/p' config/config.yaml)
if grep -q '^kind: debian' "$toolchain" 2>/dev/null && [ ! -e results/toolchain/toolchain.json ]; then
    need mmdebstrap command -v mmdebstrap
    need bubblewrap command -v bwrap
    need debian-archive-keyring test -e /usr/share/keyrings/debian-archive-keyring.gpg
    [ "$(id -u)" = 0 ] || need uidmap command -v newuidmap
fi

if [ -n "$packages" ]; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        echo "Installing what is missing: apt-get install$packages"
        apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install --no-install-recommends $packages || exit
    else
        echo "Some programs are missing. As root: apt-get install$packages" >&2
        exit 1
    fi
fi

if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    echo "$("$python" --version) is too old, 3.11 or newer is needed: make run PYTHON=/path/to/python3" >&2
    exit 1
fi
