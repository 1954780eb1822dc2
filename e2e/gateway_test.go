//go:build client

package e2e

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"
)

// recordingProxy stands between a client and the service. It writes down what passes,
// and a test can do something just before a request arrives or just after it was
// answered, which is before the client knows.
type recordingProxy struct {
	URL string

	mu            sync.Mutex
	trace         []string
	before, after func(number int, request string)
}

func newGateway(t *testing.T, service string) *recordingProxy {
	t.Helper()
	target, err := url.Parse(service)
	if err != nil {
		t.Fatal(err)
	}
	g := &recordingProxy{}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) },
		// The client was killed: no response is possible.
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	listening := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		request := r.Method + " " + r.URL.RequestURI()
		g.mu.Lock()
		g.trace = append(g.trace, request)
		number, before, after := len(g.trace), g.before, g.after
		g.mu.Unlock()
		if before != nil {
			before(number, request)
		}
		if after == nil {
			proxy.ServeHTTP(w, r)
			return
		}
		answer := httptest.NewRecorder()
		proxy.ServeHTTP(answer, r)
		after(number, request)
		for name, values := range answer.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(answer.Code)
		w.Write(answer.Body.Bytes())
	}))
	t.Cleanup(listening.Close)
	g.URL = listening.URL
	return g
}

// watch starts an empty record and sets what is to be done; nil: nothing.
func (g *recordingProxy) watch(before, after func(number int, request string)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.trace, g.before, g.after = nil, before, after
}

// requests are what has passed since the last call of watch.
func (g *recordingProxy) requests() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]string(nil), g.trace...)
}
