// The client is openapi-fetch with the types of openapi-typescript.

import createClient from "openapi-fetch";
import type { paths as Baremetal } from "../generated/openapi-typescript/baremetal.js";
import type { paths as Placement } from "../generated/openapi-typescript/placement.js";
import { groups, inventories, ok, type Requests } from "./scenario.js";

export function requests(baseUrl: string): Requests {
  // Without the serializer, groups are sent as groups[resources_NET]=…, which is 400.
  const querySerializer = { object: { style: "form", explode: true } } as const;
  const options = { baseUrl, headers: { "X-Auth-Token": "admin" }, querySerializer };
  const placement = createClient<Placement>(options);
  const baremetal = createClient<Baremetal>(options);
  const params = { header: { "OpenStack-API-Version": "placement 1.39" } } as const;
  const header = { "X-OpenStack-Ironic-API-Version": "1.82" } as const;
  return {
    async createProvider(name) {
      const { data, response } = await placement.POST("/resource_providers", { params, body: { name } });
      return ok(response.status, data);
    },
    async fill(uuid, generation) {
      const { data, response } = await placement.PUT("/resource_providers/{uuid}/inventories", {
        params: { ...params, path: { uuid } }, body: { resource_provider_generation: generation, inventories },
      });
      ok(response.status, data);
    },
    async candidates() {
      const { data, response } = await placement.GET("/allocation_candidates", {
        params: { ...params, query: { resources: "VCPU:1", groups } },
      });
      return ok(response.status, data).allocation_requests;
    },
    async createNode(name) {
      const { data, response } = await baremetal.POST("/v1/nodes", { params: { header }, body: { name, driver: "fake-hardware" } });
      return ok(response.status, data?.uuid);
    },
    async startMaintenance(node, reason) {
      const { response } = await baremetal.PUT("/v1/nodes/{node}/maintenance", { params: { header, path: { node } }, body: { reason } });
      ok(response.status, "");
    },
    async maintenanceReason(node) {
      const { data, response } = await baremetal.GET("/v1/nodes/{node}", { params: { header, path: { node } } });
      return ok(response.status, data).maintenance_reason;
    },
    async deleteNode(node) {
      const { response } = await baremetal.DELETE("/v1/nodes/{node}", { params: { header, path: { node } } });
      ok(response.status, "");
    },
  };
}
