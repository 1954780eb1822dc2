"""Serves Debian's Compute API on a loopback port, with rows that nova's own objects write.

Arguments: an empty directory for the configuration and the databases, and a port. With the address of
a Keystone, the password of its user berth in the project service, and a region, that validates the
tokens; otherwise any token is valid. Each line on standard input is a JSON object:
{"make": "host", "name": …, "uuid": …}, {"make": "server", …}, {"make": "migration", …}, or
{"make": "change", …}, which changes a server. The answer to each is a line with "ok" or the error.
"""

import json
import os
import sys
import threading
import traceback
from wsgiref import simple_server

directory, port, keystone = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
del sys.argv[1:]  # nova parses them
strategy = "keystone" if keystone else "noauth2"
CONF = f"""
[DEFAULT]
transport_url = fake:/
state_path = {directory}
log_file = {directory}/nova.log
use_stderr = false
[api]
auth_strategy = {strategy}
max_limit = 3
[api_database]
connection = sqlite:///{directory}/api.db
[database]
connection = sqlite:///{directory}/main.db
[oslo_concurrency]
lock_path = {directory}
"""
PASTE = """
[composite:osapi_compute]
use = call:nova.api.openstack.urlmap:urlmap_factory
/v2.1: openstack_compute_api_v21
[composite:openstack_compute_api_v21]
use = call:nova.api.auth:pipeline_factory_v21
noauth2 = request_id faultwrap noauth2 osapi_compute_app_v21
keystone = request_id faultwrap authtoken keystonecontext osapi_compute_app_v21
[filter:request_id]
paste.filter_factory = oslo_middleware:RequestId.factory
[filter:faultwrap]
paste.filter_factory = nova.api.openstack:FaultWrapper.factory
[filter:noauth2]
paste.filter_factory = nova.api.openstack.auth:NoAuthMiddleware.factory
[filter:keystonecontext]
paste.filter_factory = nova.api.auth:NovaKeystoneContext.factory
[filter:authtoken]
paste.filter_factory = keystonemiddleware.auth_token:filter_factory
[app:osapi_compute_app_v21]
paste.app_factory = nova.api.openstack.compute:APIRouterV21.factory
"""
if keystone:
    CONF += f"""
[keystone_authtoken]
www_authenticate_uri = {keystone[0]}
auth_url = {keystone[0]}
auth_type = password
username = berth
password = {keystone[1]}
project_name = service
user_domain_id = default
project_domain_id = default
region_name = {keystone[2]}
service_token_roles_required = true
"""
for name, text in {"nova.conf": CONF, "api-paste.ini": PASTE}.items():
    with open(os.path.join(directory, name), "w") as file:
        file.write(text)
os.environ["OS_NOVA_CONFIG_DIR"] = directory
os.environ["OS_NOVA_DISABLE_EVENTLET_PATCHING"] = "1"

from nova import context, objects  # noqa: E402
from nova.api.openstack import wsgi_app  # noqa: E402
from nova.db import migration  # noqa: E402
from nova.network import model, security_group_api  # noqa: E402

objects.register_all()
wsgi_app.init_global_data([os.path.join(directory, "nova.conf")], "osapi_compute")


def make_databases():
    """Does what nova-manage does for a new cloud with one cell."""
    migration.db_sync(database="api")
    admin = context.get_admin_context()
    for uuid, name, database, transport in [
        (objects.CellMapping.CELL0_UUID, "cell0", "cell0", "none:///"),
        ("c0ffee00-0000-4000-8000-0000000000ce", "one", "main", "fake:///"),
    ]:
        mapping = objects.CellMapping(
            admin, uuid=uuid, name=name, database_connection=f"sqlite:///{directory}/{database}.db", transport_url=transport
        )
        mapping.create()
        with context.target_cell(admin, mapping) as inside:
            migration.db_sync(database="main", context=inside)


