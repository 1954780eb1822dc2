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
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	protocol "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/chromedp"
)

// Variable is the environment variable that makes a missing browser a failure. Its only value is "required".
const Variable = "BERTH_TEST_BROWSER"

const (
	// startTimeout is the maximum duration of the start of the process, and of the start of a page.
	startTimeout = 60 * time.Second
	// actionTimeout is the default of Options.Timeout.
	actionTimeout = 60 * time.Second
)

// programs are the names of Chromium. A test may have changed PATH.
var programs = []string{"chromium", "chromium-browser", "/usr/bin/chromium"}

// Browser is a running Chromium. It is safe for concurrent use.
type Browser struct {
	ctx context.Context
	// directory has the profile and is the home directory of the process. A shell deletes it when reaper is closed,
	// which the kernel does when this process ends.
	directory string
	reaper    io.Closer
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
	return start(t, os.Getenv(Variable), shared)
}

// start is Start with a value of the variable and the function that starts the browser.
func start(t testing.TB, value string, launched func() (*Browser, error)) *Browser {
	t.Helper()
	if value != "" && value != "required" {
		t.Fatalf("%s is %q, want \"required\" or nothing", Variable, value)
	}
	b, err := launched()
	switch {
	case errors.Is(err, exec.ErrNotFound) && value == "":
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
	reaper, err := startReaper(directory)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(directory))
	}
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), processOptions(program, directory)...)
	ctx, _ = chromedp.NewContext(ctx)
	timer := time.AfterFunc(startTimeout, cancel)
	defer timer.Stop()
	if err := chromedp.Do(ctx); err != nil {
		cancel()
		return nil, errors.Join(fmt.Errorf("%s: %w", program, err), reaper.Close())
	}
	return &Browser{ctx: ctx, directory: directory, reaper: reaper}, nil
}

// Version returns the product and version of the browser, such as "Chrome/156.0.8078.108". Screenshots depend on it.
func (b *Browser) Version(t testing.TB) string {
	t.Helper()
	version, err := chromedp.CallBrowser(b.ctx, protocol.GetVersion, cdp.Empty{})
	if err != nil {
		t.Fatalf("cannot read the version of the browser: %v", err)
	}
	return version.Product
}
