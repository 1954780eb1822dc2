package server_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/identity/auth"
	"github.com/berthd/berth/server/wire/cors"
)

// arrivingContext is the context of a request to a server on an address.
func (s *service) arrivingContext(at net.Addr) context.Context {
	return context.WithValue(s.t.Context(), http.LocalAddrContextKey, at)
}

// arriving sends a request as a server on an address receives it.
func (s *service) arriving(at net.Addr, method, target, body string, headers ...string) *httptest.ResponseRecorder {
	s.t.Helper()
	r := httptest.NewRequestWithContext(s.arrivingContext(at), method, target, strings.NewReader(body))
	r.Header.Set("X-Auth-Token", "admin")
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	r.Host = "127.0.0.1:8778"
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		} else {
			r.Header.Set(headers[i], headers[i+1])
		}
	}
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	return w
}

var loopback = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8778}

const (
	newNode     = `{"driver": "fake-hardware"}`
	newProvider = `{"name": "host"}`
)

func TestAuth_PageOfAnotherOriginOnLoopback_CannotWrite(t *testing.T) {
	t.Parallel()
	s := newWatched(t, func(_ *postgres.Options, options *server.Options) { options.CORS = cors.Defaults(page) })
	for name, test := range map[string]struct {
		headers []string
		allowed bool
	}{
		"no browser":                     {nil, true},
		"another origin":                 {[]string{"Origin", "https://there.example"}, false},
		"another origin, as text":        {[]string{"Origin", "https://there.example", "Content-Type", "text/plain"}, false},
		"another port of this host":      {[]string{"Origin", "http://127.0.0.1:9999"}, false},
		"an origin without a name":       {[]string{"Origin", "null"}, false},
		"the browser says cross-site":    {[]string{"Sec-Fetch-Site", "cross-site"}, false},
		"the browser says same-site":     {[]string{"Sec-Fetch-Site", "same-site"}, false},
		"the same origin":                {[]string{"Origin", "http://127.0.0.1:8778"}, true},
		"the browser says same-origin":   {[]string{"Origin", "http://127.0.0.1:8778", "Sec-Fetch-Site", "same-origin"}, true},
		"an origin that CORS allows":     {[]string{"Origin", page, "Sec-Fetch-Site", "cross-site"}, true},
		"a page where CORS allows https": {[]string{"Origin", strings.Replace(page, "https", "http", 1)}, false},
	} {
		for _, write := range [][]string{{"POST", "/v1/nodes", newNode}, {"PUT", "/resource_classes/CUSTOM_A", ""}, {"DELETE", "/resource_classes/CUSTOM_B", ""}} {
			answer := s.arriving(loopback, write[0], write[1], write[2], append([]string{"OpenStack-API-Version", "placement 1.39"}, test.headers...)...)
			if denied := answer.Code == http.StatusForbidden; denied == test.allowed {
				t.Errorf("%s, %s %s: status = %d, want allowed = %t: %s", name, write[0], write[1], answer.Code, test.allowed, answer.Body)
			}
		}
		if read := s.arriving(loopback, "GET", "/resource_providers", "", test.headers...); read.Code != http.StatusOK {
			t.Errorf("%s, GET: status = %d, want 200", name, read.Code)
		}
	}
}

func TestAuth_HostThatIsNotLoopback_Returns403(t *testing.T) {
	t.Parallel()
	s := newWatched(t, func(_ *postgres.Options, options *server.Options) {
		options.AllowedHosts = []string{"berth.example", "192.0.2.7"}
	})
	for host, allowed := range map[string]bool{
		"127.0.0.1:8778": true, "127.8.9.1": true, "[::1]:8778": true, "[::ffff:127.0.0.1]": true, "localhost": true, "LocalHost:1": true,
		"localhost.:8778": true, "me.localhost": true, "berth.example:8778": true, "BERTH.example": true, "192.0.2.7:80": true, "": true,
		"evil.example": false, "evil.example:8778": false, "127.0.0.1.evil.example": false, "localhost.evil.example": false,
		"notlocalhost": false, "192.0.2.8": false, "x.berth.example": false, "0.0.0.0:8778": false, strings.Repeat("a", 9000): false,
	} {
		for _, path := range []string{"/resource_providers", "/v1/nodes", "/nowhere"} {
			answer := s.arriving(loopback, "GET", path, "", "Host", host)
			if denied := answer.Code == http.StatusForbidden; denied == allowed {
				t.Errorf("%.30s, %s: status = %d, want allowed = %t", host, path, answer.Code, allowed)
			}
			if answer.Body.Len() > 1000 {
				t.Errorf("%.30s, %s: body of %d bytes", host, path, answer.Body.Len())
			}
		}
		for _, path := range []string{"/", "/v1", "/livez", "/readyz", "/docs", "/openapi/1.39.json", "/metrics"} {
			if answer := s.arriving(loopback, "GET", path, "", "Host", host); answer.Code != http.StatusOK {
				t.Errorf("%.30s, open path %s: status = %d, want 200", host, path, answer.Code)
			}
		}
	}
}

