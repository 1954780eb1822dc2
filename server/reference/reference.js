// Shows the document of one microversion of an API: the one in the address, else the newest of the Placement API.
"use strict";

const choice = document.getElementById("microversion");
const wanted = new URLSearchParams(location.search).get("microversion");
if ([...choice.options].some((option) => option.value === wanted)) {
  choice.value = wanted;
}

const source = "openapi/" + choice.value + ".json";
document.getElementById("document").href = source;

choice.addEventListener("change", () => {
  // The operation that is open stays open, if the other microversion has it.
  location.search = "?microversion=" + choice.value;
});

// By path, and on a path in the order of a resource's life.
const methods = ["get", "post", "put", "patch", "delete"];

// The address of the server in samples of code.
const sampleAddress = /\bhttp:\/\/127\.0\.0\.1:8778\b/g;

function order(a, b) {
  const [pathA, pathB] = [a.get("path"), b.get("path")];
  if (pathA !== pathB) {
    return pathA < pathB ? -1 : 1;
  }
  return methods.indexOf(a.get("method")) - methods.indexOf(b.get("method"));
}

// On a server without authentication, the page sends the token of an administrator.
const token = document.getElementById("reference").dataset.token;

// withSamples adds the samples of code to the descriptions of their operations, with the address of this server.
function withSamples(spec) {
  const address = new URL(spec.servers[0].url, location.href).href.replace(/\/$/, "");
  for (const path of Object.values(spec.paths)) {
    for (const operation of Object.values(path)) {
      for (const sample of operation["x-codeSamples"] || []) {
        operation.description += "\n\n<details><summary>" + sample.label + "</summary>\n\n```\n" + sample.source.replace(sampleAddress, address) + "\n```\n\n</details>";
      }
    }
  }
  return spec;
}

function show(spec) {
  document.title = "Berth · " + spec.info.title + " " + spec.info.version;
  const shown = SwaggerUIBundle({
    spec: withSamples(withHarmlessExamples(spec)),
    dom_id: "#reference",
    layout: "BaseLayout",
    deepLinking: true,
    docExpansion: "list",
    operationsSorter: order,
    defaultModelsExpandDepth: 0,
    displayRequestDuration: true,
    syntaxHighlight: { theme: "nord" },
    // Nothing is sent anywhere to be validated.
    validatorUrl: null,
    onComplete: () => {
      if (token) {
        shown.preauthorizeApiKey("token", token);
      }
    },
  });
}

fetch(source)
  .then((response) => response.ok ? response.json() : Promise.reject(new Error(response.status + " " + response.statusText)))
  .then(show)
  .catch((error) => {
    document.getElementById("reference").textContent = "Cannot load " + source + ": " + error.message;
  });
