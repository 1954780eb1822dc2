// What the client of each generator does: it fills a provider, searches candidates with a request group, and puts a node
// into maintenance.

import assert from "node:assert/strict";

/** The requests of the scenario, which each generator's client implements. */
export interface Requests {
  createProvider(name: string): Promise<{ uuid: string; generation: number }>;
  /** Sets 8 VCPU and 4 SRIOV_NET_VF. */
  fill(uuid: string, generation: number): Promise<void>;
  /** Candidates for 1 VCPU, and 2 SRIOV_NET_VF in the group _NET. */
  candidates(): Promise<Candidate[]>;
  createNode(name: string): Promise<string>;
  startMaintenance(node: string, reason: string): Promise<void>;
  maintenanceReason(node: string): Promise<string | null | undefined>;
  deleteNode(node: string): Promise<void>;
}

export interface Candidate {
  mappings?: Record<string, string[]>;
}

export const inventories = { VCPU: { total: 8 }, SRIOV_NET_VF: { total: 4 } };

/** The parameters of the group _NET. */
export const groups = { resources_NET: "SRIOV_NET_VF:2" };

export async function run(generator: string, requests: Requests): Promise<void> {
  const provider = await requests.createProvider(`compute of ${generator}`);
  await requests.fill(provider.uuid, provider.generation);
  const found = await requests.candidates();
  const mappings = found.map((candidate) => candidate.mappings);
  // A request without the group would find the provider without the key _NET.
  assert(mappings.some((one) => one?.["_NET"]?.[0] === provider.uuid), JSON.stringify(found));

  const node = await requests.createNode(`node-of-${generator}`);
  await requests.startMaintenance(node, "dust");
  assert.equal(await requests.maintenanceReason(node), "dust");
  await requests.deleteNode(node);
}

/** Checks that a request succeeded and returns its body. */
export function ok<Body>(status: number, body: Body | undefined): Body {
  assert(status < 300 && body !== undefined, `${status}: ${JSON.stringify(body)}`);
  return body;
}
