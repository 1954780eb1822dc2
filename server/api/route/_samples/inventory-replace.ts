// Types: npx openapi-typescript http://127.0.0.1:8778/openapi/1.39.json --output placement.d.ts
import createClient from "openapi-fetch";
import type { paths } from "./placement.js";

const placement = createClient<paths>({ baseUrl: "http://127.0.0.1:8778", headers: { "X-Auth-Token": "admin" } });
const header = { "OpenStack-API-Version": "placement 1.39" } as const;

const path = { uuid: "c0ffee00-5ca1-4b1e-8000-000000000001" };
const provider = await placement.GET("/resource_providers/{uuid}", { params: { header, path } });
if (provider.error) throw new Error(JSON.stringify(provider.error));
const { data, error, response } = await placement.PUT("/resource_providers/{uuid}/inventories", {
  params: { header, path },
  body: {
    resource_provider_generation: provider.data.generation,
    inventories: { VCPU: { total: 64 }, MEMORY_MB: { total: 262144 } },
  },
});
if (response.status === 409) console.log("another client changed the provider: read it again and retry");
if (error) throw new Error(JSON.stringify(error));
console.log(data.inventories);
