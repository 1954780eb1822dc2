// Tests of retries and errors without a server: they count the requests that a fake `fetch` gets.

import assert from "node:assert/strict";
import { test } from "node:test";
import { BerthError, createBaremetalClient, createPlacementClient, retryOnConflict, unwrap } from "@berthd/client";

const uuid = "c0ffee00-5ca1-4b1e-8000-000000000001";
const generation = { resource_provider_generation: 1 };

/** A fake server: each request gets the next response, the last one also later. */
function serverOf(...responses: (() => Response | Promise<Response>)[]) {
  const sent: Request[] = [];
  const fetch = async (request: Request): Promise<Response> => {
    sent.push(request);
    const respond = responses[Math.min(sent.length, responses.length) - 1];
    assert(respond !== undefined);
    return respond();
  };
  const options = { url: "http://berth.example.org", token: "admin", retryDelay: 0, fetch };
  return { sent, options, placement: createPlacementClient(options) };
}

const traits = () => Response.json({ traits: [] });
const failure = (status: number, code: string, detail = "An error.", headers: Record<string, string> = {}) => () =>
  Response.json({ errors: [{ status, code, title: "Error", detail, request_id: "req-1" }] }, { status, headers });
const unavailable = failure(503, "berth.overloaded", "Overloaded.", { "Retry-After": "0" });
const stale = failure(409, "placement.concurrent_update", "There was a conflict.\n\n resource provider generation conflict ");
const lost = () => { throw new TypeError("fetch failed"); };

/** Returns the BerthError that a request fails with. */
async function errorOf(request: Promise<unknown>): Promise<BerthError> {
  const error = await request.then(() => undefined, (reason: unknown) => reason);
  assert(error instanceof BerthError, String(error));
  return error;
}

test("reads are repeated after 503 and network errors", async () => {
  const { sent, placement } = serverOf(unavailable, lost, failure(502, "placement.undefined_code"), traits);
  assert.deepEqual(await unwrap(placement.GET("/traits")), { traits: [] });
  assert.equal(sent.length, 4);
});

test("an error without a response names the address and the system error", async () => {
  const refused = Object.assign(new Error("connect ECONNREFUSED 127.0.0.1:8778"), { code: "ECONNREFUSED" });
  for (const cause of [refused, new AggregateError([refused])]) {
    const { options } = serverOf(() => { throw new TypeError("fetch failed", { cause }); });
    const error = await errorOf(createPlacementClient({ ...options, retries: 0 }).GET("/traits"));
    assert.equal(error.detail, "no response from http://berth.example.org: Error: connect ECONNREFUSED 127.0.0.1:8778");
  }
});

test("retries are bounded", async () => {
  const { sent, placement } = serverOf(unavailable);
  assert.equal((await errorOf(unwrap(placement.GET("/traits")))).code, "berth.overloaded");
  assert.equal(sent.length, 4);
  const disabled = serverOf(unavailable);
  await placement.GET("/traits");
  await createPlacementClient({ ...disabled.options, retries: 0 }).GET("/traits");
  assert.equal(disabled.sent.length, 1);
});

test("a long Retry-After is returned to the caller", async () => {
  const { sent, placement } = serverOf(failure(503, "berth.idempotency.full", "Full.", { "Retry-After": "60" }));
  assert.equal((await placement.GET("/traits")).response.headers.get("Retry-After"), "60");
  assert.equal(sent.length, 1);
});

test("writes with a generation are repeated after 429 only", async () => {
  const put = (server: ReturnType<typeof serverOf>) => server.placement.PUT("/resource_providers/{uuid}/inventories", {
    params: { path: { uuid } }, body: { ...generation, inventories: { VCPU: { total: 8 } } },
  });
  for (const respond of [unavailable, lost]) {
    const server = serverOf(respond);
    await put(server).catch(() => {});
    assert.equal(server.sent.length, 1);
  }
  const limited = serverOf(failure(429, "berth.limit.requests", "Too many.", { "Retry-After": "0" }), () => Response.json({}));
  assert.equal((await put(limited)).response.status, 200);
  const bodies = await Promise.all(limited.sent.map((request) => request.text()));
  assert.equal(bodies.length, 2);
  assert.equal(bodies[0], bodies[1]);
});

test("a claim with an Idempotency-Key is repeated", async () => {
  const { sent, placement } = serverOf(lost, unavailable, () => Response.json({ claims: [] }));
  const consumer = { uuid, project_id: "web", user_id: "ada", consumer_type: "INSTANCE", consumer_generation: null };
  await unwrap(placement.POST("/claims", {
    params: { header: { "Idempotency-Key": "build-4711" } },
    body: { consumers: [consumer], queries: [{ groups: { "": { resources: { VCPU: 1 } } } }] },
  }));
  assert.equal(sent.length, 3);
});

test("deletions with a generation are not repeated", async () => {
  const { sent, placement } = serverOf(unavailable);
  const params = { path: { uuid } };
  await placement.DELETE("/resource_providers/{uuid}/traits", { params: { ...params, query: { resource_provider_generation: 3 } } });
  assert.equal(sent.length, 1);
  await placement.DELETE("/resource_providers/{uuid}/traits", { params });
  assert.equal(sent.length, 5);
});

