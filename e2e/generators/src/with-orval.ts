// The client is that of orval, which sends requests with send of orval-fetch.

import * as baremetal from "../generated/orval/baremetal.js";
import * as placement from "../generated/orval/placement.js";
import { connect } from "./orval-fetch.js";
import { groups, inventories, ok, type Requests } from "./scenario.js";

export function requests(url: string): Requests {
  connect(url);
  return {
    async createProvider(name) {
      const answer = await placement.providerCreate({ name });
      if (answer.status !== 200) throw new Error(JSON.stringify(answer));
      return answer.data;
    },
    async fill(uuid, generation) {
      const answer = await placement.inventoryReplace(uuid, { resource_provider_generation: generation, inventories });
      ok(answer.status, answer.data);
    },
    async candidates() {
      // The members of groups are parameters: orval would write the object as text.
      const answer = await placement.candidateList({ resources: "VCPU:1", ...groups });
      if (answer.status !== 200) throw new Error(JSON.stringify(answer));
      return answer.data.allocation_requests;
    },
    async createNode(name) {
      const answer = await baremetal.nodeCreate({ name, driver: "fake-hardware" });
      if (answer.status !== 201) throw new Error(JSON.stringify(answer));
      return ok(answer.status, answer.data.uuid);
    },
    async startMaintenance(node, reason) {
      const answer = await baremetal.nodeMaintenanceSet(node, { reason });
      ok(answer.status, "");
    },
    async maintenanceReason(node) {
      const answer = await baremetal.nodeShow(node);
      if (answer.status !== 200) throw new Error(JSON.stringify(answer));
      return answer.data.maintenance_reason;
    },
    async deleteNode(node) {
      const answer = await baremetal.nodeDelete(node);
      ok(answer.status, "");
    },
  };
}
