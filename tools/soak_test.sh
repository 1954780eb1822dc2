#!/usr/bin/env bash
# Runs a server at half load and checks that memory, goroutines, connections, tables,
# indexes and latencies stay within their bounds. See docs/soak-test.md.
#
#   tools/soak_test.sh                      an hour
#   DURATION=5m OUT=/tmp tools/soak_test.sh
#   DURATION=2m tools/soak_test.sh --vacuum=false   plants a fault, which the verdict must name
#
# Exit code: 0 nothing grew, 1 something grew, 2 the run or the audit failed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
out=${OUT:-$PWD/bin}
mkdir -p "$out"
"${GO:-go}" build -o "$work/berth" ./cmd/berth || exit 2
"${GO:-go}" -C cmd/bench build -o "$work/bench" . || exit 2
status=0
"$work/bench" soak --berth "$work/berth" --duration "${DURATION:-1h}" --out "$out" "$@" || status=$?
echo "samples and picture: $out/soak-test.csv, $out/soak-test.svg"
exit "$status"
