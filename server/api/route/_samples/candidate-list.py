import openstack

cloud = openstack.connect(auth_type="admin_token", auth={"endpoint": "http://127.0.0.1:8778", "token": "admin"})
response = cloud.placement.get("/allocation_candidates", microversion="1.39",
                               params={"resources": "VCPU:2,MEMORY_MB:2048", "limit": 10})
response.raise_for_status()
for candidate in response.json()["allocation_requests"]:
    print(candidate["allocations"])
