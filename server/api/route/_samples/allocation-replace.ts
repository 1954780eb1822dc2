// Types: npx openapi-typescript http://127.0.0.1:8778/openapi/1.39.json --output placement.d.ts
import createClient from "openapi-fetch";
import type { paths } from "./placement.js";

const placement = createClient<paths>({ baseUrl: "http://127.0.0.1:8778", headers: { "X-Auth-Token": "admin" } });
const header = { "OpenStack-API-Version": "placement 1.39" } as const;

const consumer_uuid = "1d5ecafe-0000-4000-8000-000000000001";
const found = await placement.GET("/allocation_candidates", {
  params: { header, query: { resources: "VCPU:2,MEMORY_MB:2048", limit: 10 } },
});
if (found.error) throw new Error(JSON.stringify(found.error));
for (const { allocations, mappings } of found.data.allocation_requests) {
  const { error, response } = await placement.PUT("/allocations/{consumer_uuid}", {
    params: { header, path: { consumer_uuid } },
    body: { allocations, mappings, consumer_generation: null, consumer_type: "INSTANCE", project_id: "web", user_id: "ada" },
  });
  if (response.status === 409) continue; // another consumer has claimed the capacity
  if (error) throw new Error(JSON.stringify(error));
  console.log("claimed", allocations);
  break;
}
