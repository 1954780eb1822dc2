# Claims a candidate for a new consumer. The allocations are those of GET /allocation_candidates.
curl --fail-with-body --silent http://127.0.0.1:8778/allocations/1d5ecafe-0000-4000-8000-000000000001 \
  --header 'X-Auth-Token: admin' --header 'OpenStack-API-Version: placement 1.39' --request PUT \
  --json '{
    "allocations": {"c0ffee00-5ca1-4b1e-8000-000000000001": {"resources": {"VCPU": 2, "MEMORY_MB": 2048}}},
    "consumer_generation": null, "consumer_type": "INSTANCE", "project_id": "web", "user_id": "ada"
  }'
