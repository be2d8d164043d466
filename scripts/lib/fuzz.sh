#!/usr/bin/env bash
# Runs every fuzz target of build/fuzz for a bounded time. Usage: scripts/lib/fuzz.sh [SECONDS]
set -euo pipefail
cd "$(dirname "$0")/../.."
seconds=${1:-60}
corpus=$(mktemp -d)
trap 'rm -rf "$corpus"' EXIT
found=0
while IFS= read -r target; do
    found=1
    mkdir -p "$corpus/$(basename "$target")"
    "$target" -max_total_time="$seconds" -rss_limit_mb=2048 -artifact_prefix="$corpus/" "$corpus/$(basename "$target")"
done < <(find build/fuzz -type f -name '*_fuzz' -perm -u+x)
[ "$found" = 1 ] || { echo "scripts/lib/fuzz.sh: build/fuzz holds no fuzz target" >&2; exit 1; }
