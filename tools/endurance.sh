#!/usr/bin/env bash
# Runs a service at half load and looks whether memory, goroutines, connections,
# tables, indexes or latencies grow. See docs/endurance.md.
#
#   tools/endurance.sh                      an hour
#   DURATION=5m OUT=/tmp tools/endurance.sh
#   DURATION=2m tools/endurance.sh -vacuum=false   a planted fault, to see it named
#
# Exit code: 0 everything is flat, 1 something grew, 2 it could not be run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
out=${OUT:-$PWD/bin}
mkdir -p "$out"
"${GO:-go}" build -o "$work/berth" ./cmd/berth || exit 2
"${GO:-go}" build -o "$work/endurance" ./cmd/endurance || exit 2
status=0
"$work/endurance" -berth "$work/berth" -duration "${DURATION:-1h}" -out "$out" "$@" || status=$?
echo "samples and picture: $out/endurance.csv, $out/endurance.svg"
exit "$status"
