#!/usr/bin/env bash
# Migrates from OpenStack Placement to Berth on one machine. The script installs Debian's keystone and placement and
# starts them on loopback. It fills OpenStack Placement through the `openstack` client, imports its database, and starts
# Berth with the same placement.conf and policy file. It sends every GET of the API to both, as several users and in
# several microversions. The exit code is 0 if all responses are equal.
#
#   bash tools/move/move.sh [BERTH]      as root on Debian 12; BERTH is the program
#                                        (default: it is built)
#   KEEP=yes                             leaves its directory, with all logs, behind
#
# Everything is in a temporary directory and ends with the script.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
berth=${1:-}
exec </dev/null

work=$(mktemp -d)
chmod 755 "$work"
begun=()
finish() {
    local status=$?
    [ ${#begun[@]} -eq 0 ] || kill -TERM "${begun[@]}" 2>/dev/null || true
    wait
    if [ "$status" -ne 0 ]; then
        tail -n 5 "$work"/*.log 2>/dev/null || true
    fi
    if [ -n "${KEEP:-}" ]; then echo "kept: $work"; else rm -rf "$work"; fi
}
trap finish EXIT

say() { printf '\n== %s\n' "$*"; }

# free_port prints a port without a listener, outside of the range of outgoing ones.
free_port() {
    local port
    while port=$((20000 + RANDOM % 12000)); (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do :; done
    echo "$port"
}

# answers URL waits until something is served there.
answers() {
    for _ in $(seq 1 240); do
        if curl -s -o "$work/probe" "$1"; then return 0; fi
        sleep 0.25
    done
    echo "nothing answers at $1" >&2
    return 1
}

say 'The programs'
missing=()
for package in python3-keystone placement-common python3-placement python3-openstackclient python3-osc-placement \
    uwsgi-core uwsgi-plugin-python3 curl; do
    dpkg -s "$package" >"$work/dpkg" 2>&1 || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    apt-get install -qq -y --no-install-recommends "${missing[@]}" >"$work/apt.log" 2>&1
fi
if [ -z "$berth" ]; then
    berth=$work/berth
    (cd "$here/../.." && go build -o "$berth" ./cmd/berth)
fi
# Nothing of the caller's environment chooses a cloud or a database.
for name in $(compgen -e); do
    case $name in BERTH_* | PG* | OS_*) unset "$name" ;; esac
done

say 'Keystone'
keystone=$(free_port) old=$(free_port) new=$(free_port)
# Both services run as an account without other permissions.
account=nobody
mkdir -p "$work"/keystone/{fernet,receipts,credential} "$work/placement"
cat >"$work/keystone/keystone.conf" <<CONF
[DEFAULT]
log_file = $work/keystone.log
[database]
connection = sqlite:///$work/keystone/keystone.db
[token]
provider = fernet
[fernet_tokens]
key_repository = $work/keystone/fernet
[fernet_receipts]
key_repository = $work/keystone/receipts
[credential]
key_repository = $work/keystone/credential
CONF
touch "$work/keystone.log" "$work/placement.log"
chown -R "$account" "$work"/keystone* "$work"/placement*
chmod 700 "$work"/keystone/{fernet,receipts,credential}
as_account=(setpriv --reuid="$account" --regid="$(id -g "$account")" --clear-groups env HOME="$work")
manage() { "${as_account[@]}" keystone-manage --config-file "$work/keystone/keystone.conf" "$@" 2>>"$work/keystone-manage.log"; }
manage db_sync
# A reader that keystone has not yet closed then stops no writer ("database is locked").
"${as_account[@]}" /usr/bin/python3 -c 'import sqlite3, sys; print(*sqlite3.connect(sys.argv[1]).execute("PRAGMA journal_mode = WAL").fetchone())' \
    "$work/keystone/keystone.db" >"$work/keystone-journal.log"
grep -q '^wal$' "$work/keystone-journal.log"
manage fernet_setup --keystone-user "$account" --keystone-group "$(id -gn "$account")"
manage bootstrap --bootstrap-password secret --bootstrap-region-id regionOne \
    --bootstrap-public-url "http://127.0.0.1:$keystone/v3" --bootstrap-internal-url "http://127.0.0.1:$keystone/v3"
cat >"$work/keystone/app.py" <<'PY'
import sys
sys.argv = sys.argv[:1]
from keystone.server.wsgi import initialize_public_application
application = initialize_public_application()
PY
# wsgi PORT DIRECTORY NAME starts what app.py in a directory makes, in place of the shell
# that the end of the script ends.
wsgi() {
    (cd "$2" && exec "${as_account[@]}" OS_KEYSTONE_CONFIG_DIR="$2" OS_PLACEMENT_CONFIG_DIR="$2" \
        uwsgi --plugin python3 --http-socket "127.0.0.1:$1" --wsgi-file "$2/app.py" --master --lazy-apps --need-app \
        --processes 1 --add-header 'Connection: close' --buffer-size 65535 --die-on-term >"$work/$3-uwsgi.log" 2>&1) &
    begun+=($!)
}
wsgi "$keystone" "$work/keystone" keystone
answers "http://127.0.0.1:$keystone/v3"

export OS_AUTH_URL=http://127.0.0.1:$keystone/v3 OS_USERNAME=admin OS_PASSWORD=secret OS_PROJECT_NAME=admin \
    OS_USER_DOMAIN_ID=default OS_PROJECT_DOMAIN_ID=default OS_IDENTITY_API_VERSION=3 OS_REGION_NAME=regionOne
# The client reads commands from a file in one process: it takes a second to start.
openstack <"$here/people.txt" >"$work/openstack.log" 2>&1
openstack endpoint create --region regionOne placement public "http://127.0.0.1:$old" >>"$work/openstack.log"

say 'OpenStack Placement'
cp "$here/policy.yaml" "$work/placement/policy.yaml"
cat >"$work/placement/placement.conf" <<CONF
[DEFAULT]
log_file = $work/placement.log
[api]
auth_strategy = keystone
[keystone_authtoken]
www_authenticate_uri = http://127.0.0.1:$keystone
auth_url = http://127.0.0.1:$keystone
auth_type = password
project_domain_name = Default
user_domain_name = Default
project_name = service
username = placement
password = secret
service_token_roles_required = true
[oslo_policy]
policy_file = policy.yaml
enforce_scope = false
enforce_new_defaults = false
[placement]
incomplete_consumer_project_id = missing-project
incomplete_consumer_user_id = missing-user
[placement_database]
connection = sqlite:///$work/placement/placement.db
CONF
"${as_account[@]}" placement-manage --config-file "$work/placement/placement.conf" db sync
cat >"$work/placement/app.py" <<'PY'
from placement.wsgi import init_application
application = init_application()
PY
wsgi "$old" "$work/placement" placement
answers "http://127.0.0.1:$old/"
for version in 1.0 1.8 1.12 1.39; do
    OS_PLACEMENT_API_VERSION=$version openstack <"$here/cloud-$version.txt" >>"$work/openstack.log" 2>&1
done
! grep -E -i 'error|unable|traceback|conflict|not found|no such|usage: |HTTP [45]' "$work/openstack.log" || { echo "cannot fill OpenStack Placement" >&2; exit 1; }

say 'The move'
# An empty URL wins over that of the file: berth then runs a PostgreSQL of its own.
# Where there is one already its URL stands here, and --data-dir is not needed.
database=(--database-url= --data-dir "$work/postgresql")
"$berth" import "sqlite:///$work/placement/placement.db" --config-file "$work/placement/placement.conf" "${database[@]}"
"$berth" serve --config-file "$work/placement/placement.conf" "${database[@]}" \
    --listen "127.0.0.1:$new" --baremetal-backend off >"$work/berth.log" 2>&1 &
begun+=($!)
answers "http://127.0.0.1:$new/"

say 'Every GET, asked of both'
/usr/bin/python3 "$here/compare.py" "http://127.0.0.1:$keystone/v3" "http://127.0.0.1:$old" "http://127.0.0.1:$new"
