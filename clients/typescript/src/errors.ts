import { baremetalRemedies, codeRemedies, placementRemedies } from "./gen/constants.js";
import type { components } from "./gen/placement.js";

type PlacementError = components["schemas"]["Error"];

/** An error response, or a request without a response. */
export class BerthError extends Error {
  override readonly name = "BerthError";
  /** 0 without a response: `cause` is why. The server may have executed the request. */
  readonly status: number;
  /** Such as `"placement.concurrent_update"`. The Bare Metal API has no codes. */
  readonly code: PlacementError["code"];
  /** What the server states about this request, for people. */
  readonly detail: string;
  /** Finds the request in the log of the server. */
  readonly requestId: string | undefined;
  /** What to do, from the documentation of errors. */
  readonly remedy: string | undefined;
  /** The error of the Placement API with all its members, such as `explanation` and `refused` of a claim. */
  readonly body: PlacementError | undefined;

  private constructor(request: Request | undefined, facts: Facts, cause?: unknown) {
    const { status, code, detail, requestId, remedy } = facts;
    const where = request === undefined ? "" : `${request.method} ${new URL(request.url).pathname}: `;
    const what = [status || undefined, code, detail].filter((part) => part !== undefined && part !== "").join(" ");
    super(where + what + (remedy === undefined ? "" : `; remedy: ${remedy}`) + (requestId === undefined ? "" : ` (${requestId})`), { cause });
    this.status = status;
    this.code = code;
    this.detail = detail;
    this.requestId = requestId;
    this.remedy = remedy;
    this.body = facts.body;
  }

  static withoutResponse(request: Request, cause: unknown): BerthError {
    const detail = `no response from ${new URL(request.url).origin}: ${reasonOf(cause)}`;
    return new BerthError(request, { status: 0, detail, remedy: "check the address and the network; before you repeat a write, read the current state" }, cause);
  }

  /** `body` is the decoded JSON of the response, or its text. */
  static fromResponse(response: Response, body: unknown): BerthError {
    return new BerthError(requests.get(response), read(response, body));
  }

  /** A generation in the request is outdated: read again, decide again, and write with the new generation. */
  get isConcurrentUpdate(): boolean {
    return this.status === 409 && this.code === "placement.concurrent_update";
  }

  /** The outdated generation is that of a consumer: another client manages it, or it exists already. */
  get isConsumerConflict(): boolean {
    // The code is that of providers, too. The phrase is part of the API.
    return this.isConcurrentUpdate && this.detail.includes("consumer generation conflict");
  }

  /** The attempt took longer than the option `timeout`. */
  get isTimeout(): boolean {
    return this.cause instanceof Error && this.cause.name === "TimeoutError";
  }
}

/** Returns the text of the innermost cause: `fetch` says only "fetch failed", its cause names the system error and the address. */
function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  if (cause.cause instanceof Error) return reasonOf(cause.cause);
  if (cause instanceof AggregateError && cause.message === "") return cause.errors.map(reasonOf).join(", ");
  return `${cause.name}: ${cause.message}`;
}

/**
 * Returns the body of a successful response, and throws a `BerthError` for an error response:
 * `const { traits } = await unwrap(placement.GET("/traits"))`.
 */
export async function unwrap<R extends Result>(request: Promise<R>): Promise<Body<R>> {
  const { data, error, response } = await request;
  if (!response.ok) throw BerthError.fromResponse(response, error);
  return data as Body<R>;
}

interface Result {
  data?: unknown;
  error?: unknown;
  response: Response;
}

type Body<R> = R extends { data: infer Data } ? ([Data] extends [never] ? undefined : Data) : never;

/** The requests of responses, for messages. */
const requests = new WeakMap<Response, Request>();

export function rememberRequest(request: Request, response: Response): Response {
  requests.set(response, request);
  return response;
}

interface Facts {
  status: number;
  code?: PlacementError["code"];
  detail: string;
  requestId?: string | undefined;
  remedy?: string | undefined;
  body?: PlacementError;
}

/** Reads the three forms of errors: of the Placement API, of missing authentication, and of the Bare Metal API. */
function read(response: Response, body: unknown): Facts {
  const { status } = response;
  const requestId = response.headers.get("X-OpenStack-Request-ID") ?? undefined;
  const { errors, message, error_message } = (typeof body === "object" && body !== null ? body : {}) as {
    errors?: PlacementError[]; message?: string; error_message?: string;
  };
  const first = errors?.[0];
  if (first !== undefined) {
    // A general sentence, an empty line, and what is specific to this request.
    const [general = "", ...specific] = first.detail.split("\n\n");
    const detail = specific.join("\n\n").trim() || general.trim();
    const remedy = remedyOf(codeRemedies, first.code === "placement.undefined_code" ? undefined : first.code) ?? remedyOf(placementRemedies, status);
    return { status, code: first.code, detail, requestId: first.request_id ?? requestId, remedy, body: first };
  }
  if (error_message !== undefined) {
    return { status, detail: baremetalDetail(error_message), requestId, remedy: remedyOf(baremetalRemedies, status) };
  }
  const detail = message ?? (typeof body === "string" && body !== "" ? body.slice(0, 200) : response.statusText);
  return { status, detail, requestId, remedy: remedyOf(placementRemedies, status) };
}

function baremetalDetail(text: string): string {
  try {
    const { faultstring, description } = JSON.parse(text) as { faultstring?: string; description?: string };
    return faultstring ?? description ?? text;
  } catch {
    return text;
  }
}

function remedyOf(remedies: Record<string, string>, key: string | number | undefined): string | undefined {
  return key === undefined ? undefined : remedies[key];
}
