//go:build client

package e2e

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/berthd/berth/internal/test/dbtest"
)

// binary is the program, built once for all tests.
var binary = sync.OnceValues(func() (string, error) {
	directory, err := os.MkdirTemp("", "berth-e2e-")
	if err != nil {
		return "", err
	}
	program := filepath.Join(directory, "berth")
	out, err := exec.Command("go", "build", "-o", program, "github.com/berthd/berth/cmd/berth").CombinedOutput()
	if err != nil {
		return "", &buildError{output: string(out), cause: err}
	}
	return program, nil
})

type buildError struct {
	output string
	cause  error
}

func (e *buildError) Error() string { return e.cause.Error() + ": " + e.output }

func TestMain(m *testing.M) {
	code := m.Run()
	if program, err := binary(); err == nil {
		os.RemoveAll(filepath.Dir(program))
	}
	os.Exit(code)
}

// serve runs `berth serve` on an empty database until the test ends and returns
// the URL that it prints.
func serve(t *testing.T, more ...string) string {
	t.Helper()
	return serveOn(t, dbtest.NewEmpty(t).URL, more...).url
}

// served is a `berth serve`.
type served struct {
	url     string
	command *exec.Cmd
	// killed: its end is no surprise.
	killed bool
}

// kill ends it as a failing machine would.
func (s *served) kill(t *testing.T) {
	t.Helper()
	s.killed = true
	if err := s.command.Process.Kill(); err != nil {
		t.Error(err)
	}
}

// serveOn runs `berth serve` on a database until the test ends.
func serveOn(t *testing.T, database string, more ...string) *served {
	t.Helper()
	program, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	return serveProgram(t, program, database, more...)
}

// serveProgram is serveOn with another build of the server.
func serveProgram(t *testing.T, program, database string, more ...string) *served {
	t.Helper()
	var log bytes.Buffer
	command := exec.Command(program, append([]string{"serve", "--listen", "127.0.0.1:0",
		"--database-url", database, "--access-log=false"}, more...)...)
	command.Env = withoutSettings(os.Environ())
	command.Stderr = &log
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	running := &served{command: command}
	greeting, err := bufio.NewReader(stdout).ReadString('\n')
	t.Cleanup(func() {
		command.Process.Signal(syscall.SIGTERM)
		io.Copy(io.Discard, stdout)
		if err := command.Wait(); err != nil && !running.killed {
			t.Errorf("berth serve ended with %v", err)
		}
		if t.Failed() {
			t.Logf("the log of berth serve:\n%s", log.String())
		}
	})
	url, announced := strings.CutPrefix(strings.TrimSpace(greeting), "Berth is listening on ")
	if err != nil || !announced {
		t.Fatalf("berth serve said %q (%v) instead of where it listens", greeting, err)
	}
	running.url = url
	return running
}

// withoutSettings removes what would change the settings of berth, or of the
// client, from an environment.
func withoutSettings(environ []string) []string {
	var kept []string
	for _, variable := range environ {
		if !strings.HasPrefix(variable, "BERTH_") && !strings.HasPrefix(variable, "PG") && !strings.HasPrefix(variable, "OS_") {
			kept = append(kept, variable)
		}
	}
	return kept
}
