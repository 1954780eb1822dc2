#!/bin/sh
# Makes sure that PostgreSQL's server binaries are on this machine.
#
# Does nothing where they are already. Otherwise it installs them with the
# system's package manager (apt, dnf, apk or brew), through sudo when it is not
# run by root, and says each command before running it. It never starts a
# PostgreSQL: berth and its tests run private clusters of their own, so the
# cluster that Debian's package creates and starts by itself is switched off
# for the time of the installation.
set -eu

# The same places in which `berth serve` looks.
find_server() {
    for directory in \
        "$(dirname "$(command -v initdb 2>/dev/null || echo /nowhere/initdb)")" \
        "$(pg_config --bindir 2>/dev/null || echo /nowhere)" \
        /usr/lib/postgresql/*/bin \
        /usr/pgsql-*/bin \
        /usr/libexec/postgresql*/ \
        /usr/local/pgsql/bin \
        /opt/homebrew/opt/postgresql*/bin \
        /usr/local/opt/postgresql*/bin
    do
        if [ -x "$directory/initdb" ] && [ -x "$directory/postgres" ]; then
            echo "$directory"
            return 0
        fi
    done
    return 1
}

say() {
    echo "install-postgresql: $*" >&2
}

run() {
    say "$*"
    "$@" >&2
}

# run_as_root runs a command that changes the system.
run_as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        run "$@"
    elif command -v sudo >/dev/null 2>&1; then
        run sudo "$@"
    else
        say "this needs root, and there is no sudo; run as root: $*"
        exit 1
    fi
}

# Debian's package creates and starts a cluster named main when none exists.
# create_main_cluster = false prevents it. The setting goes into a file of its
# own, which the administrator's createcluster.conf includes and which is removed
# afterwards, so that no other setting is touched and later installations behave
# as they always did.
install_with_apt() {
    configuration=/etc/postgresql-common/createcluster.conf
    run_as_root apt-get update
    run_as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends postgresql-common
    if ! grep -Eq "^[[:space:]]*include_dir.*/etc/postgresql-common/createcluster\.d'" "$configuration"; then
        say "$configuration does not include createcluster.d, so this script cannot keep the package from"
        say "starting a cluster. Add the line 'create_main_cluster = false' to it, run 'apt-get install postgresql'"
        say "and try again."
        exit 1
    fi
    drop_in=/etc/postgresql-common/createcluster.d/zz-berth-install.conf
    trap 'run_as_root rm -f "$drop_in"' EXIT
    run_as_root mkdir -p /etc/postgresql-common/createcluster.d
    run_as_root sh -c "echo 'create_main_cluster = false' > $drop_in"
    run_as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends postgresql
}

if directory=$(find_server); then
    exit 0
fi

say "no PostgreSQL server binaries were found; installing them"
if command -v apt-get >/dev/null 2>&1; then
    install_with_apt
elif command -v dnf >/dev/null 2>&1; then
    run_as_root dnf install -y postgresql-server # neither creates nor starts a cluster
elif command -v apk >/dev/null 2>&1; then
    run_as_root apk add postgresql # neither creates nor starts a cluster
elif command -v brew >/dev/null 2>&1; then
    run brew install postgresql@17 # starts nothing; `brew services` would
else
    say "no package manager that this script knows (apt, dnf, apk, brew); install PostgreSQL 14 or newer"
    say "so that initdb and postgres are on PATH, and try again"
    exit 1
fi

if ! directory=$(find_server); then
    say "the installation went through, but initdb and postgres were not found; put their directory on PATH"
    exit 1
fi
say "found $directory"
