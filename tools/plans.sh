#!/bin/sh
# Prints the plans of typical queries for allocation candidates, or of the requests given
# as arguments, on the database that berth uses: the one named by
# BERTH_DATABASE_URL, else its embedded PostgreSQL.
set -eu
cd "$(dirname "$0")/.."
if [ $# -eq 0 ]; then
    set -- \
        'resources=VCPU:1,MEMORY_MB:512,DISK_GB:10&limit=10' \
        'resources=VCPU:1&required=HW_CPU_X86_AVX2&limit=10' \
        'resources1=VGPU:1&resources2=VGPU:1&group_policy=isolate&limit=10' \
        'resources_COMPUTE=VCPU:1,MEMORY_MB:256&resources_FPGA=FPGA:1&group_policy=none&same_subtree=_COMPUTE,_FPGA&limit=10'
fi
status=0
for query in "$@"; do
    printf '######## %s\n\n' "$query"
    ${GO:-go} run ./cmd/berth plan --log-level warn --verbose "$query" || status=1
    printf '\n'
done
exit "$status"
