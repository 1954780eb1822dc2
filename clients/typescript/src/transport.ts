import { BerthError, rememberRequest } from "./errors.js";
import { sleep } from "./retry.js";

export interface TransportOptions {
  /** Sent as `X-Auth-Token`. A function is called before each attempt, so that it can renew the token. */
  token?: string | (() => string | Promise<string>);
  /** `req-` and a UUID. The server logs it with each request; sent as `X-OpenStack-Request-ID`. */
  globalRequestId?: string;
  /** Milliseconds until an attempt without a complete response fails. Default: 60,000. */
  timeout?: number;
  /** Maximum number of attempts after the first one. Default: 3. */
  retries?: number;
  /** Maximum delay in milliseconds before the first retry without `Retry-After`; doubles with each retry. Default: 100. */
  retryDelay?: number;
  /** Default: the global `fetch`. */
  fetch?: (request: Request) => Promise<Response>;
}

/** The transport returns a response with a longer `Retry-After` to the caller. */
const maxRetryDelay = 10_000;

/**
 * Returns a `fetch` that adds the token, and repeats an attempt that may be repeated: every request after 429, which the
 * server sends before it executes a request, and idempotent ones after 502, 503, 504 and network errors.
 */
export function createTransport(options: TransportOptions): (request: Request) => Promise<Response> {
  const { retries = 3, retryDelay = 100 } = options;
  return async (request) => {
    for (let attempt = 0; ; attempt++) {
      const outcome = await send(request, options);
      const isRetried = attempt < retries && isRetryable(request, outcome);
      const delay = retryAfter(outcome) ?? Math.random() * Math.min(retryDelay * 2 ** attempt, maxRetryDelay);
      if (!isRetried || delay > maxRetryDelay) {
        if (outcome instanceof BerthError) throw outcome;
        return outcome;
      }
      await sleep(delay, request.signal);
    }
  };
}

/** Sends a copy of the request. It returns network errors, and throws the reason of the caller's signal. */
async function send(request: Request, options: TransportOptions): Promise<Response | BerthError> {
  const { token, globalRequestId, timeout = 60_000, fetch = globalThis.fetch } = options;
  const sentToken = typeof token === "function" ? await token() : token;
  request.signal.throwIfAborted();
  // AbortSignal.any and AbortSignal.timeout are not used: some releases of Node.js garbage-collect them before they abort.
  const controller = new AbortController();
  const abort = () => controller.abort(request.signal.reason);
  request.signal.addEventListener("abort", abort);
  const timer = setTimeout(() => controller.abort(new DOMException(`no response after ${timeout} ms`, "TimeoutError")), timeout);
  try {
    const attempt = new Request(request.clone(), { signal: controller.signal });
    if (sentToken !== undefined) attempt.headers.set("X-Auth-Token", sentToken);
    if (globalRequestId !== undefined) attempt.headers.set("X-OpenStack-Request-ID", globalRequestId);
    const response = await fetch(attempt);
    // The timeout and the retries include the body.
    const body = await response.arrayBuffer();
    const { status, statusText, headers } = response;
    return rememberRequest(request, new Response(body.byteLength > 0 ? body : null, { status, statusText, headers }));
  } catch (cause) {
    if (request.signal.aborted) throw cause;
    return BerthError.withoutResponse(request, cause);
  } finally {
    clearTimeout(timer);
    request.signal.removeEventListener("abort", abort);
  }
}

function isRetryable(request: Request, outcome: Response | BerthError): boolean {
  if (outcome instanceof BerthError) return !outcome.isTimeout && isIdempotent(request);
  return outcome.status === 429 || [502, 503, 504].includes(outcome.status) && isIdempotent(request);
}

/** A write with a generation is not idempotent: a repetition would get a conflict with itself. */
function isIdempotent({ method, url, headers, body }: Request): boolean {
  const { pathname, searchParams } = new URL(url);
  if (headers.has("Idempotency-Key")) return true;
  switch (method) {
    case "GET":
    case "HEAD":
      return true;
    case "DELETE":
      return !searchParams.has("resource_provider_generation") && !searchParams.has("consumer_generation");
    case "PUT":
      return body === null || pathname.endsWith("/tree");
    default:
      return method === "POST" && ["/allocation_candidates", "/capacity", "/leases"].some((path) => pathname.endsWith(path));
  }
}

/** Returns the milliseconds of the header `Retry-After`: a number of seconds or a date. */
function retryAfter(outcome: Response | BerthError): number | undefined {
  const text = outcome instanceof BerthError ? null : outcome.headers.get("Retry-After");
  if (text === null) return undefined;
  const delay = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now();
  return Number.isNaN(delay) ? undefined : Math.max(0, delay);
}
