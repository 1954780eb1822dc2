//go:build client

package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestOpenAPI_GeneratedClients_MatchDocuments generates it once more, with the
// generator that tools/go.mod names, and compares.
func TestOpenAPI_GeneratedClients_MatchDocuments(t *testing.T) {
	t.Parallel()
	const generated = "gen/client/client.gen.go"
	again := filepath.Join(t.TempDir(), "again.go")
	generate := exec.CommandContext(t.Context(), "go", "tool", "-modfile=tools/go.mod", "oapi-codegen",
		"-config", filepath.Join(filepath.Dir(generated), "oapi-codegen.yaml"), "-o", again, newestDocument)
	generate.Dir = ".."
	if output, err := generate.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", generate, err, output)
	}
	want, err := os.ReadFile(again)
	if err != nil {
		t.Fatal(err)
	}
	checkedIn, err := os.ReadFile(filepath.Join("..", generated))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, checkedIn) {
		t.Errorf("%s is not what %s says; run make generate", generated, newestDocument)
	}
}
