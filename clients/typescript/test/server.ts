// Runs against a server that has no data: `node server.js URL`. It leaves a host with free capacity, and a node.

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import {
  BerthError, claim, type ClaimRequest, createBaremetalClient, createPlacementClient, keep, LeaseLost, type NextPage, nextPage,
  retryOnConflict, unwrap,
} from "@berthd/client";

const url = process.argv[2];
assert(url !== undefined, "give the URL of a running Berth");
/** The requests that the clients send, in order. */
const sent: string[] = [];
const fetchCounted = (request: Request): Promise<Response> => {
  sent.push(`${request.method} ${new URL(request.url).pathname}`);
  return fetch(request);
};
const options = { url, token: "admin", fetch: fetchCounted };
const placement = createPlacementClient(options);
const fast = { delay: 1 };

const uuid = "c0ffee00-5ca1-4b1e-8000-000000000001";
const params = { path: { uuid } };
const owner = { consumer_type: "INSTANCE", project_id: "mercury", user_id: "ada" };
const request = (number: number, resources: string): ClaimRequest => ({
  ...owner, consumer_uuid: `c0ffee00-5ca1-4b1e-8000-00000000f00${number}`, query: { resources },
});

async function errorOf(failing: Promise<unknown>): Promise<BerthError> {
  const error = await failing.then(() => undefined, (reason: unknown) => reason);
  assert(error instanceof BerthError, String(error));
  return error;
}

/** Another client changes the provider between the read and the first write. */
async function conflictIsRetried(): Promise<void> {
  await unwrap(placement.POST("/resource_providers", { body: { name: "compute-1", uuid } }));
  let runs = 0;
  await retryOnConflict(async () => {
    runs++;
    const { resource_provider_generation } = await unwrap(placement.GET("/resource_providers/{uuid}/inventories", { params }));
    if (runs === 1) {
      await unwrap(placement.PUT("/resource_providers/{uuid}/traits", {
        params, body: { resource_provider_generation, traits: ["HW_CPU_X86_VMX"] },
      }));
    }
    await unwrap(placement.PUT("/resource_providers/{uuid}/inventories", {
      params, body: { resource_provider_generation, inventories: { VCPU: { total: 16 }, MEMORY_MB: { total: 65536 } } },
    }));
  }, fast);
  assert.equal(runs, 2);
  const { inventories } = await unwrap(placement.GET("/resource_providers/{uuid}/inventories", { params }));
  assert.equal(inventories["VCPU"]?.total, 16);
}

async function claimsFit(): Promise<void> {
  const candidate = await claim(placement, request(1, "VCPU:4,MEMORY_MB:1024"), fast);
  assert.deepEqual(candidate?.allocations, { [uuid]: { resources: { VCPU: 4, MEMORY_MB: 1024 } } });
  assert.equal(await claim(placement, request(2, "VCPU:16"), fast), undefined);

  // The consumer exists: the claim is sent once.
  sent.length = 0;
  const exists = await errorOf(claim(placement, request(1, "VCPU:1"), fast));
  assert.deepEqual([exists.status, exists.isConsumerConflict], [409, true]);
  assert.equal(sent.filter((line) => line.startsWith("PUT")).length, 1);
}

/** Another client takes the capacity between the search and the claim. */
async function claimSearchesAgain(): Promise<void> {
  let searches = 0;
  const racing = createPlacementClient({ ...options, fetch: async (request) => {
    const response = await fetchCounted(request);
    if (request.method === "GET" && ++searches === 1) await claim(placement, request3, fast);
    return response;
  } });
  const request3 = request(3, "VCPU:8");
  sent.length = 0;
  assert.equal(await claim(racing, request(4, "VCPU:8"), fast), undefined);
  assert.deepEqual([searches, sent.filter((line) => line.startsWith("PUT")).length], [2, 2]);
  await unwrap(placement.DELETE("/allocations/{consumer_uuid}", { params: { path: { consumer_uuid: request3.consumer_uuid } } }));
}

/** More than the capacity is a 409 without a code of its own, which nothing repeats. */
async function overCapacityIsNotRetried(): Promise<void> {
  sent.length = 0;
  const { consumer_uuid } = request(5, "");
  const error = await errorOf(retryOnConflict(() => unwrap(placement.PUT("/allocations/{consumer_uuid}", {
    params: { path: { consumer_uuid } },
    body: { ...owner, consumer_generation: null, allocations: { [uuid]: { resources: { VCPU: 100 } } } },
  })), fast));
  assert.deepEqual(sent, [`PUT /allocations/${consumer_uuid}`]);
  assert.deepEqual([error.status, error.code, error.isConcurrentUpdate], [409, "placement.undefined_code", false]);
  assert.match(error.detail, /^Unable to allocate inventory: /);
  assert.match(error.requestId ?? "", /^req-/);
  assert.match(error.remedy ?? "", /^query new allocation candidates/);
}

async function oneRequestClaims(): Promise<void> {
  const consumer = { ...owner, uuid: "c0ffee00-5ca1-4b1e-8000-00000000f006", consumer_generation: null };
  const one = (amount: number, key: string) => placement.POST("/claims", {
    params: { header: { "Idempotency-Key": key } },
    body: { consumers: [consumer], queries: [{ groups: { "": { resources: { VCPU: amount } } } }] },
  });
  assert.deepEqual(await unwrap(one(2, "build-1")), await unwrap(one(2, "build-1")));
  const error = await errorOf(unwrap(one(100, "build-2")));
  assert.equal(error.isConsumerConflict || error.code === "berth.claim.nothing_fits", true, error.message);
}

