curl --fail-with-body --silent --get http://127.0.0.1:8778/allocation_candidates \
  --header 'X-Auth-Token: admin' --header 'OpenStack-API-Version: placement 1.39' \
  --data-urlencode 'resources=VCPU:2,MEMORY_MB:2048' --data-urlencode 'limit=10'
