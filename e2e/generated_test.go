//go:build client

package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestTheGeneratedClientIsThatOfTheNewestDocument generates it once more, with the
// generator that tools/go.mod names, and compares.
func TestTheGeneratedClientIsThatOfTheNewestDocument(t *testing.T) {
	t.Parallel()
	again := filepath.Join(t.TempDir(), "client.gen.go")
	generate := exec.CommandContext(t.Context(), "go", "tool", "-modfile=tools/go.mod", "oapi-codegen",
		"-config", "gen/client/oapi-codegen.yaml", "-o", again, newestDocument)
	generate.Dir = ".."
	if output, err := generate.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", generate, err, output)
	}
	generated, err := os.ReadFile(again)
	if err != nil {
		t.Fatal(err)
	}
	checkedIn, err := os.ReadFile("../gen/client/client.gen.go")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(generated, checkedIn) {
		t.Errorf("gen/client/client.gen.go is not what %s says; run make generate", newestDocument)
	}
}