func TestAuth_LocalGuard_ActsOnLoopbackWithoutAuthenticationOnly(t *testing.T) {
	t.Parallel()
	foreign := []string{"Host", "berth.example.org", "Origin", "https://there.example"}
	believed := newWatched(t, func(*postgres.Options, *server.Options) {})
	for name, at := range map[string]net.Addr{
		"public address": &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 8778},
		"Unix socket":    &net.UnixAddr{Name: "/run/berth.sock", Net: "unix"},
	} {
		if answer := believed.arriving(at, "POST", "/resource_providers", `{"name": "`+name+`"}`, foreign...); answer.Code != http.StatusCreated {
			t.Errorf("%s: status = %d, want 201: %s", name, answer.Code, answer.Body)
		}
	}
	if answer := believed.arriving(loopback, "POST", "/resource_providers", newProvider, foreign...); answer.Code != http.StatusForbidden {
		t.Errorf("loopback: status = %d, want 403", answer.Code)
	}
	known := newWatched(t, func(_ *postgres.Options, options *server.Options) { options.Authenticate = auth.TrustHeaders })
	if answer := known.arriving(loopback, "POST", "/resource_providers", newProvider, foreign...); answer.Code != http.StatusCreated {
		t.Errorf("with authentication: status = %d, want 201: %s", answer.Code, answer.Body)
	}
	every := newWatched(t, func(_ *postgres.Options, options *server.Options) {
		options.AllowedHosts, options.CORS = []string{"*"}, cors.Defaults("*")
	})
	if answer := every.arriving(loopback, "POST", "/resource_providers", newProvider, foreign...); answer.Code != http.StatusCreated {
		t.Errorf("with all hosts and origins allowed: status = %d, want 201: %s", answer.Code, answer.Body)
	}
}

func TestNode_MediaTypeOfBody_IsCheckedAsIronicDoes(t *testing.T) {
	t.Parallel()
	s := newWatched(t, func(*postgres.Options, *server.Options) {})
	for _, test := range []struct {
		method, path, mediaType, body string
		isRead                        bool
	}{
		{"POST", "/v1/nodes", "application/json; charset=utf-8", newNode, true},
		{"POST", "/v1/nodes", "text/plain", newNode, true},
		{"POST", "/v1/nodes", "application/x-www-form-urlencoded", newNode, false},
		{"POST", "/v1/nodes", "multipart/form-data; boundary=x", newNode, false},
		{"POST", "/v1/nodes", "", newNode, false},
		{"PATCH", "/v1/nodes/nowhere", "application/json-patch+json", "[]", true},
		{"PATCH", "/v1/nodes/nowhere", "", "[]", true},
		{"PATCH", "/v1/nodes/nowhere", "application/x-www-form-urlencoded", "[]", false},
		{"PUT", "/v1/nodes/nowhere/states/provision", "application/json", `{"target": "manage"}`, true},
		{"PUT", "/v1/nodes/nowhere/states/provision", "text/plain", `{"target": "manage"}`, false},
		{"PUT", "/v1/nodes/nowhere/states/provision", "", `{"target": "manage"}`, false},
	} {
		r := httptest.NewRequestWithContext(t.Context(), test.method, test.path, strings.NewReader(test.body))
		r.Header.Set(ironicVersion, "1.78")
		if test.mediaType != "" {
			r.Header.Set("Content-Type", test.mediaType)
		}
		answer := httptest.NewRecorder()
		s.handler.ServeHTTP(answer, r)
		unread := answer.Code == http.StatusBadRequest && strings.Contains(answer.Body.String(), "Unexpected arguments: the Content-Type header")
		if unread == test.isRead {
			t.Errorf("%s %s of %q: status = %d, want the body read = %t: %s", test.method, test.path, test.mediaType, answer.Code, test.isRead, answer.Body)
		}
	}
}
