package serve

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

	"github.com/berthd/berth/cmd/berth/config"
	"github.com/berthd/berth/cmd/berth/frame"
)

// drainBundle is a server with one request that runs until the test lets it go.
type drainBundle struct {
	signals  chan os.Signal
	lost     chan struct{}
	draining chan struct{} // closed when a request has arrived
	closed   chan struct{} // the listener was closed
	release  chan struct{} // lets the request finish
	answered chan string   // what the client got
	ended    chan error    // what serveUntilStopped returned
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
	return setupSlowDrain(t, 0, drain)
}

// setupSlowDrain is one that goes on accepting for some time.
func setupSlowDrain(t *testing.T, delay, drain time.Duration) drainBundle {
	t.Helper()
	b := drainBundle{
		signals: make(chan os.Signal, 2), lost: make(chan struct{}), draining: make(chan struct{}), closed: make(chan struct{}), release: make(chan struct{}),
		answered: make(chan string, 1), ended: make(chan error, 1), released: make(chan struct{}),
	}
	f := frame.Frame{Signals: func() (<-chan os.Signal, func()) { return b.signals, func() { close(b.released) } }}
	stop := f.StopOnSignals(t.Context())
	t.Cleanup(stop.Done)
	running := make(chan struct{})
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/short" {
			return
		}
		close(running)
		select {
		case <-b.release:
			_, _ = io.WriteString(w, "whole answer")
		case <-r.Context().Done():
		}
	})
	settings, _, err := loaded(t, config.ForServer, []string{"--listen=127.0.0.1:0"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	doors, err := listen(t.Context(), settings)
	if err != nil {
		t.Fatal(err)
	}
	listener := doors[0].Listener
	b.address = listener.Addr().String()
	serving := &httpServer{
		http:  newHTTPServer(settings, handler, slog.New(slog.DiscardHandler)),
		doors: []boundListener{{Listener: watchedListener{listener, b.closed}}}, draining: b.draining,
		delay: delay, drain: drain, lost: b.lost,
	}
	go func() { b.ended <- serving.serveUntilStopped(stop) }()
	go func() { b.answered <- get(t.Context(), doors[0].url("/")) }()
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

func TestServer_FirstSignal_FinishesRunningRequests(t *testing.T) {
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
func TestServer_IdleConnectionAtStop_DoesNotDelayStop(t *testing.T) {
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

// Load balancers have the delay to notice. Until it is over the server answers every request, and tells the client to
// close the connection.
func TestServer_DrainDelay_AcceptsRequests(t *testing.T) {
	t.Parallel()
	b := setupSlowDrain(t, time.Hour, time.Hour)
	b.signals <- syscall.SIGTERM
	<-b.draining
	response, err := http.Get("http://" + b.address + "/short")
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if !response.Close {
		t.Error("the connection stays open")
	}
	select {
	case <-b.closed:
		t.Error("the listener was closed")
	default:
	}
	b.signals <- syscall.SIGTERM // ends the delay as well
	if err := <-b.ended; err == nil || !strings.Contains(err.Error(), "second signal") {
		t.Errorf("the drain ended with %v", err)
	}
}

// A connection that was made for a request is as good as the request.
func TestServer_NewConnectionAtStop_MaySendRequest(t *testing.T) {
	t.Parallel()
	b := setupDrain(t, 10*time.Second)
	fresh, err := net.Dial("tcp", b.address)
	if err != nil {
		t.Fatal(err)
	}
	defer fresh.Close()
	close(b.release)
	<-b.answered
	// The kernel may take the connection before the server does.
	time.Sleep(50 * time.Millisecond)
	b.signals <- syscall.SIGTERM
	<-b.closed
	if _, err := io.WriteString(fresh, "GET /short HTTP/1.1\r\nHost: here\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if answer, err := io.ReadAll(fresh); err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 200 OK\r\n") {
		t.Errorf("answered %q, %v", answer, err)
	}
	if err := <-b.ended; err != nil {
		t.Errorf("the drain ended with %v", err)
	}
}

func TestServer_SecondSignal_AbortsRequests(t *testing.T) {
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

func TestServer_DrainTimeoutExceeded_AbortsRequests(t *testing.T) {
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

func TestServer_EmbeddedPostgresExits_ServerStops(t *testing.T) {
	t.Parallel()
	b := setupDrain(t, time.Hour)
	close(b.lost)
	if err := <-b.ended; err == nil || !strings.Contains(err.Error(), "PostgreSQL exited") {
		t.Errorf("the server ended with %v", err)
	}
}

func TestServer_ConnectionTimeouts_FollowRequestTimeout(t *testing.T) {
	t.Parallel()
	type limits struct{ header, read, write, idle time.Duration }
	for name, test := range map[string]struct {
		flag string
		want limits
	}{
		"with a limit for requests": {"--request-timeout=1h", limits{10 * time.Second, time.Hour + 10*time.Second, time.Hour + 15*time.Minute + 10*time.Second, 2 * time.Minute}},
		"without one":               {"--request-timeout=0", limits{10 * time.Second, 0, 0, 2 * time.Minute}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			settings, _, err := loaded(t, config.ForServer, []string{test.flag}, nil)
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

func TestServer_PortInUse_ErrorNamesAddressAndFlag(t *testing.T) {
	t.Parallel()
	first, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	settings, _, err := loaded(t, config.ForServer, []string{"--listen", first.Addr().String()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = listen(t.Context(), settings)
	if err == nil || !strings.Contains(err.Error(), first.Addr().String()) || !strings.Contains(err.Error(), "--listen") {
		t.Errorf("got %v", err)
	}
}

// addressOnly is a listener of which only the address matters.
type addressOnly struct{ at net.Addr }

func (addressOnly) Accept() (net.Conn, error) { return nil, net.ErrClosed }
func (addressOnly) Close() error              { return nil }
func (a addressOnly) Addr() net.Addr          { return a.at }

func TestServer_ListenAddress_ShownAsURL(t *testing.T) {
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
		if got := (boundListener{Listener: addressOnly{resolved}}).url("/p"); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
}
