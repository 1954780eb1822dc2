package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"slices"
	"strings"
	"sync"
)

// ownHeaders are the headers of requests that contain the version of the build. The comparison leaves them out.
var ownHeaders = []string{"User-Agent"}

// proxy passes the requests of a command to its service, and records them.
type proxy struct {
	*httptest.Server
	mutex    sync.Mutex
	address  string
	requests []string
}

// newProxy starts a proxy. It calls settle after each write and before the response, so that a command that waits for a
// result polls once.
func newProxy(settle func() error) *proxy {
	p := &proxy{}
	forward := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			p.mutex.Lock()
			defer p.mutex.Unlock()
			r.Out.URL.Scheme, r.Out.URL.Host, r.Out.URL.RawQuery = "http", p.address, r.In.URL.RawQuery
		},
		ModifyResponse: func(r *http.Response) error {
			if r.Request.Method == http.MethodGet {
				return nil
			}
			return settle()
		},
		Transport: &http.Transport{DisableCompression: true, DisableKeepAlives: true},
	}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		p.record(r, body)
		forward.ServeHTTP(w, r)
	}))
	return p
}

// begin begins the requests of a command to this address.
func (p *proxy) begin(address string) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.address, p.requests = address, nil
}

// end returns the requests since begin.
func (p *proxy) end() []string {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.requests
}

// record adds a request, with its headers in order.
func (p *proxy) record(r *http.Request, body []byte) {
	var text strings.Builder
	fmt.Fprintf(&text, "%s %s\nHost: %s\nLength: %d %v\n", r.Method, r.RequestURI, r.Host, r.ContentLength, r.TransferEncoding)
	names := make([]string, 0, len(r.Header))
	for name := range r.Header {
		if !slices.Contains(ownHeaders, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(&text, "%s: %s\n", name, strings.Join(r.Header[name], " | "))
	}
	fmt.Fprintf(&text, "\n%s\n", body)
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.requests = append(p.requests, text.String())
}

// requestText joins requests. Those of GET without another method in between are sorted, because commands send some at the
// same time.
func requestText(requests []string) string {
	sorted := slices.Clone(requests)
	isRead := func(at int) bool { return strings.HasPrefix(sorted[at], http.MethodGet+" ") }
	for from := 0; from < len(sorted); from++ {
		to := from
		for to < len(sorted) && isRead(to) {
			to++
		}
		slices.Sort(sorted[from:to])
		from = to
	}
	return strings.Join(sorted, "")
}
