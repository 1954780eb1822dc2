//go:build client

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The documents that clients are generated from: the newest microversion, without and with the extensions.
const (
	newestDocument   = "openapi/placement/1.39.json"
	newestExtensions = "openapi/berth/placement/1.4.json"
)

// TestOpenAPI_TypeScriptClient_CompilesAndRuns holds the documents against a second generator: the
// types are generated, a program is checked against them together with lines that
// must not compile, and runs against `berth serve`. It asserts its results itself.
func TestOpenAPI_TypeScriptClient_CompilesAndRuns(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatalf("%v: install nodejs, 18.17 or newer, and npm", err)
		}
	}
	folder := typescript(t)
	run := func(program string, args ...string) string {
		t.Helper()
		command := exec.CommandContext(t.Context(), program, args...)
		command.Dir = folder
		command.Env = append(withoutSettings(os.Environ()), "npm_config_update_notifier=false", "NO_COLOR=1")
		output, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", command, err, output)
		}
		return string(output)
	}
	run("npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts")
	run("npm", "run", "generate")
	run("npm", "run", "check")
	run("npm", "run", "build")
	if said := run("npm", "run", "--silent", "start", "--", serve(t)); strings.TrimSpace(said) != "all results were as expected" {
		t.Errorf("the program said %q", said)
	}
}

// typescript copies the program and the document into a folder of the test's own,
// as they stand to each other here, so that nothing is installed among the sources.
func typescript(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	copied := func(name string) {
		t.Helper()
		content, err := os.ReadFile(filepath.Join("..", name))
		if err != nil {
			t.Fatal(err)
		}
		target := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(target, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	copied(newestDocument)
	copied(newestExtensions)
	for _, name := range []string{
		".npmrc", "package.json", "package-lock.json", "tsconfig.json", "src/client.ts", "src/extensions.ts", "src/program.ts", "src/refused.ts",
	} {
		copied(filepath.Join("e2e/typescript", name))
	}
	return filepath.Join(root, "e2e/typescript")
}
