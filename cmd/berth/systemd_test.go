package main

import (
	"context"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/berthd/berth/server/dbtest"
)

// These tests set variables of the whole process and send it signals, so that they
// cannot run beside others.

func TestSystemdHearsHowTheServerIs(t *testing.T) {
	database := dbtest.NewEmpty(t).URL
	from := notifySocket(t)
	t.Setenv("WATCHDOG_USEC", "30000000")
	b := setupServe(t, "--database-url", database)
	start := heard(t, from, "WATCHDOG=1")
	if !slices.Contains(start, "READY=1") {
		start = append(start, heard(t, from, "READY=1")...)
	}
	if !strings.Contains(strings.Join(start, "\n"), "STATUS=Serving on "+b.url) && !strings.Contains(strings.Join(heard(t, from, "STATUS="), "\n"), b.url) {
		t.Errorf("at the start it heard %q", start)
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if reloading := heard(t, from, "MONOTONIC_USEC="); !slices.Contains(reloading, "RELOADING=1") {
		t.Errorf("on the reload it heard %q", reloading)
	}
	heard(t, from, "READY=1")
	b.signals <- syscall.SIGTERM
	heard(t, from, "STOPPING=1")
	if code := <-b.exit; code != exitFine {
		t.Errorf("exit code %d: %s", code, b.stderr)
	}
}

// TestNoHeartbeatComesFromAServerThatHangs: its handler does not answer.
func TestNoHeartbeatComesFromAServerThatHangs(t *testing.T) {
	from := notifySocket(t)
	t.Setenv("WATCHDOG_USEC", "400000")
	hang := make(chan struct{})
	s := &serving{http: &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-hang:
		case <-r.Context().Done():
		}
	})}, draining: make(chan struct{}), drain: 10 * time.Second}
	signals := make(chan os.Signal, 2)
	p := process{signals: func() (<-chan os.Signal, func()) { return signals, func() {} }}
	stop := p.stopOnSignals(context.Background())
	defer stop.done()
	defer (&supervisor{}).watchServer(t.Context(), s)()
	ended := make(chan error, 1)
	go func() { ended <- s.untilAsked(stop) }()

	if err := from.SetReadDeadline(time.Now().Add(1500 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	message := make([]byte, 100)
	if length, err := from.Read(message); err == nil {
		t.Errorf("it heard %q of a server that hangs", message[:length])
	}
	close(hang)
	heard(t, from, "WATCHDOG=1")
	signals <- syscall.SIGTERM
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