/** The lease moves while it is kept; then another client deletes the consumer. */
async function leasesAreKept(): Promise<void> {
  const consumer = { ...owner, uuid: "c0ffee00-5ca1-4b1e-8000-00000000f007", consumer_generation: null, lease: { seconds: 10 } };
  await unwrap(placement.POST("/claims", { body: { consumers: [consumer], queries: [{ groups: { "": { resources: { VCPU: 1 } } } }] } }));
  const path = { consumer_uuid: consumer.uuid };
  const end = async () => (await unwrap(placement.GET("/allocations/{consumer_uuid}", { params: { path } }))).lease?.expires_at ?? "";
  const first = await end();
  const controller = new AbortController();
  const kept = keep(placement, [consumer.uuid], controller);
  await waitFor(async () => await end() > first);
  controller.abort();
  await kept;
  const lost = keep(placement, [consumer.uuid], new AbortController()).then(() => undefined, (reason: unknown) => reason);
  await unwrap(placement.DELETE("/allocations/{consumer_uuid}", { params: { path } }));
  const reason = await lost;
  assert(reason instanceof LeaseLost, String(reason));
  assert.deepEqual(reason.consumers, [consumer.uuid]);
}

async function pagesAreFollowed(): Promise<void> {
  const found: string[] = [];
  let next: NextPage | undefined = {};
  while (next !== undefined) {
    const page = await unwrap(placement.GET("/consumers", { params: { query: { limit: 1, ...next } } }));
    found.push(...page.consumers.map((consumer) => consumer.uuid));
    next = nextPage(page);
  }
  assert.equal(new Set(found).size, 2);
}

async function plainVersionsWork(): Promise<void> {
  const plain = createPlacementClient({ ...options, extensions: false });
  const { error, response } = await plain.GET("/capacity");
  assert.equal(response.status, 404, JSON.stringify(error));
  assert.equal(response.headers.get("OpenStack-API-Version"), "placement 1.39");
  const future = await errorOf(unwrap(createPlacementClient({ ...options, extensions: "1.999" }).GET("/traits")));
  assert.deepEqual([future.status, future.code], [406, "berth.version.unsupported"]);
}

async function nodesAreAllocated(): Promise<void> {
  const baremetal = createBaremetalClient(options);
  for (const name of ["rack-1", "rack-2"]) {
    await unwrap(baremetal.POST("/v1/nodes", { body: { name, driver: "fake-hardware", resource_class: "gold" } }));
    for (const target of ["manage", "provide"] as const) {
      await unwrap(baremetal.PUT("/v1/nodes/{node}/states/provision", { params: { path: { node: name } }, body: { target } }));
      await waitFor(async () => (await unwrap(baremetal.GET("/v1/nodes/{node}", { params: { path: { node: name } } }))).provision_state
        === (target === "manage" ? "manageable" : "available"));
    }
    await unwrap(baremetal.PUT("/v1/nodes/{node}/states/power", { params: { path: { node: name } }, body: { target: "power off" } }));
    await waitFor(async () => (await unwrap(baremetal.GET("/v1/nodes/{node}", { params: { path: { node: name } } }))).power_state === "power off");
  }
  const page = await unwrap(baremetal.GET("/v1/nodes", { params: { query: { limit: 1 } } }));
  assert.deepEqual(nextPage(page), { marker: page.nodes[0]?.uuid });
  const allocation = await unwrap(baremetal.POST("/v1/allocations", { body: { resource_class: "gold", wait: 30 } }));
  assert("state" in allocation);
  assert.equal(allocation.state, "active", allocation.last_error ?? "");
  const missing = await errorOf(unwrap(baremetal.GET("/v1/nodes/{node}", { params: { path: { node: "rack-9" } } })));
  assert.deepEqual([missing.status, missing.detail], [404, "Node rack-9 could not be found."]);
  assert.match(missing.remedy ?? "", /^correct the name/);
}

async function waitFor(isDone: () => Promise<boolean>): Promise<void> {
  for (let attempt = 0; attempt < 600; attempt++) {
    if (await isDone()) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.fail("no change of state within 30 seconds");
}

/** The server accepts the connection and sends no response, or only the beginning of one. */
async function timeoutsAreErrors(): Promise<void> {
  for (const respond of [(_: ServerResponse) => {}, (response: ServerResponse) => { response.write('{"traits": ['); }]) {
    const silent = createServer((_, response) => respond(response)).listen(0, "127.0.0.1");
    await once(silent, "listening");
    const { port } = silent.address() as AddressInfo;
    sent.length = 0;
    const hasty = createPlacementClient({ ...options, url: `http://127.0.0.1:${port}`, timeout: 200 });
    const error = await errorOf(unwrap(hasty.GET("/traits")));
    assert.deepEqual([error.status, error.isTimeout, sent.length], [0, true, 1]);
    silent.closeAllConnections();
    silent.close();
  }
}

for (const check of [
  conflictIsRetried, claimsFit, claimSearchesAgain, overCapacityIsNotRetried, oneRequestClaims, leasesAreKept, pagesAreFollowed,
  plainVersionsWork, nodesAreAllocated, timeoutsAreErrors,
]) {
  await check().catch((error: unknown) => { throw new Error(check.name, { cause: error }); });
}
console.log("all results were as expected");
