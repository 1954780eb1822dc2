package serve

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/berthd/berth/cmd/berth/config"
	"github.com/berthd/berth/cmd/berth/open"
	"github.com/berthd/berth/internal/test/authority"
)

// tlsServer is a server with TLS and one handler, and a configuration that trusts it.
func tlsServer(t *testing.T, change func(*http.Server), handler http.HandlerFunc, arguments ...string) (address string, trusting *tls.Config) {
	t.Helper()
	authority, directory := authority.New(t), t.TempDir()
	cert, key := authority.Pair("server")
	files := []string{filepath.Join(directory, "cert.pem"), filepath.Join(directory, "key.pem")}
	if err := errors.Join(os.WriteFile(files[0], cert, 0o600), os.WriteFile(files[1], key, 0o600)); err != nil {
		t.Fatal(err)
	}
	settings, _, err := loaded(t, config.ForServer, append([]string{"--listen=127.0.0.1:0", "--tls-cert=" + files[0], "--tls-key=" + files[1]}, arguments...), nil)
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	certificates, err := open.LoadCertificates(settings, log)
	if err != nil {
		t.Fatal(err)
	}
	doors, err := listen(t.Context(), settings)
	if err != nil {
		t.Fatal(err)
	}
	server := newHTTPServer(settings, handler, log)
	server.TLSConfig = certificates.Config()
	change(server)
	go func() { _ = doors[0].serve(server) }()
	t.Cleanup(func() { server.Close() })
	return doors[0].Addr().String(), &tls.Config{RootCAs: authority.Pool()}
}

// A handshake has as long as the head of a request, however slowly its bytes come.
func TestLimits_SlowTLSHandshakes_AreEnded(t *testing.T) {
	t.Parallel()
	var limit time.Duration
	address, trusting := tlsServer(t, func(server *http.Server) {
		limit = server.ReadHeaderTimeout
		server.ReadHeaderTimeout = 300 * time.Millisecond // the test has less time
	}, func(http.ResponseWriter, *http.Request) {}, "--request-timeout=0")
	if limit <= 0 || limit > 30*time.Second {
		t.Errorf("a handshake may take %s", limit)
	}
	ended := make(chan error, 100)
	for i := range cap(ended) {
		slow, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer slow.Close()
		if i%2 == 0 { // the others say nothing at all
			go drip(slow)
		}
		go func() {
			_ = slow.SetReadDeadline(time.Now().Add(20 * time.Second))
			_, err := io.ReadAll(slow)
			ended <- err
		}()
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: trusting}, Timeout: 10 * time.Second}
	defer client.CloseIdleConnections()
	response, err := client.Get("https://" + address + "/")
	if err != nil {
		t.Fatalf("beside slow handshakes: %v", err)
	}
	response.Body.Close()
	for range cap(ended) {
		if err := <-ended; errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatal("a slow handshake was not ended")
		}
	}
}

// drip sends the beginning of a ClientHello, a byte at a time, until it cannot.
func drip(to net.Conn) {
	hello := append([]byte{0x16, 0x03, 0x01, 0x40, 0x00}, bytes.Repeat([]byte{0}, 0x4000)...)
	for i := range hello {
		if _, err := to.Write(hello[i : i+1]); err != nil {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// stuckHandler counts the requests that run, and lets none of them end.
type stuckHandler struct {
	running, most atomic.Int64
	release       chan struct{}
}

func (h *stuckHandler) serve(http.ResponseWriter, *http.Request) {
	now := h.running.Add(1)
	for most := h.most.Load(); now > most && !h.most.CompareAndSwap(most, now); most = h.most.Load() {
	}
	<-h.release
	h.running.Add(-1)
}

const testStreams = 10

func floodServer(t *testing.T) (*stuckHandler, *streams) {
	t.Helper()
	stuck := &stuckHandler{release: make(chan struct{})}
	address, trusting := tlsServer(t, func(*http.Server) {}, stuck.serve, "--max-streams=10")
	t.Cleanup(func() { close(stuck.release) })
	return stuck, dialStreams(t, address, trusting)
}

// A connection has its number of streams, and says so; more are refused.
func TestLimits_HTTP2StreamFlood_IsRefused(t *testing.T) {
	t.Parallel()
	stuck, client := floodServer(t)
	settings, err := client.until(frameSettings)
	if announced := settings.setting(settingMaxStreams); err != nil || announced != testStreams {
		t.Errorf("the server announces %d streams, want %d: %v", announced, testStreams, err)
	}
	if err := client.write(http2Frame{kind: frameSettings, flags: flagAck}); err != nil {
		t.Fatal(err)
	}
	for range testStreams + 1 {
		if err := client.open(false); err != nil {
			t.Fatal(err)
		}
	}
	refused, err := client.until(frameReset)
	if err != nil || refused.stream != 2*testStreams+1 {
		t.Errorf("stream %d was refused, want %d: %v", refused.stream, 2*testStreams+1, err)
	}
	if most := stuck.most.Load(); most > testStreams {
		t.Errorf("%d requests ran at once, want at most %d", most, testStreams)
	}
}

// A stream that its client resets makes place for another, although its handler may
// still run (rapid reset, CVE-2023-39325). No more handlers run for that, and a
// connection that goes on is closed.
func TestLimits_HTTP2RapidReset_ClosesConnection(t *testing.T) {
	t.Parallel()
	stuck, client := floodServer(t)
	go func() {
		for range 100 * testStreams {
			if client.open(true) != nil {
				return
			}
		}
	}()
	away, err := client.until(frameGoAway)
	if errors.Is(err, os.ErrDeadlineExceeded) || (err == nil && away.goAwayCode() != codeEnhanceYourCalm) {
		t.Errorf("the connection is not closed: %+v, %v", away, err)
	}
	if most := stuck.most.Load(); most > testStreams {
		t.Errorf("%d requests ran at once, want at most %d", most, testStreams)
	}
}