test("retryOnConflict runs the whole update again, with the new generation", async () => {
  const provider = (generation: number) => () => Response.json({ uuid, generation });
  const { sent, placement } = serverOf(provider(1), stale, provider(2), () => Response.json({ traits: [] }));
  const params = { path: { uuid } };
  await retryOnConflict(async () => {
    const { generation } = await unwrap(placement.GET("/resource_providers/{uuid}", { params }));
    await unwrap(placement.PUT("/resource_providers/{uuid}/traits", {
      params, body: { resource_provider_generation: generation, traits: [] },
    }));
  }, { delay: 0 });
  assert.deepEqual(sent.map((request) => request.method), ["GET", "PUT", "GET", "PUT"]);
  assert.match(await sent[3]!.text(), /"resource_provider_generation":2/);
});

test("retryOnConflict is bounded, and throws other conflicts at once", async () => {
  for (const [respond, requests] of [[stale, 4], [failure(409, "placement.undefined_code"), 1], [failure(409, "placement.inventory.inuse"), 1]] as const) {
    const { sent, placement } = serverOf(respond);
    await errorOf(retryOnConflict(() => unwrap(placement.DELETE("/resource_providers/{uuid}", { params: { path: { uuid } } })), { delay: 0 }));
    assert.equal(sent.length, requests);
  }
});

test("a conflict is not repeated without retryOnConflict", async () => {
  const { sent, placement } = serverOf(stale);
  const error = await errorOf(unwrap(placement.DELETE("/resource_providers/{uuid}", { params: { path: { uuid } } })));
  assert.deepEqual([error.status, error.detail, error.requestId, error.isConcurrentUpdate, error.isConsumerConflict],
    [409, "resource provider generation conflict", "req-1", true, false]);
  assert.match(error.remedy ?? "", /^read the provider or the consumer again/);
  assert.match(error.message, /^DELETE \/resource_providers\/c0ffee00-\S+: 409 placement.concurrent_update resource .*; remedy: read .* \(req-1\)$/);
  assert.equal(sent.length, 1);
});

test("errors of the Bare Metal API, of authentication and of proxies have a detail", async () => {
  const baremetal = createBaremetalClient(serverOf(() => Response.json(
    { error_message: '{"faultcode": "Client", "faultstring": "Node rack-7 could not be found.", "debuginfo": null}' }, { status: 404 },
  )).options);
  const missing = await errorOf(unwrap(baremetal.GET("/v1/nodes/{node}", { params: { path: { node: "rack-7" } } })));
  assert.equal(missing.detail, "Node rack-7 could not be found.");
  assert.match(missing.remedy ?? "", /^correct the name/);
  const denied = serverOf(() => Response.json({ code: "401 Unauthorized", title: "Unauthorized", message: "Invalid token." }, { status: 401 }));
  assert.equal((await errorOf(unwrap(denied.placement.GET("/traits")))).detail, "Invalid token.");
  const proxy = serverOf(() => new Response("<h1>Not here</h1>", { status: 404 }));
  assert.equal((await errorOf(unwrap(proxy.placement.GET("/traits")))).detail, "<h1>Not here</h1>");
});

test("a timeout is an error without a status, and is not repeated", async () => {
  const { sent, options } = serverOf(() => new Promise(() => {}));
  const fetch = (request: Request) => Promise.race([
    options.fetch(request),
    new Promise<never>((_, reject) => request.signal.addEventListener("abort", () => reject(request.signal.reason))),
  ]);
  const placement = createPlacementClient({ ...options, fetch, timeout: 20 });
  const error = await errorOf(unwrap(placement.GET("/traits")));
  assert.deepEqual([error.status, error.isTimeout, sent.length], [0, true, 1]);

  const aborted = placement.GET("/traits", { signal: AbortSignal.abort(new Error("canceled")) });
  await assert.rejects(aborted, /canceled/);
  assert.equal(sent.length, 1);
});

test("requests have the versions, the token and the global request id", async () => {
  const { sent, options } = serverOf(traits);
  let calls = 0;
  const token = async () => `token-${++calls}`;
  const clients = [
    createPlacementClient({ ...options, token, globalRequestId: `req-${uuid}` }),
    createPlacementClient({ ...options, extensions: false }),
    createPlacementClient({ ...options, microversion: "1.36" }),
    createPlacementClient({ ...options, extensions: "1.3" }),
  ];
  for (const placement of clients) await placement.GET("/traits");
  assert.deepEqual(sent.map(({ headers }) => headers.get("OpenStack-API-Version")),
    ["placement 1.39, berth 1.7", "placement 1.39", "placement 1.36", "placement 1.39, berth 1.3"]);
  assert.deepEqual(sent.map(({ headers }) => headers.get("X-Auth-Token")), ["token-1", "admin", "admin", "admin"]);
  assert.equal(sent[0]?.headers.get("X-OpenStack-Request-ID"), `req-${uuid}`);

  await createBaremetalClient(options).GET("/v1/nodes");
  await createBaremetalClient({ ...options, extensions: false }).GET("/v1/nodes");
  assert.equal(sent[4]?.headers.get("OpenStack-API-Version"), "baremetal 1.82, berth 1.2");
  assert.equal(sent[5]?.headers.get("X-OpenStack-Ironic-API-Version"), "1.82");
});

test("members of groups are parameters, and lists are repeated", async () => {
  const { sent, placement } = serverOf(() => Response.json({ allocation_requests: [], provider_summaries: {} }));
  const query = { resources: "VCPU:2", required: ["CUSTOM_A", "!CUSTOM_B"], groups: { resources_NET: "SRIOV_NET_VF:1" } };
  await placement.GET("/allocation_candidates", { params: { query } });
  assert.equal(new URL(sent[0]!.url).search,
    "?resources=VCPU%3A2&required=CUSTOM_A&required=!CUSTOM_B&resources_NET=SRIOV_NET_VF%3A1");
});
