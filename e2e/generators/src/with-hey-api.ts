// The client is that of @hey-api/openapi-ts.

import { client as baremetalClient } from "../generated/hey-api/baremetal/client.gen.js";
import * as baremetal from "../generated/hey-api/baremetal/sdk.gen.js";
import { client as placementClient } from "../generated/hey-api/placement/client.gen.js";
import * as placement from "../generated/hey-api/placement/sdk.gen.js";
import { groups, inventories, ok, type Requests } from "./scenario.js";

export function requests(baseUrl: string): Requests {
  baremetalClient.setConfig({ baseUrl, auth: "admin", throwOnError: true });
  // Without the serializer, some releases of the generator send groups as groups[resources_NET]=…, which is 400.
  const querySerializer = { object: { style: "form", explode: true } } as const;
  placementClient.setConfig({ baseUrl, auth: "admin", throwOnError: true, querySerializer });
  const headers = { "OpenStack-API-Version": "placement 1.39" } as const;
  const ironic = { "X-OpenStack-Ironic-API-Version": "1.82" } as const;
  return {
    async createProvider(name) {
      const { data, response } = await placement.providerCreate({ headers, body: { name } });
      return ok(response.status, data);
    },
    async fill(uuid, generation) {
      const { data, response } = await placement.inventoryReplace({
        headers, path: { uuid }, body: { resource_provider_generation: generation, inventories },
      });
      ok(response.status, data);
    },
    async candidates() {
      const { data, response } = await placement.candidateList({ headers, query: { resources: "VCPU:1", groups } });
      return ok(response.status, data).allocation_requests;
    },
    async createNode(name) {
      const { data, response } = await baremetal.nodeCreate({ headers: ironic, body: { name, driver: "fake-hardware" } });
      return ok(response.status, data?.uuid);
    },
    async startMaintenance(node, reason) {
      const { response } = await baremetal.nodeMaintenanceSet({ headers: ironic, path: { node }, body: { reason } });
      ok(response.status, "");
    },
    async maintenanceReason(node) {
      const { data, response } = await baremetal.nodeShow({ headers: ironic, path: { node } });
      return ok(response.status, data).maintenance_reason;
    },
    async deleteNode(node) {
      const { response } = await baremetal.nodeDelete({ headers: ironic, path: { node } });
      ok(response.status, "");
    },
  };
}
