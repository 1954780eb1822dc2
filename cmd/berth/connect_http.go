package main

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
)

// transport speaks to the service, and to keystone, with the certificates of the
// settings.
func (e *endpoint) transport() (*http.Transport, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	// What package client does with its own connections, and for the same reason: a
	// write that meets the other side's close has an unknown outcome.
	transport.IdleConnTimeout = 4 * time.Second
	transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: e.insecure}
	if e.caCert == "" {
		return transport, nil
	}
	read, err := os.ReadFile(e.caCert)
	if err != nil {
		return nil, mistakes{&mistake{"ca-cert", e.caCert, "file", rule{fmt.Sprintf("cannot be read (%v)", err), "name a file with certificates in PEM"}}}
	}
	trusted := x509.NewCertPool()
	if !trusted.AppendCertsFromPEM(bytes.TrimSpace(read)) {
		return nil, mistakes{&mistake{"ca-cert", e.caCert, "file", rule{"holds no certificate", "name a file with certificates in PEM"}}}
	}
	transport.TLSClientConfig.RootCAs = trusted
	return transport, nil
}

func (e *endpoint) httpClient(p *process, transport http.RoundTripper) *http.Client {
	if e.debug {
		transport = &requestPrinter{under: transport, out: p.stderr}
	}
	if e.readOnly {
		transport = readingTransport{transport}
	}
	return &http.Client{Transport: transport, Timeout: e.timeout}
}

// readingTransport ends every request but those that read, and those that get a
// token.
type readingTransport struct{ under http.RoundTripper }

// RoundTrip sends the request on if it only reads.
func (r readingTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method != http.MethodGet && request.Method != http.MethodHead && !strings.HasSuffix(request.URL.Path, "/auth/tokens") {
		return nil, fmt.Errorf("a dry run does not send %s %s", request.Method, request.URL.Path)
	}
	return r.under.RoundTrip(request)
}

// requestPrinter writes one line for each request. It writes neither headers nor
// bodies, where tokens and passwords are.
type requestPrinter struct {
	under http.RoundTripper
	mutex sync.Mutex // clients may send several requests at once
	out   io.Writer
}

// RoundTrip sends the request on.
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
