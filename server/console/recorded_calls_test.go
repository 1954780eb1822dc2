package console_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// callers are the callers of the menu with the headers that the API gets of each.
var callers = []struct{ persona, token, roles string }{
	{"operator", "admin", "admin,service"}, {"administrator", "admin", "admin"}, {"reader of a project", "reader", "reader"}, {"no role", "guest", ""},
}

// call is a call of the API that a page made, with the status and the request ID of its response.
type call struct {
	method, target, body string
	headers              http.Header
	status               int
	id                   string
}

// callRecorder records the calls of the pages. It is safe for concurrent use.
type callRecorder struct {
	mutex sync.Mutex
	made  []call
	// promote replaces the roles of all calls, as a console with an identity of its own would; empty: the calls stay.
	promote string
}

// watch is for siteOptions. It leaves out the version of the service, which the client reads once an hour.
func (c *callRecorder) watch(api http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			api.ServeHTTP(w, r)
			return
		}
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		one := call{method: r.Method, target: r.URL.RequestURI(), body: string(body), headers: r.Header.Clone()}
		if c.promote != "" {
			r.Header.Set("X-Roles", c.promote)
		}
		status := &statusWriter{ResponseWriter: w, status: http.StatusOK}
		api.ServeHTTP(status, r)
		one.status, one.id = status.status, w.Header().Get("X-Openstack-Request-Id")
		c.mutex.Lock()
		defer c.mutex.Unlock()
		c.made = append(c.made, one)
	})
}

// take returns the calls since the last one.
func (c *callRecorder) take() []call {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	defer func() { c.made = nil }()
	return c.made
}

// statusWriter remembers the status of a response.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap returns the writer below for http.ResponseController.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// repeat sends a call over the network as a caller, and returns the status and the text of the response. The identity is
// that of the caller, whatever the call had.
func (s *site) repeat(t *testing.T, one call, token, roles string) (int, string) {
	t.Helper()
	r := httptest.NewRequest(one.method, s.url+one.target, strings.NewReader(one.body))
	r.RequestURI = ""
	for _, name := range []string{"Content-Type", "Openstack-Api-Version", "X-Openstack-Ironic-Api-Version"} {
		r.Header[name] = one.headers[name]
	}
	r.Header.Set("X-Auth-Token", token)
	r.Header.Set("X-Roles", roles)
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}
