import type { PlacementClient, PlacementPaths, PlacementSchemas } from "./clients.js";
import { BerthError, unwrap } from "./errors.js";
import { type ConflictRetries, retryWhile } from "./retry.js";

export interface ClaimRequest {
  consumer_uuid: string;
  consumer_type: string;
  project_id: string;
  user_id: string;
  /** The generation that was read. The claim replaces the allocations of the consumer. Default: null, a new consumer. */
  consumer_generation?: number | null;
  /** The parameters of `GET /allocation_candidates`. The default `limit` is 10. */
  query: NonNullable<PlacementPaths["/allocation_candidates"]["get"]["parameters"]["query"]>;
}

/**
 * Searches for allocation candidates, and claims the first one that still fits. If other clients took the capacity of
 * all of them, it searches again. It returns the candidate, or undefined if the search finds none. A conflict of the
 * consumer's generation is thrown, because another client manages the consumer too.
 */
export async function claim(
  placement: PlacementClient, request: ClaimRequest, options: ConflictRetries = {},
): Promise<PlacementSchemas["Candidate"] | undefined> {
  const { consumer_uuid, consumer_generation = null, query, ...owner } = request;
  const params = { path: { consumer_uuid } };
  const search = async () => {
    const found = await unwrap(placement.GET("/allocation_candidates", { params: { query: { limit: 10, ...query } } }));
    let rejected: unknown;
    for (const candidate of found.allocation_requests) {
      const body = { ...candidate, ...owner, consumer_generation };
      const put = () => unwrap(placement.PUT("/allocations/{consumer_uuid}", { params, body }));
      try {
        await retryWhile((error) => error.isConcurrentUpdate && !error.isConsumerConflict, put, options);
        return candidate;
      } catch (error) {
        if (!isCapacityConflict(error)) throw error;
        rejected = error;
      }
    }
    if (rejected !== undefined) throw rejected;
    return undefined;
  };
  return retryWhile(isCapacityConflict, search, options);
}

/** Claims that exceed the capacity or violate the units have no code of their own. */
function isCapacityConflict(error: unknown): boolean {
  return error instanceof BerthError && error.status === 409 && error.code === "placement.undefined_code";
}
