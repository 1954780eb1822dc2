#!/bin/sh
# Looks for known vulnerabilities in the code that bin/berth is built from. The database
# of vulnerabilities is at vuln.go.dev, or where GOVULNDB says (a mirror, or a file: URL
# of one). Where it can't be reached nothing is known: that is said aloud and is no
# failure, unless BERTH_VULNCHECK=required, which a release sets.
set -u
cd "$(dirname "$0")/.."
output=$(${GO:-go} tool -modfile=tools/go.mod govulncheck ${GOVULNDB:+-db "$GOVULNDB"} ./cmd/berth 2>&1)
code=$?
echo "$output"
case $code,$output in
0,*) exit 0 ;;
*,*"fetching vulnerabilities"*)
    echo "vulncheck: NOT CHECKED: the database of vulnerabilities cannot be reached from here" >&2
    [ "${BERTH_VULNCHECK:-}" != required ]
    exit
    ;;
esac
exit "$code"
