// Tests of leases without a server: a fake `fetch` answers.

import assert from "node:assert/strict";
import { test } from "node:test";
import { BerthError, createPlacementClient, keep, LeaseLost } from "@berthd/client";

const uuid = (number: number) => `c0ffee00-5ca1-4b1e-8000-${String(number).padStart(12, "0")}`;

type Respond = (consumers: string[]) => Response;

/** A fake server: each request gets the next response, the last one also later. */
function serverOf(...responses: Respond[]) {
  const sent: string[][] = [];
  const fetch = async (request: Request): Promise<Response> => {
    const { consumers } = await request.json() as { consumers: string[] };
    sent.push(consumers);
    return responses[Math.min(sent.length, responses.length) - 1]!(consumers);
  };
  return { sent, placement: createPlacementClient({ url: "http://berth.example.org", token: "admin", retries: 0, fetch }) };
}

const renewing = (seconds: number, gone: string[] = [], without: string[] = []): Respond => (consumers) => {
  const renewed = consumers.filter((consumer) => ![...gone, ...without].includes(consumer));
  const lease = { seconds, expires_at: "2026-11-22T14:13:00.123456Z" };
  return Response.json({ renewed: Object.fromEntries(renewed.map((consumer) => [consumer, lease])), gone, without });
};

const failing = (status: number): Respond => () =>
  Response.json({ errors: [{ status, code: "placement.undefined_code", title: "Error", detail: "An error.", request_id: "req-1" }] }, { status });

/** Returns what a promise rejects with. */
const reasonOf = (promise: Promise<unknown>) => promise.then(() => assert.fail("resolved"), (reason: unknown) => reason);

test("keep renews until the signal aborts", async () => {
  const controller = new AbortController();
  const { sent, placement } = serverOf(renewing(0.03), renewing(0.03), (consumers) => {
    controller.abort();
    return renewing(60)(consumers);
  });
  await keep(placement, [uuid(1)], controller);
  assert.deepEqual(sent, [[uuid(1)], [uuid(1)], [uuid(1)]]);
});

test("keep sends nothing after an abort", async () => {
  const { sent, placement } = serverOf(renewing(60));
  await keep(placement, [uuid(1)], { signal: AbortSignal.abort() });
  assert.equal(sent.length, 0);
});

test("keep sends a request for each thousand consumers", async () => {
  const consumers = Array.from({ length: 1500 }, (_, number) => uuid(number));
  const controller = new AbortController();
  const { sent, placement } = serverOf(renewing(60), (some) => {
    controller.abort();
    return renewing(60)(some);
  });
  await keep(placement, consumers, controller);
  assert.deepEqual(sent.map((some) => some.length), [1000, 500]);
});

test("keep rejects if consumers are gone or have no lease", async () => {
  const { signal } = new AbortController();
  const { sent, placement } = serverOf(renewing(0.03), renewing(60, [uuid(1)], [uuid(3)]));
  const lost = await reasonOf(keep(placement, [1, 2, 3].map(uuid), { signal }));
  assert(lost instanceof LeaseLost);
  assert.deepEqual([lost.consumers, sent.length], [[uuid(1), uuid(3)], 2]);
});

test("keep throws an error of the first renewal, and one that rejects the request", async () => {
  const { signal } = new AbortController();
  for (const responses of [[failing(503)], [renewing(0.03), failing(403)]]) {
    const { sent, placement } = serverOf(...responses);
    assert(await reasonOf(keep(placement, [uuid(1)], { signal })) instanceof BerthError);
    assert.equal(sent.length, responses.length);
  }
});

test("keep repeats other errors until the lease may have ended", async () => {
  const { signal } = new AbortController();
  const { sent, placement } = serverOf(renewing(1), failing(503));
  const lost = await reasonOf(keep(placement, [uuid(1)], { signal }));
  assert(lost instanceof LeaseLost && lost.cause instanceof BerthError, String(lost));
  assert.deepEqual(lost.consumers, [uuid(1)]);
  assert(sent.length > 1);
});
