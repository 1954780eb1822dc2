// Writes src/gen: the types of both APIs and their versions, from the newest OpenAPI documents with the extensions,
// and the remedies of errors, from docs/errors.md. `npm run generate` runs it.

import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import openapiTS, { astToString } from "openapi-typescript";

const root = new URL("../../", import.meta.url);
const generated = new URL("src/gen/", import.meta.url);
const versionHeader = "OpenStack-API-Version";

/** Returns the only document of a directory. */
function readDocument(directory) {
  const names = readdirSync(new URL(directory, root)).filter((name) => name.endsWith(".json"));
  assert.equal(names.length, 1, `${directory} has the documents ${names}`);
  return JSON.parse(readFileSync(new URL(directory + names[0], root), "utf8"));
}

/** Removes the version header from the parameters: the client sends it with every request. */
function removeVersionHeader(document) {
  const isVersion = ({ $ref, name }) => name === versionHeader || $ref === `#/components/parameters/${versionHeader}`;
  for (const path of Object.values(document.paths)) {
    for (const item of [path, ...Object.values(path)]) {
      if (Array.isArray(item.parameters)) item.parameters = item.parameters.filter((parameter) => !isVersion(parameter));
    }
  }
  delete document.components.parameters[versionHeader];
}

/** Returns the text of a cell of a Markdown table. */
const plain = (cell) => cell.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1").replaceAll("`", "");

/** Returns the last column of the tables between two headings by the first one; of several rows with the same key, the first. */
function readRemedies(page, from, to) {
  const section = page.slice(page.indexOf(`\n## ${from}\n`), to && page.indexOf(`\n## ${to}\n`));
  const remedies = {};
  for (const [, key, remedy] of section.matchAll(/^\| `?(placement\.[\w.]+|berth\.[\w.]+|\d{3})`? \|.*\| (.*) \|$/gm)) {
    remedies[key] ??= plain(remedy);
  }
  assert(Object.keys(remedies).length > 0, `docs/errors.md has no errors below ${from}`);
  return remedies;
}

mkdirSync(generated, { recursive: true });
const versions = {};
for (const api of ["placement", "baremetal"]) {
  const document = readDocument(`openapi/berth/${api}/`);
  // "placement 1.39, berth 1.7"
  const [, microversion, extensions] = /^\w+ ([\d.]+), berth ([\d.]+)$/.exec(document.components.schemas.Microversion.const);
  versions[api] = { microversion, extensions };
  removeVersionHeader(document);
  writeFileSync(new URL(`${api}.ts`, generated), astToString(await openapiTS(document)));
}
const constants = { versions };
const errors = readFileSync(new URL("docs/errors.md", root), "utf8");
constants.codeRemedies = readRemedies(errors, "Codes of OpenStack Placement", "Errors by status");
constants.placementRemedies = readRemedies(errors, "Errors by status", "Bare Metal API");
constants.baremetalRemedies = { ...constants.placementRemedies, ...readRemedies(errors, "Bare Metal API") };
writeFileSync(new URL("constants.ts", generated), Object.entries(constants).map(([name, value]) =>
  `export const ${name} = ${JSON.stringify(value, undefined, 2)};\n`).join("\n"));
