import type { PlacementClient, PlacementSchemas } from "./clients.js";
import { BerthError, unwrap } from "./errors.js";
import { sleep } from "./retry.js";

/** Consumers that the server has removed, or may have removed, because their leases were not renewed: their holder must stop. */
export class LeaseLost extends Error {
  override readonly name = "LeaseLost";
  /** The UUIDs of the consumers. */
  readonly consumers: readonly string[];

  constructor(consumers: readonly string[], reason: string, cause?: unknown) {
    super(`the lease is lost: ${reason}: consumers ${consumers.join(", ")}`, { cause });
    this.consumers = consumers;
  }
}

export interface KeepOptions {
  /** Ends the renewals. */
  signal: AbortSignal;
}

/** Maximum number of consumers in a request. */
const maxConsumers = 1_000;

/** Milliseconds before the next attempt after a renewal that failed. */
const retryPause = 1_000;

/**
 * Renews the leases of consumers until the signal aborts, and then resolves. It renews at once, and then whenever a third of the
 * shortest lease has passed. An error of the first renewal is thrown; later ones are repeated, unless the server rejects the
 * request. It does not know the `until` of a lease.
 *
 * It rejects with a LeaseLost if a consumer is gone or has no lease to renew, or if nothing could be renewed for the length of
 * the shortest lease, by the clock of this computer: then the server may have removed it.
 */
export async function keep(placement: PlacementClient, consumers: readonly string[], { signal }: KeepOptions): Promise<void> {
  let deadline: number | undefined;
  let pause = 0;
  while (await isOver(pause, signal) === false) {
    const sent = performance.now();
    try {
      const shortest = await renewBefore(placement, consumers, deadline, signal);
      deadline = sent + shortest;
      pause = shortest / 3;
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof LeaseLost || deadline === undefined || !isRepeated(error)) throw error;
      const left = deadline - performance.now();
      if (left <= 0) throw new LeaseLost(consumers, "nothing could be renewed in time", error);
      pause = Math.min(retryPause, left);
    }
  }
}

/** Waits, and returns whether the signal has aborted. */
async function isOver(pause: number, signal: AbortSignal): Promise<boolean> {
  if (!signal.aborted) await sleep(pause, signal).catch(() => {});
  return signal.aborted;
}

/** Renews all leases with a time limit before the deadline, so that there is time for another attempt. It returns the shortest. */
async function renewBefore(
  placement: PlacementClient, consumers: readonly string[], deadline: number | undefined, signal: AbortSignal,
): Promise<number> {
  const controller = new AbortController();
  const abort = () => controller.abort(signal.reason);
  signal.addEventListener("abort", abort);
  const left = deadline === undefined ? Infinity : deadline - performance.now();
  const limit = Math.max(left / 2, Math.min(left, retryPause));
  const timer = limit < Infinity ? setTimeout(abort, limit) : undefined;
  try {
    let shortest = Infinity;
    for (let from = 0; from < consumers.length; from += maxConsumers) {
      const body = { consumers: consumers.slice(from, from + maxConsumers) };
      const renewed = leasesOf(await unwrap(placement.POST("/leases", { body, signal: controller.signal })));
      const lost = [...renewed.gone, ...renewed.without];
      if (lost.length > 0) throw new LeaseLost(lost, "removed, or without a lease to renew");
      for (const { seconds } of Object.values(renewed.renewed)) shortest = Math.min(shortest, seconds * 1000);
    }
    return Math.min(shortest, maxTimeout);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", abort);
  }
}

/** The longest delay of `setTimeout`. */
const maxTimeout = 2 ** 31 - 1;

type Renewed = PlacementSchemas["LeasesRenewed"];

/** The response is a union, because a dry run has another one. */
function leasesOf(response: Renewed | object): Renewed {
  if ("renewed" in response) return response;
  throw new TypeError("POST /leases: no renewed leases in the response");
}

/** A renewal may succeed later after all errors but those that reject the request. */
function isRepeated(error: unknown): boolean {
  if (!(error instanceof BerthError)) return true;
  return error.status === 0 || error.status >= 500 || [401, 409, 429].includes(error.status);
}
