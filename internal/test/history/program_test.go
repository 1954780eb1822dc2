package history_test

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// programEdit is a replacement in a Go file of the server, by its path from the root of the repository.
type programEdit struct{ file, old, new string }

// buildMutant builds the server with edited files, which an overlay puts in the place of the originals.
func buildMutant(t *testing.T, edits []programEdit) string {
	t.Helper()
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	replaced := map[string]string{}
	for _, one := range edits {
		original := filepath.Join(root, filepath.FromSlash(one.file))
		if replaced[original] == "" {
			replaced[original] = original
		}
		text, err := os.ReadFile(replaced[original])
		if err != nil {
			t.Fatal(err)
		}
		if strings.Count(string(text), one.old) != 1 {
			t.Fatalf("%s does not contain exactly once %q", one.file, one.old)
		}
		replaced[original] = filepath.Join(folder, strings.ReplaceAll(one.file, "/", "_"))
		if err := os.WriteFile(replaced[original], []byte(strings.Replace(string(text), one.old, one.new, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		t.Fatal(err)
	}
	file, program := filepath.Join(folder, "overlay.json"), filepath.Join(folder, "berth")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-overlay", file, "-o", program, "./cmd/berth")
	build.Dir = root
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, output)
	}
	return program
}

// runProgram runs `berth serve` on a database and returns its URL, and a function that ends it.
func runProgram(t *testing.T, program, database string) (url string, end func()) {
	t.Helper()
	command := exec.Command(program, "serve", "--listen", "127.0.0.1:0", "--database-url", database, "--access-log=false")
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "BERTH_") && !strings.HasPrefix(variable, "PG") && !strings.HasPrefix(variable, "OS_") {
			command.Env = append(command.Env, variable)
		}
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	greeting, err := bufio.NewReader(stdout).ReadString('\n')
	url, found := strings.CutPrefix(strings.TrimSpace(greeting), "Berth is listening on ")
	if err != nil || !found {
		_ = command.Process.Kill()
		t.Fatalf("berth serve printed %q (%v)", greeting, err)
	}
	return url, func() {
		_ = command.Process.Signal(syscall.SIGTERM) // it may have ended
		_, _ = io.Copy(io.Discard, stdout)
		if err := command.Wait(); err != nil {
			t.Logf("berth serve: %v", err)
		}
	}
}
