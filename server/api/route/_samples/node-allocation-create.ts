// Types: npx openapi-typescript http://127.0.0.1:8778/openapi/baremetal/1.82.json --output baremetal.d.ts
import createClient from "openapi-fetch";
import type { paths } from "./baremetal.js";

const baremetal = createClient<paths>({ baseUrl: "http://127.0.0.1:8778", headers: { "X-Auth-Token": "admin" } });
const header = { "X-OpenStack-Ironic-API-Version": "1.82" } as const;

const { data, error } = await baremetal.POST("/v1/allocations", {
  params: { header }, body: { name: "web-1", resource_class: "gold" },
});
if (error) throw new Error(JSON.stringify(error));
console.log(data.uuid, "is in state", data.state);
