# Sourced by the scripts: configure and build a preset.

# build PRESET [cmake options...] [-- targets...]: quiet unless it fails.
build() {
    local preset=$1 log
    shift
    local options=() targets=()
    while [ $# -gt 0 ] && [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    [ $# -gt 0 ] && shift
    targets=("$@")
    # A build from nothing compiles sources in batches, in half the time; one that is there keeps its way.
    [ -d "build/$preset" ] || options+=(-DCHALK_WHOLE_BUILD=ON)
    mkdir -p build
    log="build/$preset.log"
    echo "building $preset (log: $log)"
    if ! { cmake --preset "$preset" "${options[@]}" && cmake --build --preset "$preset" ${targets:+--target "${targets[@]}"}; } \
        >"$log" 2>&1; then
        grep -E 'error|FAILED|CMake Error' -A5 "$log" | head -60 >&2
        tail -20 "$log" >&2
        echo "chalk: the build of $preset failed; all of it is in $log" >&2
        return 1
    fi
}
