import openstack

cloud = openstack.connect(auth_type="admin_token", auth={"endpoint": "http://127.0.0.1:8778/v1", "token": "admin"})
allocation = cloud.baremetal.create_allocation(name="web-1", resource_class="gold")
allocation = cloud.baremetal.wait_for_allocation(allocation, ignore_error=True)
print(allocation.state, allocation.node_id, allocation.last_error)
