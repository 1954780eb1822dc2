// What the program and the refusals share: a client whose paths, parameters and
// bodies are those of the OpenAPI document, and the ways to read its answers.

import assert from "node:assert/strict";
import createClient, { type Client } from "openapi-fetch";
import type { components, paths } from "./placement.js";

export type Schemas = components["schemas"];

/** Goes with every request: the document describes this microversion only. */
export const header = { "OpenStack-API-Version": "placement 1.39" } as const;

export function connect(baseUrl: string): Client<paths> {
  return createClient<paths>({
    baseUrl,
    headers: { "X-Auth-Token": "admin", "X-Roles": "admin,service" },
    // Each member of `groups` is a parameter of its own, as the document says.
    querySerializer: { object: { style: "form", explode: true } },
  });
}

/** The part of an answer that the functions below look at. */
interface Answer<Data, Failure> {
  data?: Data;
  error?: Failure;
  response: Response;
}

/** The body of an answer that must be one of success. */
export function got<Data, Failure>(answer: Answer<Data, Failure>): Data {
  const { data, error, response } = answer;
  if (data === undefined) {
    assert.fail(`${response.url} answered ${response.status}: ${JSON.stringify(error)}`);
  }
  return data;
}

/** Checks an answer without a body. */
export function done<Data, Failure>(answer: Answer<Data, Failure>, status: number): void {
  const { error, response } = answer;
  assert.equal(response.status, status, `${response.url}: ${JSON.stringify(error)}`);
}

/** Why a request failed, for programs; undefined where it did not. */
export function codeOf(error: Schemas["Errors"] | Schemas["Unauthorized"] | undefined): Schemas["ErrorCode"] | undefined {
  return error !== undefined && "errors" in error ? error.errors[0]?.code : undefined;
}
