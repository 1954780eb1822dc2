// A day of a host, told against a running Berth: `node build/program.js URL`. It
// asserts every result itself and exits with 1 at the first that is wrong.

import assert from "node:assert/strict";
import { codeOf, connect, done, got, header, type Schemas } from "./client.js";
import { searchWithExtensions } from "./extensions.js";

const url = process.argv[2];
assert(url !== undefined, "give the URL of a running Berth");
const placement = connect(url);

const host = "c0ffee00-5ca1-4b1e-8000-000000000001";
const node = "c0ffee00-5ca1-4b1e-8000-000000000002";
const nic = "c0ffee00-5ca1-4b1e-8000-000000000003";
const instance = "c0ffee00-5ca1-4b1e-8000-00000000f001";

type Records = Record<string, Schemas["InventoryRecord"]>;

/** How often replaceInventories had to read a provider again. */
let conflicts = 0;

/** Replaces inventories, and retries once after a generation conflict. */
async function replaceInventories(uuid: string, generation: number, inventories: Records): Promise<Schemas["Inventories"]> {
  const path = { uuid };
  const { data, error, response } = await placement.PUT("/resource_providers/{uuid}/inventories", {
    params: { header, path },
    body: { resource_provider_generation: generation, inventories },
  });
  if (response.status === 409 && codeOf(error) === "placement.concurrent_update") {
    conflicts++;
    const fresh = got(await placement.GET("/resource_providers/{uuid}", { params: { header, path } }));
    return replaceInventories(uuid, fresh.generation, inventories);
  }
  assert(data !== undefined, JSON.stringify(error));
  return data;
}

async function buildTree(): Promise<void> {
  const create = async (body: Schemas["ProviderCreate"]) => got(await placement.POST("/resource_providers", { params: { header }, body }));
  const root = await create({ name: "compute-1", uuid: host });
  assert.equal(root.parent_provider_uuid, null);
  for (const [name, uuid] of [["numa-0", node], ["nic-0", nic]] as const) {
    const child = await create({ name, uuid, parent_provider_uuid: host });
    assert.equal(child.root_provider_uuid, host);
  }
  const { resource_providers: tree } = got(
    await placement.GET("/resource_providers", { params: { header, query: { in_tree: nic } } }),
  );
  assert.deepEqual(tree.map((provider) => provider.name), ["compute-1", "numa-0", "nic-0"]);

  const taken = await placement.POST("/resource_providers", { params: { header }, body: { name: "compute-1" } });
  assert.equal(taken.response.status, 409);
  assert.equal(codeOf(taken.error), "placement.duplicate_name");
}

async function describe(): Promise<void> {
  const written = await replaceInventories(host, 0, { VCPU: { total: 16, allocation_ratio: 4 }, MEMORY_MB: { total: 32768, reserved: 512 } });
  assert.equal(written.inventories["VCPU"]?.max_unit, 2147483647);
  assert.equal(conflicts, 0);
  // 7 is not the generation of the device: the answer is a conflict, and the
  // second try is right.
  await replaceInventories(nic, 7, { SRIOV_NET_VF: { total: 8 } });
  assert.equal(conflicts, 1);

  done(await placement.PUT("/traits/{name}", { params: { header, path: { name: "CUSTOM_FAST" } } }), 201);
  const { traits } = got(await placement.PUT("/resource_providers/{uuid}/traits", {
    params: { header, path: { uuid: nic } }, body: { resource_provider_generation: 1, traits: ["CUSTOM_FAST"] },
  }));
  assert.deepEqual(traits, ["CUSTOM_FAST"]);
  const custom = await placement.GET("/traits", { params: { header, query: { name: "startswith:CUSTOM_", associated: true } } });
  assert.deepEqual(got(custom).traits, ["CUSTOM_FAST"]);
}

