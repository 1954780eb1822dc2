package client

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berthd/berth/internal/test/servertest"
	"github.com/berthd/berth/internal/test/storetest"
	"github.com/berthd/berth/server"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// serve starts the real server on a database of the test's own.
func serve(t testing.TB) *httptest.Server {
	t.Helper()
	return serveBelow(t, "")
}

// serveBelow mounts the API under a path.
func serveBelow(t testing.TB, prefix string) *httptest.Server {
	t.Helper()
	return servertest.New(t, servertest.Options{
		Server: func(options *server.Options) { options.Prefix = prefix },
	}).Listen(t)
}

// Serve is serve for the examples, which are written from outside.
var Serve = serve

// newClient speaks to a server of the test's own. Its pauses are short; the
// options given come after that and win.
func newClient(t testing.TB, options ...Option) *Client {
	t.Helper()
	return newClientOf(t, serve(t), options...)
}

// newClientOf is one more client of a server.
func newClientOf(t testing.TB, of *httptest.Server, options ...Option) *Client {
	t.Helper()
	quick := WithRetries(Retries{Attempts: 4, Pause: time.Millisecond, LongestPause: 4 * time.Millisecond})
	made, err := New(of.URL, append([]Option{quick}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// faultyTransport stands between a client and the server: it notes every request, and a
// test may make it cut, delay or answer some of them. Give it to a client with
// WithTransport. The zero value only notes.
//
// The service that the client sees is that of OpenStack Placement in the writes: the
// transport removes berth 1.3 and berth latest from the version header, unless Extended.
type faultyTransport struct {
	// Extended: the client sees what the server has, up to the version Newest if it is set.
	Extended bool
	Newest   string
	// Before is asked before a request is sent. An answer or an error is what the
	// client gets instead, and the server sees nothing.
	Before func(*http.Request) (*http.Response, error)
	// After sees the server's answer and may replace it, such as by errCut.
	After func(*http.Request, *http.Response) (*http.Response, error)

	mutex  sync.Mutex
	seen   []string
	bodies []string
	heads  []http.Header
}

// errCut is what a broken connection looks like.
var errCut = errors.New("wire cut by the test")

func (w *faultyTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	var body []byte
	if request.Body != nil {
		var err error
		if body, err = io.ReadAll(request.Body); err != nil {
			return nil, err
		}
		if err := request.Body.Close(); err != nil {
			return nil, err
		}
		request = request.Clone(request.Context())
		request.Body = io.NopCloser(bytes.NewReader(body))
	}
	line := request.Method + " " + request.URL.Path
	if request.URL.RawQuery != "" {
		line += "?" + request.URL.RawQuery
	}
	if line != "GET /" || request.Header.Get(versionHeader) == "" {
		w.note(line, string(body), request.Header.Clone())
	}
	if w.Before != nil {
		if answer, err := w.Before(request); answer != nil || err != nil {
			return answer, err
		}
	}
	if !w.Extended {
		request = withoutWriteExtensions(request)
	} else if w.Newest != "" {
		request = request.Clone(request.Context())
		request.Header.Set(versionHeader, strings.Replace(request.Header.Get(versionHeader), "berth latest", "berth "+w.Newest, 1))
	}
	answer, err := http.DefaultTransport.RoundTrip(request)
	if err != nil || w.After == nil {
		return answer, err
	}
	replaced, err := w.After(request, answer)
	if err != nil {
		answer.Body.Close()
		return nil, err
	}
	return replaced, nil
}

// note keeps a request, unless it is the one by which a client asks for the version of
// the extensions: that is sent once, before the first request that can use them.
func (w *faultyTransport) note(line, body string, head http.Header) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.seen = append(w.seen, line)
	w.bodies = append(w.bodies, body)
	w.heads = append(w.heads, head)
}

// withoutWriteExtensions returns the request without the entries of the versions from berth 1.3 on.
func withoutWriteExtensions(request *http.Request) *http.Request {
	placement, entry, _ := strings.Cut(request.Header.Get(versionHeader), ", ")
	if entry != "berth 1.3" && (entry != "berth latest" || request.URL.Path != "/") {
		return request
	}
	request = request.Clone(request.Context())
	request.Header.Set(versionHeader, placement)
	return request
}

// Requests are what was sent since the last call, as "METHOD /path?query".
func (w *faultyTransport) Requests() []string {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	seen := w.seen
	w.seen, w.bodies, w.heads = nil, nil, nil
	return seen
}

// Bodies are the bodies of what was sent since the last call of Requests.
func (w *faultyTransport) Bodies() []string {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return slices.Clone(w.bodies)
}

// Headers are the headers of what was sent since the last call of Requests.
func (w *faultyTransport) Headers() []http.Header {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return slices.Clone(w.heads)
}

// answer is a whole answer with a status and headers such as "Retry-After: 0".
func answer(request *http.Request, status int, body string, headers ...string) *http.Response {
	head := http.Header{}
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		head.Add(name, value)
	}
	return &http.Response{
		StatusCode: status, Status: http.StatusText(status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: head, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)), Request: request,
	}
}

// must ends the test at an error and passes the value on.
func must[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}
