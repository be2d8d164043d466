# Sourced by the scripts: which Debian packages chalk needs, and how the missing ones are installed.
# Names are those of Debian 12 and Ubuntu 24.04.

# A fresh machine has no package lists at all; without them no candidate is known.
ensure_package_lists() {
    if [ -z "$(apt-cache policy libcaf-dev 2>/dev/null | grep Candidate)" ]; then
        as_root apt-get update -qq
    fi
}

# Boost's unversioned package is 1.74 on Debian 12, too old; Ubuntu 24.04 has 1.83.
boost_package() {
    local name
    for name in libboost1.83-dev libboost1.81-dev; do
        if [ -n "$(apt-cache policy "$name" 2>/dev/null | sed -n 's/^  Candidate: \(.*\)/\1/p' | grep -v '(none)')" ]; then
            echo "$name"
            return
        fi
    done
    echo libboost-dev
}

# What a build of the product needs, and what its runs need of this machine.
build_packages() {
    echo ca-certificates cmake ninja-build g++ lld pkg-config "$(boost_package)" libcaf-dev nlohmann-json3-dev libfmt-dev \
        libcli11-dev libvalijson-dev libtomlplusplus-dev libssl-dev libseccomp-dev libarchive-dev libcurl4-openssl-dev \
        libsqlite3-dev libjemalloc-dev
}
run_packages() { echo python3 json-schema-test-suite; }

# What the tests and scripts/check need on top.
# npm, wherever it came from, fetches the official MCP clients; litellm's proxy goes into a virtual environment.
test_packages() {
    echo python3-venv catch2 ccache clang-format clang-tidy uidmap busybox-static iproute2 git procps util-linux python3-jsonschema
    command -v npm >/dev/null || echo npm
}

# What `scripts/test --all` needs on top: fuzzing.
all_test_packages() { echo clang libclang-rt-14-dev; }

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        echo "chalk: not root and no sudo: install by hand: $*" >&2
        return 3
    fi
}

# install_packages NAME...: installs those that are missing, and no others.
install_packages() {
    local missing=() name
    for name in "$@"; do
        if [ "$(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null)" != installed ]; then
            missing+=("$name")
        fi
    done
    if [ "${#missing[@]}" = 0 ]; then
        return 0
    fi
    echo "installing: ${missing[*]}"
    as_root apt-get update -qq
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}
