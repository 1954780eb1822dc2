//go:build client

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/berthd/berth/internal/test/dbtest"
)

// runWait bounds each wait of TestRun_ServeKilledAndRestarted_KeepsPlaces.
const runWait = 3 * time.Minute

// awaitFile waits until a file has a text.
func awaitFile(t *testing.T, path, text string) {
	t.Helper()
	for end := time.Now().Add(runWait); ; time.Sleep(50 * time.Millisecond) {
		content, _ := os.ReadFile(path) // it does not exist yet
		if strings.Contains(string(content), text) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s has %q after %v, and not %q", path, content, runWait, text)
		}
	}
}

// TestRun_ServeKilledAndRestarted_KeepsPlaces kills the server while a job runs and another one waits for its GPU. A third one
// starts without a server.
func TestRun_ServeKilledAndRestarted_KeepsPlaces(t *testing.T) {
	t.Parallel()
	database, address, directory := dbtest.NewEmpty(t).URL, freeAddress(t), t.TempDir()
	url := "http://" + address
	server := serveOn(t, database, "--listen", address)
	berth(t, "provider", "create", "gpu-1", "--url", url)
	berth(t, "inventory", "set", "gpu-1", "--resource", "PGPU=1", "--url", url)
	start := func(name string, arguments ...string) *exec.Cmd {
		t.Helper()
		log, err := os.Create(filepath.Join(directory, name+".log"))
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		command := berthCommand(t, append([]string{"run", "--url", url, "--resources", "PGPU=1", "--lease", "10m", "--wait", "1h", "--"}, arguments...)...)
		command.Stdout, command.Stderr, command.Dir = log, log, directory
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = command.Process.Kill() })
		return command
	}
	logOf := func(name string) string { return filepath.Join(directory, name+".log") }
	// Each job fails if another one has the GPU.
	const job = "mkdir running && echo started && until [ -e end ]; do sleep 0.05; done && rmdir running && echo ended"
	first := start("first", "sh", "-c", job)
	awaitFile(t, logOf("first"), "started")
	second := start("second", "sh", "-c", job)
	awaitFile(t, logOf("second"), "waiting: Nothing fits.")
	server.kill(t)
	_ = server.command.Wait() // it was killed
	awaitFile(t, logOf("second"), "waiting: no server answers at "+url)
	third := start("third", "sh", "-c", job)
	awaitFile(t, logOf("third"), "waiting: no server answers at "+url)
	serveOn(t, database, "--listen", address)
	awaitFile(t, logOf("third"), "waiting: Nothing fits.")
	if err := os.WriteFile(filepath.Join(directory, "end"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, command := range map[string]*exec.Cmd{"first": first, "second": second, "third": third} {
		late := time.AfterFunc(runWait, func() { _ = command.Process.Kill() })
		err := command.Wait()
		late.Stop()
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		awaitFile(t, logOf(name), "ended")
	}
	if printed, err := berthCommand(t, "consumer", "list", "--url", url, "--output", "csv").Output(); err != nil || strings.Count(string(printed), "\n") != 1 {
		t.Errorf("consumers after the jobs: %s, %v", printed, err)
	}
}
