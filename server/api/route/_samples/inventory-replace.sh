# The generation is that of GET /resource_providers/c0ffee00-5ca1-4b1e-8000-000000000001.
curl --fail-with-body --silent http://127.0.0.1:8778/resource_providers/c0ffee00-5ca1-4b1e-8000-000000000001/inventories \
  --header 'X-Auth-Token: admin' --header 'OpenStack-API-Version: placement 1.39' --request PUT \
  --json '{"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 64}, "MEMORY_MB": {"total": 262144}}}'
