#!/bin/sh
# Compares what two builds of berth respond to the same requests: see internal/test/compare. OLD is a binary, or a git
# revision that this script builds in a temporary worktree. The other build is that of this checkout, with its uncommitted
# changes. Arguments are flags of the program, such as -sources scenarios.
set -eu
cd "$(dirname "$0")/.."
: "${OLD:?write OLD=revision or OLD=path/to/berth}"
go=${GO:-go}

work=$(mktemp -d)
trap 'if [ -d "$work/source" ]; then git worktree remove --force "$work/source"; fi; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM

# Without the revision in them, equal sources are equal builds.
if [ -f "$OLD" ]; then
    old=$OLD
else
    git worktree add --quiet --detach "$work/source" "$OLD"
    old=$work/berth-old
    "$go" -C "$work/source" build -trimpath -buildvcs=false -o "$old" ./cmd/berth
fi
"$go" build -trimpath -buildvcs=false -o "$work/berth-new" ./cmd/berth
"$go" build -o "$work/compare" ./internal/test/compare

# Each file of requests has new databases: in memory, if there is space for them, this takes a fraction of the time.
if [ -w /dev/shm ] && [ "$(df -Pk /dev/shm | awk 'NR == 2 { print $4 }')" -gt 4194304 ]; then
    export TMPDIR=/dev/shm
fi
"$work/compare" -old "$old" -new "$work/berth-new" "$@"
