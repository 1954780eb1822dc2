// Package browser drives Chromium in tests of pages: it opens pages, reports every fault that the browser logs, and
// presses keys. It is for tests only.
//
// All tests of a test binary share one process. Each page has a browser context of its own, so pages share no cookies,
// storage or cache, and tests can run in parallel.
package browser

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// Variable is the environment variable that makes a missing browser a failure. Its only value is "required".
const Variable = "BERTH_TEST_BROWSER"

const (
	// startTimeout is the maximum duration of the start of the process, and of the start of a page.
	startTimeout = 60 * time.Second
	// actionTimeout is the maximum duration of one action, such as a navigation or a click.
	actionTimeout = 30 * time.Second
)

// programs are the names of Chromium. Chrome has the same protocol, but other fonts settings and versions.
var programs = []string{"chromium", "chromium-browser", "/usr/bin/chromium"}

// Browser is a running Chromium. It is safe for concurrent use.
type Browser struct {
	ctx context.Context
	// directory has the profile and is the home directory of the process.
	directory string
}

// shared starts the browser of the test binary. The process ends with the test binary, because then the kernel closes
// the pipe of the protocol.
var shared = sync.OnceValues(func() (*Browser, error) {
	program, err := find()
	if err != nil {
		return nil, err
	}
	return launch(program)
})

// Start returns the browser of the test binary. It skips the test if there is no Chromium; with
// BERTH_TEST_BROWSER=required the test fails instead.
func Start(t testing.TB) *Browser {
	t.Helper()
	isRequired := false
	switch value := os.Getenv(Variable); value {
	case "":
	case "required":
		isRequired = true
	default:
		t.Fatalf("%s is %q, want \"required\" or nothing", Variable, value)
	}
	b, err := shared()
	switch {
	case errors.Is(err, exec.ErrNotFound) && !isRequired:
		t.Skipf("%s is skipped: %v; install chromium", t.Name(), err)
	case err != nil:
		t.Fatalf("cannot start a browser: %v", err)
	}
	return b
}

// find returns the path of Chromium, or an error that wraps exec.ErrNotFound.
func find() (string, error) {
	for _, name := range programs {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("no program %q: %w", programs[0], exec.ErrNotFound)
}

// launch starts a browser with an empty profile.
func launch(program string) (*Browser, error) {
	directory, err := os.MkdirTemp("", "berth-browser-")
	if err != nil {
		return nil, err
	}
	if err := deleteAtExit(directory); err != nil {
		return nil, errors.Join(err, os.RemoveAll(directory))
	}
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), processOptions(program, directory)...)
	ctx, _ = chromedp.NewContext(ctx)
	timer := time.AfterFunc(startTimeout, cancel)
	defer timer.Stop()
	if err := chromedp.Do(ctx); err != nil {
		cancel()
		return nil, fmt.Errorf("%s: %w", program, err)
	}
	return &Browser{ctx: ctx, directory: directory}, nil
}

// deleteAtExit starts a shell that deletes a directory when this process ends, also after SIGKILL. The shell is in its
// own process group, so Ctrl-C does not end it.
func deleteAtExit(directory string) error {
	// The browser can still write files for a moment.
	const script = `read -r _; for pause in 0.1 0.3 1 3; do sleep "$pause"; rm -rf "$0"; done`
	shell := exec.Command("sh", "-c", script, directory)
	shell.Dir = filepath.Dir(directory)
	detach(shell)
	// The write end stays open as long as this process exists: the file has no finalizer while deleteOnClose refers to it.
	input, err := shell.StdinPipe()
	if err != nil {
		return err
	}
	deleteOnClose = input
	return shell.Start()
}
