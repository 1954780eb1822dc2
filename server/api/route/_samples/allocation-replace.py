import openstack

cloud = openstack.connect(auth_type="admin_token", auth={"endpoint": "http://127.0.0.1:8778", "token": "admin"})
consumer = "1d5ecafe-0000-4000-8000-000000000001"
found = cloud.placement.get("/allocation_candidates", microversion="1.39",
                            params={"resources": "VCPU:2,MEMORY_MB:2048", "limit": 10})
found.raise_for_status()
for candidate in found.json()["allocation_requests"]:
    claimed = cloud.placement.put(f"/allocations/{consumer}", microversion="1.39", json={
        "allocations": candidate["allocations"], "mappings": candidate["mappings"],
        "consumer_generation": None, "consumer_type": "INSTANCE", "project_id": "web", "user_id": "ada",
    })
    if claimed.status_code != 409:  # 409: another consumer has claimed the capacity; try the next candidate
        claimed.raise_for_status()
        print("claimed", candidate["allocations"])
        break
