package main

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// drainBundle is a server with one request that runs until the test lets it go.
type drainBundle struct {
	signals  chan os.Signal
	lost     chan struct{}
	closed   chan struct{} // the listener was closed: draining has begun
	release  chan struct{} // lets the request finish
	answered chan string   // what the client got
	ended    chan error    // what serveUntilAsked returned
	released chan struct{} // the signals are no longer caught
	address  string
}

type watchedListener struct {
	net.Listener
	closed chan struct{}
}

func (l watchedListener) Close() error {
	select {
	case <-l.closed:
	default:
		close(l.closed)
	}
	return l.Listener.Close()
}

func setupDrain(t *testing.T, drain time.Duration) drainBundle {
	t.Helper()
	b := drainBundle{
		signals: make(chan os.Signal, 2), lost: make(chan struct{}), closed: make(chan struct{}), release: make(chan struct{}),
		answered: make(chan string, 1), ended: make(chan error, 1), released: make(chan struct{}),
	}
	p := process{signals: func() (<-chan os.Signal, func()) { return b.signals, func() { close(b.released) } }}
	stop := p.stopOnSignals(t.Context())
	t.Cleanup(stop.done)
	running := make(chan struct{})
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(running)
		select {
		case <-b.release:
			_, _ = io.WriteString(w, "whole answer")
		case <-r.Context().Done():
		}
	})
	settings, _, err := loaded(t, forServer, []string{"--listen=127.0.0.1:0"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := listen(t.Context(), settings)
	if err != nil {
		t.Fatal(err)
	}
	b.address = listener.Addr().String()
	server := newHTTPServer(settings, handler, slog.New(slog.DiscardHandler))
	go func() { b.ended <- serveUntilAsked(server, watchedListener{listener, b.closed}, stop, drain, b.lost) }()
	go func() { b.answered <- get(t.Context(), reachableURL(listener.Addr(), "/")) }()
	<-running
	return b
}

// get returns the body, or a word that says there was no answer.
func get(ctx context.Context, url string) string {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err.Error()
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "broken"
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return "broken"
	}
	return string(body)
}

func TestTheFirstSignalLetsRequestsFinish(t *testing.T) {
	t.Parallel()
	b := setupDrain(t, time.Hour)
	b.signals <- syscall.SIGTERM
	<-b.closed
	close(b.release)
	if got := <-b.answered; got != "whole answer" {
		t.Errorf("the running request got %q", got)
	}
	if err := <-b.ended; err != nil {
		t.Errorf("the drain ended with %v", err)
	}
}

// net/http would wait five seconds for the connection, in case it has something to say.
func TestAConnectionThatSaysNothingDoesNotHoldUpTheEnd(t *testing.T) {
	t.Parallel()
	b := setupDrain(t, 2*time.Second)
	silent, err := net.Dial("tcp", b.address)
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	close(b.release)
	<-b.answered
	b.signals <- syscall.SIGTERM
	if err := <-b.ended; err != nil {
		t.Errorf("the drain ended with %v", err)
	}
}

func TestTheSecondSignalBreaksRequestsOff(t *testing.T) {
	t.Parallel()
	b := setupDrain(t, time.Hour)
	b.signals <- syscall.SIGTERM
	<-b.closed
	b.signals <- os.Interrupt
	if got := <-b.answered; got == "whole answer" {
		t.Error("the request was answered")
	}
	if err := <-b.ended; err == nil || !strings.Contains(err.Error(), "second signal") {
		t.Errorf("the drain ended with %v", err)
	}
	<-b.released // a third signal ends the process by itself
}

func TestTheDrainHasALimit(t *testing.T) {
	t.Parallel()
	b := setupDrain(t, 0)
	b.signals <- syscall.SIGTERM
	if err := <-b.ended; err == nil || !strings.Contains(err.Error(), "still running 0s after") {
		t.Errorf("the drain ended with %v", err)
	}
	if got := <-b.answered; got == "whole answer" {
		t.Error("the request was answered")
	}
}

func TestALostDatabaseEndsTheServer(t *testing.T) {
	t.Parallel()
	b := setupDrain(t, time.Hour)
	close(b.lost)
	if err := <-b.ended; err == nil || !strings.Contains(err.Error(), "PostgreSQL ended") {
		t.Errorf("the server ended with %v", err)
	}
}

func TestConnectionsEndSomeTimeAfterTheirRequest(t *testing.T) {
	t.Parallel()
	type limits struct{ header, read, write, idle time.Duration }
	for name, test := range map[string]struct {
		flag string
		want limits
	}{
		"with a limit for requests": {"--request-timeout=1h", limits{10 * time.Second, time.Hour + 10*time.Second, time.Hour + 5*time.Second, 2 * time.Minute}},
		"without one":               {"--request-timeout=0", limits{10 * time.Second, 0, 0, 2 * time.Minute}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			settings, _, err := loaded(t, forServer, []string{test.flag}, nil)
			if err != nil {
				t.Fatal(err)
			}
			s := newHTTPServer(settings, nil, slog.New(slog.DiscardHandler))
			if got := (limits{s.ReadHeaderTimeout, s.ReadTimeout, s.WriteTimeout, s.IdleTimeout}); got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

func TestABusyPortIsNamed(t *testing.T) {
	t.Parallel()
	first, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	settings, _, err := loaded(t, forServer, []string{"--listen", first.Addr().String()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = listen(t.Context(), settings)
	if err == nil || !strings.Contains(err.Error(), first.Addr().String()) || !strings.Contains(err.Error(), "--listen") {
		t.Errorf("got %v", err)
	}
}

func TestTheURLCanBeOpened(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"127.0.0.1:8778": "http://127.0.0.1:8778/p",
		"[::1]:8778":     "http://[::1]:8778/p",
		"0.0.0.0:8778":   "http://localhost:8778/p",
		"[::]:8778":      "http://localhost:8778/p",
	} {
		resolved, err := net.ResolveTCPAddr("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		if got := reachableURL(resolved, "/p"); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
}
