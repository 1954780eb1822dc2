import createClient, { type Client } from "openapi-fetch";
import type { components as BaremetalComponents, paths as BaremetalPaths } from "./gen/baremetal.js";
import { versions } from "./gen/constants.js";
import type { components as PlacementComponents, paths as PlacementPaths } from "./gen/placement.js";
import { createTransport, type TransportOptions } from "./transport.js";

export type { BaremetalPaths, PlacementPaths };

/** The schemas of the OpenAPI documents, by name: `PlacementSchemas["Inventory"]`. */
export type PlacementSchemas = PlacementComponents["schemas"];
export type BaremetalSchemas = BaremetalComponents["schemas"];

export type PlacementClient = Client<PlacementPaths>;
export type BaremetalClient = Client<BaremetalPaths>;

export interface ClientOptions extends TransportOptions {
  /** Address of the server, with the prefix of its `--base-path`. */
  url: string;
  /** Default: the version that the types describe. */
  microversion?: string;
  /**
   * Version of Berth's extensions, such as `"1.3"`; `false`: none, such as for OpenStack Placement and ironic. Default:
   * the version that the types describe, or none with another `microversion`.
   */
  extensions?: string | false;
}

/** Returns a client of the Placement API. */
export function createPlacementClient(options: ClientOptions): PlacementClient {
  return create<PlacementPaths>("placement", options);
}

/** Returns a client of the Bare Metal API. */
export function createBaremetalClient(options: ClientOptions): BaremetalClient {
  return create<BaremetalPaths>("baremetal", options);
}

function create<Paths extends {}>(service: keyof typeof versions, options: ClientOptions): Client<Paths> {
  const newest = versions[service];
  const { url, microversion = newest.microversion } = options;
  const { extensions = microversion === newest.microversion && newest.extensions } = options;
  return createClient<Paths>({
    baseUrl: url,
    headers: versionHeaders(service, microversion, extensions),
    // A redirect to another host must not get the token.
    redirect: "manual",
    // The members of `groups` are query parameters; lists are repeated parameters.
    querySerializer: { object: { style: "form", explode: true } },
    fetch: createTransport(options),
  });
}

function versionHeaders(service: string, microversion: string, extensions: string | false): Record<string, string> {
  if (extensions !== false) return { "OpenStack-API-Version": `${service} ${microversion}, berth ${extensions}` };
  if (service === "baremetal") return { "X-OpenStack-Ironic-API-Version": microversion };
  return { "OpenStack-API-Version": `${service} ${microversion}` };
}
