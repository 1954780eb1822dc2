#!/bin/sh
# Opens psql on the database that berth uses: the one named by
# BERTH_DATABASE_URL, else the embedded PostgreSQL of a running `berth serve`.
set -eu

if [ -n "${BERTH_DATABASE_URL:-}" ]; then
    exec psql "$BERTH_DATABASE_URL" "$@"
fi

# The data directory, by the rule of `berth serve`.
if [ -n "${BERTH_DATA_DIR:-}" ]; then
    set_of_homes=$BERTH_DATA_DIR
elif [ "$(id -u)" -eq 0 ]; then
    set_of_homes=/var/lib/berth/pg*
else
    set_of_homes=${XDG_DATA_HOME:-$HOME/.local/share}/berth/pg*
fi

# PostgreSQL writes into postmaster.pid where it can be reached: the port on line
# 4, the directory of the socket on line 5.
for home in $set_of_homes; do
    file=$home/data/postmaster.pid
    [ -r "$file" ] || continue
    port=$(sed -n 4p "$file")
    socket=$(sed -n 5p "$file")
    if [ -S "$socket/.s.PGSQL.$port" ]; then
        exec psql "host=$socket port=$port user=berth dbname=berth" "$@"
    fi
done
echo "psql: no embedded PostgreSQL is running; start it with 'make serve', or set BERTH_DATABASE_URL" >&2
exit 1
