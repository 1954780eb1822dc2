// Runs the scenario with the client of each generator: `node build/src/program.js URL`.

import assert from "node:assert/strict";
import { run } from "./scenario.js";
import * as heyAPI from "./with-hey-api.js";
import * as openapiTypescript from "./with-openapi-typescript.js";
import * as orval from "./with-orval.js";

const url = process.argv[2];
assert(url !== undefined, "give the URL of a running Berth");
for (const [name, generator] of Object.entries({ openapiTypescript, heyAPI, orval })) {
  await run(name, generator.requests(url));
  console.log(`${name}: both APIs responded as expected`);
}
