export { claim, type ClaimRequest } from "./claim.js";
export {
  type BaremetalClient, type BaremetalPaths, type BaremetalSchemas, type ClientOptions, createBaremetalClient,
  createPlacementClient, type PlacementClient, type PlacementPaths, type PlacementSchemas,
} from "./clients.js";
export { BerthError, unwrap } from "./errors.js";
export { keep, type KeepOptions, LeaseLost } from "./lease.js";
export { type NextPage, nextPage } from "./pages.js";
export { type ConflictRetries, retryOnConflict } from "./retry.js";
export type { TransportOptions } from "./transport.js";
