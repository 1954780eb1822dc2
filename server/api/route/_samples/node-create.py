import openstack

cloud = openstack.connect(auth_type="admin_token", auth={"endpoint": "http://127.0.0.1:8778/v1", "token": "admin"})
node = cloud.baremetal.create_node(name="rack-7", driver="fake-hardware", resource_class="gold")
print(node.id, "is in state", node.provision_state)
