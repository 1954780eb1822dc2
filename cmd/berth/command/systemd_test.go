package command

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/internal/test/capture"
	"github.com/berthd/berth/internal/test/dbtest"
)

// These tests set environment variables of the process and send it signals, so they cannot run in
// parallel with others.

func TestSystemd_Serve_NotifiesStatus(t *testing.T) {
	database := dbtest.NewEmpty(t).URL
	from := capture.NotifySocket(t)
	t.Setenv("WATCHDOG_USEC", "30000000")
	b := setupServe(t, "--database-url", database)
	start := capture.Lines(t, from, "WATCHDOG=1")
	if !slices.Contains(start, "READY=1") {
		start = append(start, capture.Lines(t, from, "READY=1")...)
	}
	if !strings.Contains(strings.Join(start, "\n"), "STATUS=Serving on "+b.url) && !strings.Contains(strings.Join(capture.Lines(t, from, "STATUS="), "\n"), b.url) {
		t.Errorf("notifications at start = %q", start)
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if reloading := capture.Lines(t, from, "MONOTONIC_USEC="); !slices.Contains(reloading, "RELOADING=1") {
		t.Errorf("notifications on reload = %q", reloading)
	}
	capture.Lines(t, from, "READY=1")
	b.signals <- syscall.SIGTERM
	capture.Lines(t, from, "STOPPING=1")
	if code := <-b.exit; code != frame.ExitOK {
		t.Errorf("exit code %d: %s", code, b.stderr)
	}
}

// TestKeystone_SIGHUP_EmptiesTheTokenCache counts the token validations of a fake Keystone.
func TestKeystone_SIGHUP_EmptiesTheTokenCache(t *testing.T) {
	var validations atomic.Int64
	expires := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	keystone := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			w.Header().Set("X-Subject-Token", "own")
			w.WriteHeader(http.StatusCreated)
		} else {
			validations.Add(1)
		}
		fmt.Fprintf(w, `{"token": {"expires_at": %q, "user": {"id": "u", "domain": {"id": "d"}}, "project": {"id": "p", "domain": {"id": "d"}},
			"roles": [{"name": "admin"}, {"name": "service"}]}}`, expires)
	}))
	defer keystone.Close()
	b := setupServe(t, "--database-url", dbtest.NewEmpty(t).URL, "--auth=keystone", "--keystone-auth-url="+keystone.URL+"/v3",
		"--keystone-username=berth", "--keystone-password=sesame", "--keystone-project-name=service", "--keystone-token-formats=any")
	send := func() {
		t.Helper()
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, b.url+"/resource_providers", http.NoBody)
		r.Header.Set("X-Auth-Token", "t")
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if response.Body.Close(); response.StatusCode != http.StatusOK {
			t.Errorf("status = %d, want %d", response.StatusCode, http.StatusOK)
		}
	}
	send()
	send()
	if got := validations.Load(); got != 1 {
		t.Errorf("validations = %d, want 1", got)
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); !strings.Contains(b.stderr.String(), "emptied the token cache"); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the server did not empty the token cache: %s", b.stderr)
		}
	}
	send()
	if got := validations.Load(); got != 2 {
		t.Errorf("validations = %d, want 2", got)
	}
	b.signals <- syscall.SIGTERM
	if code := <-b.exit; code != frame.ExitOK {
		t.Errorf("exit code %d: %s", code, b.stderr)
	}
}
