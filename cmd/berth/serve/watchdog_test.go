package serve

import (
	"context"
	"net/http"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/cmd/berth/open"
	"github.com/berthd/berth/internal/test/capture"
)

// TestSystemd_ServerHangs_NoWatchdogPing: its handler does not answer.
func TestSystemd_ServerHangs_NoWatchdogPing(t *testing.T) {
	from := capture.NotifySocket(t)
	t.Setenv("WATCHDOG_USEC", "400000")
	hang := make(chan struct{})
	s := &httpServer{http: &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-hang:
		case <-r.Context().Done():
		}
	})}, draining: make(chan struct{}), drain: 10 * time.Second}
	signals := make(chan os.Signal, 2)
	f := frame.Frame{Signals: func() (<-chan os.Signal, func()) { return signals, func() {} }}
	stop := f.StopOnSignals(context.Background())
	defer stop.Done()
	defer watchServer(t.Context(), (&open.SystemdNotifier{}), s)()
	ended := make(chan error, 1)
	go func() { ended <- s.serveUntilStopped(stop) }()

	if err := from.SetReadDeadline(time.Now().Add(1500 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	message := make([]byte, 100)
	if length, err := from.Read(message); err == nil {
		t.Errorf("it heard %q of a server that hangs", message[:length])
	}
	close(hang)
	capture.Lines(t, from, "WATCHDOG=1")
	signals <- syscall.SIGTERM
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
