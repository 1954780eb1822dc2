#!/bin/sh
# Checks the SQL on a freshly migrated database: PostgreSQL prepares every query of
# sql/queries, which must also keep the house rules of sqlc.yaml, and answers the
# questions of sql/lint/*.sql, whose good answer is no rows.
set -eu
cd "$(dirname "$0")/.."
# A database of its own, whatever the environment names.
unset BERTH_DATABASE_URL PGHOST PGDATABASE PGSERVICE

# Searchable by others, for root gives the database to another account.
work=$(mktemp -d)
chmod 755 "$work"
${GO:-go} build -o "$work/berth" ./cmd/berth
"$work/berth" serve --listen 127.0.0.1:0 --data-dir "$work/pg" --log-level warn >"$work/greeting" &
server=$!
trap 'kill "$server" 2>/dev/null; wait "$server" 2>/dev/null; rm -rf "$work"' EXIT

# The greeting is complete when the service is up.
until grep -q '^Database:' "$work/greeting"; do
    kill -0 "$server" 2>/dev/null || exit 1 # it has said why
    sleep 0.1
done

if ! BERTH_DATA_DIR=$work/pg tools/psql.sh -Atqc "SELECT 1 FROM pg_available_extensions WHERE name = 'plpgsql_check'" | grep -q 1; then
    echo "lint-sql: the extension plpgsql_check is missing; on Debian install postgresql-<version>-plpgsql-check" >&2
    exit 1
fi
# An import creates its staging tables when it begins; its queries are prepared as well.
BERTH_DATA_DIR=$work/pg tools/psql.sh -v ON_ERROR_STOP=1 -q -f sql/import/staging.sql
findings=0
BERTH_VET_DATABASE_URL=$(sed -n "s/^Database:.*psql '\(.*\)'\$/\1/p" "$work/greeting")
export BERTH_VET_DATABASE_URL
${GO:-go} tool -modfile=tools/go.mod sqlc vet || findings=1
for file in sql/lint/*.sql; do
    answer=$(BERTH_DATA_DIR=$work/pg tools/psql.sh -v ON_ERROR_STOP=1 -Atq -F ': ' -f "$file")
    if [ -n "$answer" ]; then
        echo "$file found:"
        echo "$answer" | sed 's/^/  /'
        findings=1
    fi
done
exit "$findings"
