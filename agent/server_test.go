package agent_test

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/internal/test/servertest"
	"github.com/berthd/berth/internal/test/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// serve starts the real server on a database of the test's own.
func serve(t *testing.T) string {
	t.Helper()
	return servertest.New(t, servertest.Options{}).Listen(t).URL
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

// faultyTransport stands between a client and the server. The zero value only notes what is
// sent.
//
// The client sees a service without berth 1.3, such as OpenStack Placement, unless extended.
type faultyTransport struct {
	extended bool
	// before is called before a request is sent; its error is what the client gets
	// instead of an answer, and the server sees nothing.
	before func(*http.Request) error
	// after is called when the server has answered; its error is what the client
	// gets instead.
	after func(*http.Request) error

	mutex sync.Mutex
	seen  []string
}

func (w *faultyTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	if !w.extended {
		placement, _, _ := strings.Cut(request.Header.Get("OpenStack-API-Version"), ", ")
		request = request.Clone(request.Context())
		request.Header.Set("OpenStack-API-Version", placement)
	}
	if line := request.Method + " " + request.URL.Path; line != "GET /" { // which asks for the version once
		w.mutex.Lock()
		w.seen = append(w.seen, line)
		w.mutex.Unlock()
	}
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
func (w *faultyTransport) sent(beginning string) int {
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

func (w *faultyTransport) forget() {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.seen = nil
}
