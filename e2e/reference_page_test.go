//go:build client

package e2e

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// prefillProgram loads the script of the page and returns a document as the page shows it.
const prefillProgram = `
const assert = require("node:assert/strict");
const fs = require("node:fs");
require("node:vm").runInThisContext(fs.readFileSync(process.argv[1], "utf8"));
const prefilled = {};
for (const file of process.argv.slice(2)) {
  const source = JSON.parse(fs.readFileSync(file, "utf8"));
  const before = JSON.stringify(source);
  const shown = withHarmlessExamples(source);
  assert.equal(JSON.stringify(source), before, "the document itself is unchanged");
  for (const path of Object.values(shown.paths)) {
    for (const [method, operation] of Object.entries(path)) {
      for (const parameter of operation.parameters ?? []) {
        if (parameter.example === undefined || parameter.in === "header" && parameter.required) {
          continue;
        }
        if (typeof parameter.example === "object" && Object.keys(parameter.example).length === 0) {
          continue; // nothing is sent
        }
        (prefilled[parameter.in + " " + (method === "get" ? "get" : "write")] ??= new Set()).add(parameter.name);
      }
    }
  }
  const list = shown.paths["/resource_providers"];
  if (list) {
    const name = list.get.parameters.find((parameter) => parameter.name === "name");
    assert.ok(name.description.endsWith("Example: ` + "`compute-17`" + `"), name.description);
  }
}
for (const kind of Object.keys(prefilled).sort()) {
  console.log(kind + ": " + [...prefilled[kind]].sort().join(" "));
}
`

// TestDocs_APIReference_PrefillsHarmlessFields runs the script of /docs on the newest documents: it fills in the
// parameters that reads require, dry runs of writes, and no name of a resource that a request would change.
func TestDocs_APIReference_PrefillsHarmlessFields(t *testing.T) {
	t.Parallel()
	arguments := []string{"--eval", prefillProgram, filepath.Join("..", "server/reference/prefill.js")}
	for _, document := range []string{newestDocument, newestExtensions, newestBaremetal, newestBaremetalExtensions} {
		arguments = append(arguments, filepath.Join("..", document))
	}
	output, err := exec.CommandContext(t.Context(), "node", arguments...).CombinedOutput()
	const want = "path get: allocation consumer_uuid driver hostname name node port request_id resource_class uuid\n" +
		"query get: node project_id resources\n" +
		"query write: dry_run\n"
	if err != nil || string(output) != want {
		t.Errorf("%v: prefilled\n%swant\n%s", err, output, want)
	}
}
