//go:build client

package e2e

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestOpenAPI_GeneratedClients_MatchDocuments generates it once more, with the
// generator that tools/go.mod names, and compares.
func TestOpenAPI_GeneratedClients_MatchDocuments(t *testing.T) {
	t.Parallel()
	const generated = "gen/client/client.gen.go"
	want := generateClient(t, newestExtensions)
	checkedIn, err := os.ReadFile(filepath.Join("..", generated))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, checkedIn) {
		t.Errorf("%s is not what %s says; run make generate", generated, newestExtensions)
	}
}

// TestOpenAPI_ExtensionClients_SearchForCandidates generates a Go client from the document of the extensions and runs a
// program with it. Go reads the client from a temporary file that an overlay adds to the package of the program.
func TestOpenAPI_ExtensionClients_SearchForCandidates(t *testing.T) {
	t.Parallel()
	program, err := filepath.Abs("testdata/extensions")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	generated, overlay := filepath.Join(folder, "client.go"), filepath.Join(folder, "overlay.json")
	source := bytes.Replace(generateClient(t, newestExtensions), []byte("\npackage client\n"), []byte("\npackage main\n"), 1)
	replaced, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(program, "client.gen.go"): generated}})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{generated: source, overlay: replaced} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := exec.CommandContext(t.Context(), "go", "run", "-overlay", overlay, program, serve(t))
	run.Env = withoutSettings(os.Environ())
	if output, err := run.CombinedOutput(); err != nil || string(output) != "all results were as expected\n" {
		t.Errorf("%v:\n%s", err, output)
	}
}

// generateClient returns the client that oapi-codegen generates from a document. Documents of other versions lack schemas
// that the overlay of gen/client names.
func generateClient(t *testing.T, document string) []byte {
	t.Helper()
	generated, config := filepath.Join(t.TempDir(), "client.go"), "gen/client/oapi-codegen.yaml"
	if document != newestExtensions {
		text := readFrom(t, repository(), config)
		lenient := strings.Replace(text, "path: gen/client/overlay.yaml", "path: gen/client/overlay.yaml\n    strict: false", 1)
		if config = filepath.Join(t.TempDir(), "config.yaml"); lenient == text {
			t.Fatal("the configuration has no overlay")
		}
		if err := os.WriteFile(config, []byte(lenient), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	generate := exec.CommandContext(t.Context(), "go", "tool", "-modfile=tools/go.mod", "oapi-codegen", "-config", config, "-o", generated, document)
	generate.Dir = ".."
	if output, err := generate.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", generate, err, output)
	}
	source, err := os.ReadFile(generated)
	if err != nil {
		t.Fatal(err)
	}
	return source
}

// TestOpenAPI_Document30_GeneratesGoClients generates Go clients of both APIs from the documents that a server has in
// OpenAPI 3.0, with a generator that reads 3.0, and compiles them.
func TestOpenAPI_Document30_GeneratesGoClients(t *testing.T) {
	t.Parallel()
	url := serve(t)
	for _, name := range []string{"latest", "baremetal/latest", "berth/placement-latest", "berth/baremetal-latest"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			document := filepath.Join(t.TempDir(), "document.json")
			fetchTo(t, url+"/openapi/"+name+".json?openapi=3.0", document)
			generated, overlay := document+".go", document+".overlay"
			if err := os.WriteFile(generated, generateClient(t, document), 0o600); err != nil {
				t.Fatal(err)
			}
			// Go finds the modules that the client imports from a folder of the repository.
			place, err := filepath.Abs("testdata/generated/client.go")
			if err != nil {
				t.Fatal(err)
			}
			replaced, err := json.Marshal(map[string]any{"Replace": map[string]string{place: generated}})
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(overlay, replaced, 0o600); err != nil {
				t.Fatal(err)
			}
			build := exec.CommandContext(t.Context(), "go", "build", "-overlay", overlay, filepath.Dir(place))
			if output, err := build.CombinedOutput(); err != nil {
				t.Errorf("%v:\n%.2000s", err, output)
			}
		})
	}
}

// fetchTo writes the body of a response to a file.
func fetchTo(t *testing.T, url, file string) {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	content, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: status %d, %v", url, answer.StatusCode, err)
	}
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
}
