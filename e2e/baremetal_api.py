"""Serves Debian's Bare Metal API on a loopback port, with rows that ironic's own objects write.

Arguments: an empty directory for the configuration and the database, and a port. Each line on
standard input is a JSON object: {"make": "node", "uuid": …, "instance": …} or
{"make": "allocation", "uuid": …, "node": …}; after {"make": "serve"} the API is served, and no
more lines are read. The answer to each is a line with "ok" or the error.
"""

import json
import os
import sys
import traceback
from wsgiref import simple_server

sys.path.pop(0)  # this directory has another ironic.py
directory, port = sys.argv[1], int(sys.argv[2])
CONF = f"""
[DEFAULT]
auth_strategy = noauth
state_path = {directory}
log_file = {directory}/ironic.log
transport_url = fake:/
rpc_transport = json-rpc
[api]
max_limit = 2
[database]
connection = sqlite:///{directory}/ironic.db
"""
with open(os.path.join(directory, "ironic.conf"), "w") as file:
    file.write(CONF)

from ironic import objects  # noqa: E402
from ironic.api import app  # noqa: E402
from ironic.common import context, service  # noqa: E402
from ironic.db import migration  # noqa: E402

service.prepare_service("ironic_api", ["ironic", "--config-file", os.path.join(directory, "ironic.conf")])
migration.create_schema()
objects.register_all()
admin = context.get_admin_context()


def make_node(wanted):
    objects.Node(
        admin, uuid=wanted["uuid"], driver="fake-hardware", resource_class="gold", instance_uuid=wanted.get("instance"),
        provision_state="active" if wanted.get("instance") else "available",
    ).create()


def make_allocation(wanted):
    allocation = objects.Allocation(admin, uuid=wanted["uuid"], resource_class="gold", state="allocating")
    allocation.create()
    if wanted.get("node"):
        node = objects.Node.get_by_uuid(admin, wanted["node"])
        allocation.node_id, allocation.state = node.id, "active"
        allocation.save()
        node.allocation_id, node.instance_uuid = allocation.id, allocation.uuid
        node.save()


makers = {"node": make_node, "allocation": make_allocation}


class Handler(simple_server.WSGIRequestHandler):
    def log_message(self, *_):
        pass


server = simple_server.make_server("127.0.0.1", port, app.VersionSelectorApplication(), handler_class=Handler)
print("ready", flush=True)
for line in sys.stdin:
    try:
        wanted = json.loads(line)
        if wanted["make"] == "serve":
            break
        makers[wanted["make"]](wanted)
        print("ok", flush=True)
    except Exception:
        print(json.dumps(traceback.format_exc()), flush=True)
print("ok", flush=True)
server.serve_forever()
