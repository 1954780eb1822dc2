package agent_test

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/dbtest"
	"github.com/berthd/berth/server/store"
	"github.com/berthd/berth/server/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// serve starts the real server on a database of the test's own.
func serve(t *testing.T) string {
	t.Helper()
	opened, err := store.Open(t.Context(), store.Options{URL: dbtest.Guarded(t).URL, MaxConns: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(opened.Close)
	listening := httptest.NewServer(server.New(server.Options{
		Store: opened, Log: slog.New(slog.DiscardHandler), EnforceNewDefaults: true, MaxBodyBytes: 1 << 20, MaxCandidates: -1,
	}))
	t.Cleanup(listening.Close)
	return listening.URL
}

// newClient repeats nothing, so that a request that is cut is one failure.
func newClient(t *testing.T, url string, options ...client.Option) *client.Client {
	t.Helper()
	made, err := client.New(url, append([]client.Option{client.WithRetries(client.Retries{Attempts: 1, Pause: time.Millisecond})}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// errCut is what a broken connection looks like.
var errCut = errors.New("wire cut by the test")

// wire stands between a client and the server. The zero value only notes what is
// sent.
type wire struct {
	// before is called before a request is sent; its error is what the client gets
	// instead of an answer, and the server sees nothing.
	before func(*http.Request) error
	// after is called when the server has answered; its error is what the client
	// gets instead.
	after func(*http.Request) error

	mutex sync.Mutex
	seen  []string
}

func (w *wire) RoundTrip(request *http.Request) (*http.Response, error) {
	w.mutex.Lock()
	w.seen = append(w.seen, request.Method+" "+request.URL.Path)
	w.mutex.Unlock()
	if w.before != nil {
		if err := w.before(request); err != nil {
			return nil, err
		}
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	if err == nil && w.after != nil {
		if err = w.after(request); err != nil {
			response.Body.Close()
			return nil, err
		}
	}
	return response, err
}

// sent counts the requests that begin with a text since the last call.
func (w *wire) sent(beginning string) int {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	count := 0
	for _, one := range w.seen {
		if strings.HasPrefix(one, beginning) {
			count++
		}
	}
	return count
}

func (w *wire) forget() {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.seen = nil
}