/** Finds room for processors and, apart from them, a fast network device. */
async function findRoom(): Promise<Schemas["Candidate"]> {
  const found = got(await placement.GET("/allocation_candidates", {
    params: {
      header,
      query: {
        resources: "VCPU:2,MEMORY_MB:1024", required: ["!HW_CPU_X86_VMX", "!CUSTOM_FAST"], limit: 10, group_policy: "isolate",
        groups: { resources_NET: "SRIOV_NET_VF:1", required_NET: "CUSTOM_FAST" },
      },
    },
  }));
  assert.equal(found.allocation_requests.length, 1);
  assert.equal(found.provider_summaries[host]?.resources["VCPU"]?.capacity, 64);
  assert.equal(found.provider_summaries[nic]?.parent_provider_uuid, host);
  const [candidate] = found.allocation_requests;
  assert(candidate !== undefined);
  assert.deepEqual(candidate.mappings, { "": [host], _NET: [nic] });
  return candidate;
}

async function claim(candidate: Schemas["Candidate"]): Promise<void> {
  const params = { header, path: { consumer_uuid: instance } };
  // What a candidate takes is what a claim asks for.
  const body: Schemas["Claim"] = {
    ...candidate, consumer_generation: null, consumer_type: "INSTANCE", project_id: "mercury", user_id: "ada",
  };
  done(await placement.PUT("/allocations/{consumer_uuid}", { params, body }), 204);
  const again = await placement.PUT("/allocations/{consumer_uuid}", { params, body });
  assert.equal(again.response.status, 409);
  assert.equal(codeOf(again.error), "placement.concurrent_update");

  const { usages } = got(await placement.GET("/usages", { params: { header, query: { project_id: "mercury" } } }));
  assert.deepEqual(usages, { INSTANCE: { VCPU: 2, MEMORY_MB: 1024, SRIOV_NET_VF: 1, consumer_count: 1 } });
}

/** Moves the processors, and who has them, from the host to its NUMA node. */
async function reshape(): Promise<void> {
  const generation = async (uuid: string) =>
    got(await placement.GET("/resource_providers/{uuid}", { params: { header, path: { uuid } } })).generation;
  const body: Schemas["Reshape"] = {
    inventories: {
      [host]: { resource_provider_generation: await generation(host), inventories: { MEMORY_MB: { total: 32768 } } },
      [node]: { resource_provider_generation: await generation(node), inventories: { VCPU: { total: 16 } } },
    },
    allocations: {},
  };
  const stuck = await placement.POST("/reshaper", { params: { header }, body });
  assert.equal(codeOf(stuck.error), "placement.inventory.inuse");

  const held = got(await placement.GET("/allocations/{consumer_uuid}", { params: { header, path: { consumer_uuid: instance } } }));
  const { consumer_generation, consumer_type, project_id, user_id } = held;
  assert(consumer_generation !== undefined && consumer_type !== undefined && project_id !== undefined && user_id !== undefined);
  const { VCPU, ...rest } = held.allocations[host]?.resources ?? {};
  assert(VCPU !== undefined);
  body.allocations[instance] = {
    consumer_generation, consumer_type, project_id, user_id,
    allocations: { ...held.allocations, [host]: { resources: rest }, [node]: { resources: { VCPU } } },
  };
  done(await placement.POST("/reshaper", { params: { header }, body }), 204);
  const { usages } = got(await placement.GET("/resource_providers/{uuid}/usages", { params: { header, path: { uuid: node } } }));
  assert.deepEqual(usages, { VCPU: 2 });
}

async function cleanUp(): Promise<void> {
  done(await placement.DELETE("/allocations/{consumer_uuid}", { params: { header, path: { consumer_uuid: instance } } }), 204);
  const parent = await placement.DELETE("/resource_providers/{uuid}", { params: { header, path: { uuid: host } } });
  assert.equal(codeOf(parent.error), "placement.resource_provider.cannot_delete_parent");
  // Null as a parent makes a root of it.
  const root = got(await placement.PUT("/resource_providers/{uuid}", {
    params: { header, path: { uuid: nic } }, body: { name: "nic-0", parent_provider_uuid: null },
  }));
  assert.equal(root.root_provider_uuid, nic);
  for (const uuid of [nic, node, host]) {
    done(await placement.DELETE("/resource_providers/{uuid}", { params: { header, path: { uuid } } }), 204);
  }
  assert.deepEqual(got(await placement.GET("/resource_providers", { params: { header } })).resource_providers, []);
}

await buildTree();
await describe();
assert.deepEqual(await searchWithExtensions(url), [{ "": [host], _NET: [nic], _CPU: [host], _FAST: [nic] }]);
await claim(await findRoom());
await reshape();
await cleanUp();
console.log("all results were as expected");
