curl --fail-with-body --silent http://127.0.0.1:8778/v1/allocations \
  --header 'X-Auth-Token: admin' --header 'X-OpenStack-Ironic-API-Version: 1.82' \
  --json '{"name": "web-1", "resource_class": "gold"}'
