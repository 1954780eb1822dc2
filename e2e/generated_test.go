//go:build client

package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestTheGeneratedClientIsThatOfTheNewestDocument generates both once more, with the
// generator that tools/go.mod names, and compares.
func TestTheGeneratedClientIsThatOfTheNewestDocument(t *testing.T) {
	t.Parallel()
	for generated, document := range map[string]string{
		"gen/client/client.gen.go":       newestDocument,
		"gen/baremetal/baremetal.gen.go": "openapi/baremetal/1.82.json",
	} {
		again := filepath.Join(t.TempDir(), "again.go")
		generate := exec.CommandContext(t.Context(), "go", "tool", "-modfile=tools/go.mod", "oapi-codegen",
			"-config", filepath.Join(filepath.Dir(generated), "oapi-codegen.yaml"), "-o", again, document)
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
			t.Errorf("%s is not what %s says; run make generate", generated, document)
		}
	}
}
