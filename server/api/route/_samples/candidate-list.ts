// Types: npx openapi-typescript http://127.0.0.1:8778/openapi/1.39.json --output placement.d.ts
import createClient from "openapi-fetch";
import type { paths } from "./placement.js";

const placement = createClient<paths>({ baseUrl: "http://127.0.0.1:8778", headers: { "X-Auth-Token": "admin" } });
const header = { "OpenStack-API-Version": "placement 1.39" } as const;

const { data, error } = await placement.GET("/allocation_candidates", {
  params: { header, query: { resources: "VCPU:2,MEMORY_MB:2048", limit: 10 } },
});
if (error) throw new Error(JSON.stringify(error));
for (const candidate of data.allocation_requests) {
  console.log(candidate.allocations);
}
