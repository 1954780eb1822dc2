package command

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/internal/test/capture"
)

// silentListener returns the address of a listener that never sends data. The kernel accepts its
// connections.
func silentListener(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	return listener.Addr().String()
}

// servedBundle is `berth serve` in the process of the test.
type servedBundle struct {
	url     string
	greeted []string
	// later is what the server prints after the lines of greeted.
	later   *capture.Text
	signals chan os.Signal
	exit    chan int
	stderr  *capture.Text
}

func setupServe(t *testing.T, arguments ...string) servedBundle {
	t.Helper()
	stdout, printed := io.Pipe()
	b := servedBundle{later: new(capture.Text), signals: make(chan os.Signal, 2), exit: make(chan int, 1), stderr: new(capture.Text)}
	f := frame.Frame{
		Stdout: printed, Stderr: b.stderr,
		Signals: func() (<-chan os.Signal, func()) { return b.signals, func() {} },
	}
	go func() {
		b.exit <- Run(t.Context(), &f, append([]string{"serve", "--listen=127.0.0.1:0"}, arguments...))
		printed.Close()
	}()
	lines := bufio.NewScanner(stdout)
	ready := false
	for !ready && lines.Scan() { // the last line names the database; that of the console may be missing
		b.greeted = append(b.greeted, lines.Text())
		ready = strings.HasPrefix(lines.Text(), "Database:")
	}
	go io.Copy(b.later, stdout)
	if !ready {
		t.Fatalf("exit code %d before the server listened: %s", <-b.exit, b.stderr)
	}
	b.url = strings.TrimPrefix(b.greeted[0], "Berth is listening on ")
	return b
}

// privateDirectory returns a directory that the account of an embedded PostgreSQL can access, because
// testing creates the parent directory for the owner only.
func privateDirectory(t *testing.T) string {
	t.Helper()
	directory := t.TempDir()
	if err := os.Chmod(filepath.Dir(directory), 0o755); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(directory, "pg")
}

func TestServer_EmptyDataDir_StartsAndServes(t *testing.T) {
	t.Parallel()
	dataDir := privateDirectory(t)
	b := setupServe(t, "--data-dir", dataDir)
	if want := "Try it:         curl -H 'X-Auth-Token: admin' " + b.url + "/resource_providers"; b.greeted[3] != want {
		t.Errorf("printed %q, want %q", b.greeted[3], want)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.url+"/resource_providers", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-Auth-Token", "admin")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	response.Body.Close()
	if err != nil || response.StatusCode != http.StatusOK || strings.ReplaceAll(string(body), " ", "") != "{\"resource_providers\":[]}\n" {
		t.Errorf("status %d, body %q, error %v", response.StatusCode, body, err)
	}

	// A second server on the same data directory fails.
	second := runCommand(t, nil, "serve", "--listen=127.0.0.1:0", "--data-dir", dataDir)
	if second.code != frame.ExitFailed || !strings.Contains(second.stderr, "in use by another berth") {
		t.Errorf("second server: exit code %d, %s", second.code, second.stderr)
	}

	// Commands that only read succeed while the server runs.
	version := runCommand(t, nil, "db", "version", "--data-dir", dataDir)
	if version.code != frame.ExitOK || strings.TrimSpace(version.stdout) == "0" {
		t.Errorf("db version: exit code %d, %q, %s", version.code, version.stdout, version.stderr)
	}

	b.signals <- syscall.SIGTERM
	if code := <-b.exit; code != frame.ExitOK {
		t.Errorf("exit code %d: %s", code, b.stderr)
	}
	if _, err := os.Stat(filepath.Join(dataDir, "data", "postmaster.pid")); !os.IsNotExist(err) {
		t.Errorf("PostgreSQL was not stopped cleanly: %v", err)
	}
}

func TestServer_SignalDuringStartup_ExitsCleanly(t *testing.T) {
	t.Parallel()
	signals := make(chan os.Signal, 1)
	signals <- syscall.SIGTERM
	stderr := new(capture.Text)
	f := frame.Frame{Stdout: io.Discard, Stderr: stderr, Signals: func() (<-chan os.Signal, func()) { return signals, func() {} }}
	// The database never responds, so that only the signal can end the start.
	listener := silentListener(t)
	code := Run(t.Context(), &f, []string{"serve", "--listen=127.0.0.1:0", "--database-url=postgres://u@" + listener + "/d?sslmode=disable"})
	if code != frame.ExitOK || !strings.Contains(stderr.String(), "stopped before the service was ready") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}
