#!/bin/sh
# Runs every fuzz test for a while: FUZZTIME each, 10s unless said otherwise. What a
# test finds is kept by Go in testdata/fuzz beside it, belongs into the change that
# mends it, and is tried by every `go test` from then on.
#
#   tools/fuzz.sh                        all of them
#   tools/fuzz.sh ./server/identity/policy   those of some packages
set -eu
cd "$(dirname "$0")/.."
time=${FUZZTIME:-10s}
failed=
for package in $(${GO:-go} list "${@:-./...}"); do
    directory=$(${GO:-go} list -f '{{.Dir}}' "$package")
    for name in $(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(f \*testing\.F).*/\1/p' "$directory"/*_test.go 2>/dev/null); do
        echo "== ${package#github.com/berthd/berth/} $name, $time"
        ${GO:-go} test "$package" -run '^$' -fuzz "^$name\$" -fuzztime "$time" -parallel "${FUZZPARALLEL:-2}" || failed="$failed $name"
    done
done
if [ -n "$failed" ]; then
    echo "failed:$failed" >&2
    exit 1
fi
