// What the types must refuse. Each directive is an error of its own where the line
// below it compiles. Nothing here runs.

import { codeOf, connect, got, header, type Schemas } from "./client.js";

export async function refused(): Promise<void> {
  const placement = connect("http://127.0.0.1:8778");
  const path = { uuid: "c0ffee00-5ca1-4b1e-8000-000000000001" };
  const inventories = "/resource_providers/{uuid}/inventories";
  const claims = "/allocations/{consumer_uuid}";
  const consumer = { header, path: { consumer_uuid: path.uuid } };
  const owner = { consumer_type: "INSTANCE", project_id: "mercury", user_id: "ada" };

  // @ts-expect-error there is no such path
  await placement.GET("/resource_provider", { params: { header } });
  // @ts-expect-error the path has no such method
  await placement.POST("/allocation_candidates", { params: { header } });
  // @ts-expect-error the microversion is missing
  await placement.GET("/traits");
  // @ts-expect-error it is another microversion
  await placement.GET("/traits", { params: { header: { "OpenStack-API-Version": "placement 1.38" } } });
  // @ts-expect-error the provider in the path is missing
  await placement.GET("/resource_providers/{uuid}", { params: { header } });
  // @ts-expect-error there is no such parameter
  await placement.GET("/resource_providers", { params: { header, query: { color: "blue" } } });
  // @ts-expect-error a parameter that must be given is missing
  await placement.GET("/usages", { params: { header, query: {} } });
  // @ts-expect-error it is one of two words
  await placement.GET("/allocation_candidates", { params: { header, query: { group_policy: "apart" } } });
  // @ts-expect-error it is a list
  await placement.GET("/allocation_candidates", { params: { header, query: { required: "CUSTOM_FAST" } } });

  // @ts-expect-error the body is missing
  await placement.POST("/resource_providers", { params: { header } });
  // @ts-expect-error the name is missing
  await placement.POST("/resource_providers", { params: { header }, body: { uuid: path.uuid } });

  const generation = { resource_provider_generation: 1 };
  // @ts-expect-error the generation is missing
  await placement.PUT(inventories, { params: { header, path }, body: { inventories: {} } });
  // @ts-expect-error a total is a number
  await placement.PUT(inventories, { params: { header, path }, body: { ...generation, inventories: { VCPU: { total: "8" } } } });
  // @ts-expect-error the total is missing
  await placement.PUT(inventories, { params: { header, path }, body: { ...generation, inventories: { VCPU: {} } } });

  // @ts-expect-error the generation is a number or null, and must be given
  await placement.PUT(claims, { params: consumer, body: { allocations: {}, ...owner } });
  // @ts-expect-error amounts are numbers
  await placement.PUT(claims, { params: consumer, body: { allocations: { [path.uuid]: { resources: { VCPU: "1" } } }, consumer_generation: null, ...owner } });
  // @ts-expect-error groups are served by lists of providers
  await placement.PUT(claims, { params: consumer, body: { allocations: {}, consumer_generation: null, ...owner, mappings: { _NET: path.uuid } } });

  // openapi-fetch takes a literal body with more members than it has, so these are
  // refused where a body is declared.
  // @ts-expect-error there is no such property
  const provider: Schemas["ProviderCreate"] = { name: "compute-1", color: "blue" };
  await placement.POST("/resource_providers", { params: { header }, body: provider });
  // @ts-expect-error there is no such property
  const record: Schemas["InventoryRecord"] = { total: 8, free: 8 };
  await placement.PUT(inventories, { params: { header, path }, body: { ...generation, inventories: { VCPU: record } } });

  const shown = await placement.GET("/resource_providers/{uuid}", { params: { header, path } });
  // @ts-expect-error the answer may be a failure
  shown.data.name;
  // @ts-expect-error a root has no parent
  got(shown).parent_provider_uuid.length;
  // @ts-expect-error there is no such code
  codeOf(shown.error) === "placement.concurent_update";
}
