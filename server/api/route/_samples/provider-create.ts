// Types: npx openapi-typescript http://127.0.0.1:8778/openapi/1.39.json --output placement.d.ts
import createClient from "openapi-fetch";
import type { paths } from "./placement.js";

const placement = createClient<paths>({ baseUrl: "http://127.0.0.1:8778", headers: { "X-Auth-Token": "admin" } });
const header = { "OpenStack-API-Version": "placement 1.39" } as const;

const { data, error } = await placement.POST("/resource_providers", {
  params: { header }, body: { name: "compute-17", uuid: "c0ffee00-5ca1-4b1e-8000-000000000001" },
});
if (error) throw new Error(JSON.stringify(error));
console.log(data.uuid, "is at generation", data.generation);
