// Searches for candidates with types that are generated from the document of the extensions. The program calls it while
// its host and network device have resources.

import assert from "node:assert/strict";
import createClient from "openapi-fetch";
import { got } from "./client.js";
import type { components, paths } from "./extensions-types.js";

type Search = components["schemas"]["CandidateSearch"];

const params = { header: { "OpenStack-API-Version": "placement 1.39, berth 1.7" } } as const;

/** Sends one query with GET and with POST, and returns the providers of each group of its candidates. */
export async function searchWithExtensions(baseUrl: string): Promise<Record<string, string[]>[]> {
  const berth = createClient<paths>({
    baseUrl, headers: { "X-Auth-Token": "admin" }, querySerializer: { object: { style: "form", explode: true } },
  });
  const body: Search = {
    groups: {
      "": { resources: { VCPU: 2 } }, _NET: { resources: { SRIOV_NET_VF: 1 } }, _CPU: { resources: { MEMORY_MB: 512 } },
      _FAST: { required: ["CUSTOM_FAST"] },
    },
    isolate: [["_NET", "_CPU"]], same_subtree: [["_NET", "!_CPU"]], can_split: ["VCPU"], order: "spread:VCPU", limit_per_tree: 2,
  };
  const searched = await berth.POST("/allocation_candidates", { params, body });
  const listed = await berth.GET("/allocation_candidates", {
    params: {
      ...params,
      query: {
        resources: "VCPU:2", isolate: ["_NET,_CPU"], same_subtree: ["_NET,!_CPU"], can_split: ["VCPU"], order: "spread:VCPU", limit_per_tree: 2,
        groups: { resources_NET: "SRIOV_NET_VF:1", resources_CPU: "MEMORY_MB:512", required_FAST: "CUSTOM_FAST" },
      },
    },
  });
  assert.deepEqual(got(searched), got(listed));
  assert.match(searched.response.headers.get("openstack-api-version") ?? "", /berth 1\.7$/);

  const unknown = await berth.POST("/allocation_candidates", { params, body: { ...body, isolate: [["_NET", "_DISK"]] } });
  const code: components["schemas"]["ErrorCode"] | undefined = unknown.error && "errors" in unknown.error ? unknown.error.errors[0]?.code : undefined;
  assert.equal(code, "berth.query.unknown_group");

  const empty = await berth.GET("/allocation_candidates", { params: { ...params, query: { resources: "VCPU:1000000", explain: "empty" } } });
  assert.equal(got(empty).explanation?.reason, "amount");
  assert.equal(got(empty).explanation?.facts?.[0]?.with_room, 0);

  const capacity = await berth.GET("/capacity", { params: { ...params, query: { resource_class: "VCPU" } } });
  assert.equal(got(capacity).capacity[0]?.resource_class, "VCPU");
  const fits = await berth.POST("/capacity", { params, body: { query: { groups: { "": { resources: { VCPU: 1000000 } } } } } });
  assert.equal(got(fits).ends_first, "VCPU");
  const consumers = await berth.GET("/consumers", { params: { ...params, query: { limit: 1, fields: "resources" } } });
  assert.ok(got(consumers).consumers.length <= 1);

  // @ts-expect-error the suffixes are lists of lists
  const wrong: Search = { ...body, isolate: ["_NET,_CPU"] };
  assert.equal((await berth.POST("/allocation_candidates", { params, body: wrong })).response.status, 400);
  // @ts-expect-error it is the version without the extensions
  await berth.POST("/allocation_candidates", { params: { header: { "OpenStack-API-Version": "placement 1.39" } }, body });
  return got(searched).allocation_requests.map((candidate) => candidate.mappings ?? {});
}
