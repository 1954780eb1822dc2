package connect

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/berthd/berth/cmd/berth/frame"
)

// transport returns the HTTP transport for the server and for Keystone, with the certificates of
// the settings.
func (e *endpoint) transport() (*http.Transport, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	// Package client limits idle connections in the same way, because a write on a connection
	// that the server is closing has an unknown outcome.
	transport.IdleConnTimeout = 4 * time.Second
	transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: e.insecure}
	if e.caCert == "" {
		return transport, nil
	}
	read, err := os.ReadFile(e.caCert)
	if err != nil {
		return nil, frame.InputErrors{&frame.InputError{Setting: "ca-cert", Value: e.caCert, Origin: "file", Rule: frame.Rule{Broken: fmt.Sprintf("cannot be read (%v)", err), Remedy: "name a file with certificates in PEM"}}}
	}
	trusted := x509.NewCertPool()
	if !trusted.AppendCertsFromPEM(bytes.TrimSpace(read)) {
		return nil, frame.InputErrors{&frame.InputError{Setting: "ca-cert", Value: e.caCert, Origin: "file", Rule: frame.Rule{Broken: "holds no certificate", Remedy: "name a file with certificates in PEM"}}}
	}
	transport.TLSClientConfig.RootCAs = trusted
	return transport, nil
}

func (e *endpoint) httpClient(f *frame.Frame, transport http.RoundTripper) *http.Client {
	transport = dialTransport{transport}
	if e.debug {
		transport = &requestPrinter{under: transport, out: f.Stderr}
	}
	if e.readOnly {
		transport = readingTransport{transport}
	}
	return &http.Client{Transport: transport, Timeout: e.timeout}
}

// readingTransport returns an error for every request except reads, which a query for candidates with a
// body is, and token requests.
type readingTransport struct{ under http.RoundTripper }

// RoundTrip sends the request if it only reads.
func (r readingTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	reads := request.Method == http.MethodGet || request.Method == http.MethodHead ||
		strings.HasSuffix(request.URL.Path, "/auth/tokens") || request.Method == http.MethodPost && strings.HasSuffix(request.URL.Path, "/allocation_candidates")
	if !reads {
		return nil, fmt.Errorf("a dry run does not send %s %s", request.Method, request.URL.Path)
	}
	return r.under.RoundTrip(request)
}

// requestPrinter prints one line per request. It prints neither headers nor bodies, because they
// contain tokens and passwords.
type requestPrinter struct {
	under http.RoundTripper
	mutex sync.Mutex // clients may send several requests at once
	out   io.Writer
}

// RoundTrip sends the request.
func (r *requestPrinter) RoundTrip(request *http.Request) (*http.Response, error) {
	began := time.Now()
	response, err := r.under.RoundTrip(request)
	took := time.Since(began).Round(100 * time.Microsecond)
	outcome := ""
	switch {
	case err != nil:
		outcome = err.Error()
	case response.Header.Get("X-Openstack-Request-Id") != "":
		outcome = fmt.Sprintf("%d %s", response.StatusCode, response.Header.Get("X-Openstack-Request-Id"))
	default:
		outcome = fmt.Sprint(response.StatusCode)
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	fmt.Fprintf(r.out, "berth: %s %s: %s (%s)\n", request.Method, request.URL.Redacted(), outcome, took)
	return response, err
}
