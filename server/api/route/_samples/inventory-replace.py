import openstack

cloud = openstack.connect(auth_type="admin_token", auth={"endpoint": "http://127.0.0.1:8778", "token": "admin"})
provider = cloud.placement.get_resource_provider("c0ffee00-5ca1-4b1e-8000-000000000001")
response = cloud.placement.put(f"/resource_providers/{provider.id}/inventories", microversion="1.39", json={
    "resource_provider_generation": provider.generation,
    "inventories": {"VCPU": {"total": 64}, "MEMORY_MB": {"total": 262144}},
})
if response.status_code == 409:
    print("another client changed the provider: read it again and retry")
response.raise_for_status()
print(response.json()["inventories"])
