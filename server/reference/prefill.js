// Changes a document for the page, so that a request that is sent as the page fills it in changes nothing, or fails. The
// page fills in the examples of parameters. An example of an optional parameter becomes a part of its description; so does
// that of a path of an operation that writes, and the reader types the name of what the operation changes.
"use strict";

// Examples that the page fills in although their parameters are optional: without them, the request is invalid or a write
// is carried out.
const filledIn = { "candidate-list": ["resources"], "node-validate-any": ["node"] };

function isFilledIn(operation, method, parameter) {
  if (parameter.in === "path") {
    return method === "get";
  }
  return parameter.required || parameter.name === "dry_run" || (filledIn[operation.operationId] || []).includes(parameter.name);
}

function exampleText(example) {
  return typeof example === "object" ? JSON.stringify(example) : String(example);
}

// withHarmlessExamples returns the document that the page shows.
function withHarmlessExamples(source) {
  const shown = structuredClone(source);
  for (const path of Object.values(shown.paths)) {
    for (const [method, operation] of Object.entries(path)) {
      for (const parameter of operation.parameters || []) {
        if (!("example" in parameter) || isFilledIn(operation, method, parameter)) {
          continue;
        }
        const text = exampleText(parameter.example);
        parameter.description = [parameter.description, text && "Example: `" + text + "`"].filter(Boolean).join("\n\n");
        delete parameter.example;
        if (parameter.schema && parameter.schema.type === "object") {
          // Without an example, the page invents members.
          parameter.example = {};
        }
      }
    }
  }
  return shown;
}