make_databases()
application = wsgi_app.init_application("osapi_compute")
# There is no Neutron. Its security groups are the only part of a response that is read from it.
security_group_api.get_instances_security_groups_bindings = lambda *_, **__: {}
security_group_api.get_instance_security_groups = lambda *_, **__: []


def cell():
    admin = context.get_admin_context()
    mapping = [c for c in objects.CellMappingList.get_all(admin) if not c.is_cell0()][0]
    return admin, mapping


def make_host(wanted):
    admin, mapping = cell()
    with context.target_cell(admin, mapping) as inside:
        service = objects.Service(inside, host=wanted["name"], binary="nova-compute", topic="compute", report_count=1)
        service.create()
        objects.ComputeNode(
            inside, uuid=wanted["uuid"], host=wanted["name"], hypervisor_hostname=wanted["name"], service_id=service.id,
            vcpus=16, memory_mb=32768, local_gb=1000, vcpus_used=0, memory_mb_used=0, local_gb_used=0, free_ram_mb=32768,
            free_disk_gb=1000, hypervisor_type="QEMU", hypervisor_version=6000000, running_vms=0, current_workload=0,
            cpu_info="{}", mapped=1, cpu_allocation_ratio=1.0, ram_allocation_ratio=1.0, disk_allocation_ratio=1.0,
        ).create()
    objects.HostMapping(admin, host=wanted["name"], cell_mapping=mapping).create()


def make_server(wanted):
    admin, mapping = cell()
    objects.InstanceMapping(
        admin, instance_uuid=wanted["uuid"], project_id="web", user_id="ada", cell_mapping=mapping, queued_for_delete=False
    ).create()
    flavor = objects.Flavor(
        id=1, name="small", flavorid="1", vcpus=wanted.get("vcpus", 2), memory_mb=2048, root_gb=20, ephemeral_gb=0, swap=0,
        rxtx_factor=1.0, vcpu_weight=0, disabled=False, is_public=True, extra_specs=wanted.get("extra_specs", {}),
    )
    with context.target_cell(admin, mapping) as inside:
        instance = objects.Instance(
            inside, uuid=wanted["uuid"], project_id="web", user_id="ada", vm_state=wanted.get("vm_state", "active"),
            task_state=wanted.get("task_state"), host=wanted.get("host"), node=wanted.get("host"), display_name="s",
            image_ref="c0ffee00-0000-4000-8000-000000000800", flavor=flavor, old_flavor=None, new_flavor=None,
            memory_mb=2048, vcpus=2, root_gb=20, ephemeral_gb=0, instance_type_id=1, system_metadata={}, metadata={},
        )
        instance.create()
        instance.info_cache.network_info = model.NetworkInfo()
        instance.info_cache.save()


def change_server(wanted):
    admin, mapping = cell()
    with context.target_cell(admin, mapping) as inside:
        instance = objects.Instance.get_by_uuid(inside, wanted["uuid"])
        for name, value in wanted["set"].items():
            setattr(instance, name, value)
        instance.save()
        if wanted.get("destroy"):
            instance.destroy()


def make_migration(wanted):
    admin, mapping = cell()
    with context.target_cell(admin, mapping) as inside:
        objects.Migration(
            inside, uuid=wanted["uuid"], instance_uuid=wanted["instance"], status=wanted["status"], migration_type=wanted["type"],
            source_compute=wanted["from"], source_node=wanted["from"], dest_compute=wanted["to"], dest_node=wanted["to"],
        ).create()


makers = {"host": make_host, "server": make_server, "change": change_server, "migration": make_migration}


class Handler(simple_server.WSGIRequestHandler):
    def log_message(self, *_):
        pass


server = simple_server.make_server("127.0.0.1", port, application, handler_class=Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print("ready", flush=True)
for line in sys.stdin:
    try:
        wanted = json.loads(line)
        makers[wanted["make"]](wanted)
        print("ok", flush=True)
    except Exception:
        print(json.dumps(traceback.format_exc()), flush=True)
