curl --fail-with-body --silent http://127.0.0.1:8778/resource_providers \
  --header 'X-Auth-Token: admin' --header 'OpenStack-API-Version: placement 1.39' \
  --json '{"name": "compute-17", "uuid": "c0ffee00-5ca1-4b1e-8000-000000000001"}'
