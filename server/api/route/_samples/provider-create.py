import openstack

cloud = openstack.connect(auth_type="admin_token", auth={"endpoint": "http://127.0.0.1:8778", "token": "admin"})
provider = cloud.placement.create_resource_provider(name="compute-17", id="c0ffee00-5ca1-4b1e-8000-000000000001")
print(provider.id, "is at generation", provider.generation)
