// Shows the document of one microversion of an API: the one in the address, else the newest of the Placement API.
"use strict";

const choice = document.getElementById("microversion");
const wanted = new URLSearchParams(location.search).get("microversion");
if ([...choice.options].some((option) => option.value === wanted)) {
  choice.value = wanted;
}

// The microversions of one API are listed, those of the others below their names: two short lists instead of one of a hundred.
const api = document.getElementById("api");
const groups = [...choice.querySelectorAll("optgroup")];
const [shownGroup, shownVersion] = [choice.selectedOptions[0].parentElement, choice.value];
for (const group of groups) {
  // Its newest version is the first; with extensions, the last of the Placement API.
  const newest = [...group.children].findLast((option) => option.value.startsWith("berth/placement")) ?? group.children[0];
  api.add(new Option(group.label, newest.value, false, group === shownGroup));
  if (group !== shownGroup) {
    group.remove();
  }
}
choice.replaceChildren(...shownGroup.children);
choice.value = shownVersion;

function goTo(version) {
  // The operation that is open stays open, if the other microversion has it.
  location.search = "?microversion=" + version;
}

api.addEventListener("change", () => goTo(api.value));
choice.addEventListener("change", () => goTo(choice.value));
choice.form.addEventListener("submit", (event) => event.preventDefault());

const source = "openapi/" + choice.value + ".json";
document.getElementById("document").href = source;

// Find shows the operations whose method, path and summary have all words of the field, and the sections that have such ones.
const findField = document.getElementById("find");

function filter() {
  const words = findField.value.toLowerCase().split(/\s+/).filter(Boolean);
  let found = 0;
  for (const section of document.querySelectorAll(".opblock-tag-section")) {
    let here = 0;
    for (const operation of section.querySelectorAll(".opblock")) {
      const text = operation.querySelector(".opblock-summary").textContent.replaceAll("\u200b", "").toLowerCase();
      operation.hidden = !words.every((word) => text.includes(word));
      here += operation.hidden ? 0 : 1;
    }
    section.hidden = words.length > 0 && here === 0;
    found += here;
  }
  document.getElementById("none").textContent = words.length > 0 && found === 0 ? "No operation has these words. Closed sections are not searched." : "";
}

findField.addEventListener("input", filter);

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
      filter();
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
