// What the types must reject. Each directive is an error of its own where the line below it compiles. Nothing here runs.

import { type BerthError, createBaremetalClient, createPlacementClient, type PlacementSchemas, unwrap } from "@berthd/client";

export async function rejected(error: BerthError): Promise<void> {
  const options = { url: "http://127.0.0.1:8778", token: "admin" };
  const placement = createPlacementClient(options);
  const baremetal = createBaremetalClient(options);
  const path = { uuid: "c0ffee00-5ca1-4b1e-8000-000000000001" };

  // No version header is needed.
  const { generation, parent_provider_uuid } = await unwrap(placement.GET("/resource_providers/{uuid}", { params: { path } }));
  generation satisfies number;
  (await unwrap(baremetal.DELETE("/v1/nodes/{node}", { params: { path: { node: "rack-7" } } }))) satisfies undefined;

  // @ts-expect-error a root has no parent
  parent_provider_uuid.length;
  // @ts-expect-error the address is missing
  createPlacementClient({ token: "admin" });
  // @ts-expect-error there is no such path
  await placement.GET("/resource_provider");
  // @ts-expect-error the provider in the path is missing
  await placement.GET("/resource_providers/{uuid}");
  // @ts-expect-error the required parameter is missing
  await placement.GET("/usages");
  // @ts-expect-error it is a list
  await placement.GET("/allocation_candidates", { params: { query: { required: "CUSTOM_FAST" } } });
  // @ts-expect-error the consumers are missing
  await placement.POST("/claims", { body: { queries: [] } });
  // @ts-expect-error there is no such property
  const record: PlacementSchemas["InventoryRecord"] = { total: 8, free: 8 };
  // @ts-expect-error the response may be an error
  (await placement.GET("/resource_providers/{uuid}", { params: { path } })).data.name;
  // @ts-expect-error there is no such code
  error.code === "placement.concurent_update";
  // @ts-expect-error it is a path of the Placement API
  await baremetal.GET("/traits");
}
