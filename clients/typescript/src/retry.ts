import { BerthError } from "./errors.js";

export interface ConflictRetries {
  /** Maximum number of calls after the first one. Default: 3. */
  retries?: number;
  /** Maximum delay in milliseconds before the first retry; grows by the same amount with each retry. Default: 1,000. */
  delay?: number;
  /** Ends the delays, and rejects with its reason. */
  signal?: AbortSignal;
}

/**
 * Calls `update` until it succeeds, and again after a 409 with the code `placement.concurrent_update`. `update` reads
 * the provider or the consumer, decides, and writes with the generation that it has read: the same request again would
 * have the same conflict. It must throw errors, as `unwrap` does. Other errors, such as too little capacity, are thrown
 * at once.
 */
export function retryOnConflict<Value>(update: () => Promise<Value>, options: ConflictRetries = {}): Promise<Value> {
  return retryWhile((error) => error.isConcurrentUpdate, update, options);
}

/** Calls `run` again after the errors that `isRetryable` selects. */
export async function retryWhile<Value>(
  isRetryable: (error: BerthError) => boolean, run: () => Promise<Value>, options: ConflictRetries,
): Promise<Value> {
  const { retries = 3, delay = 1_000, signal } = options;
  for (let attempt = 1; ; attempt++) {
    try {
      return await run();
    } catch (error) {
      if (attempt > retries || !(error instanceof BerthError && isRetryable(error))) throw error;
    }
    await sleep(Math.random() * attempt * delay, signal);
  }
}

/** Waits for some milliseconds. It rejects with the reason of the signal if that aborts first. */
export function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, milliseconds);
    signal?.addEventListener("abort", abort, { once: true });
  });
}
