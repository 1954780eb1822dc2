package server_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/berthd/berth/internal/test/servertest"
	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/identity/auth"
	"github.com/berthd/berth/server/wire/forwarded"
	"github.com/berthd/berth/server/wire/request"
)

// TestAuth_InvalidTokenOrKeystoneDown_Returns401Or503 sends invalid tokens, and tokens that cannot be
// validated.
func TestAuth_InvalidTokenOrKeystoneDown_Returns401Or503(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	var paths []string
	handler := servertest.New(t, servertest.Options{Server: func(options *server.Options) {
		servertest.Baremetal("here")(options)
		options.Log, options.Prefix = slog.New(slog.NewTextHandler(&log, nil)), "/placement"
		options.Authenticate = func(r *http.Request) (auth.Caller, error) {
			paths = append(paths, r.URL.Path)
			switch r.Header.Get("X-Auth-Token") {
			case "good":
				return auth.Caller{UserID: "u", ProjectID: "p", Roles: []string{"service", "admin"}}, nil
			case "unlucky":
				return auth.Caller{}, &auth.Unavailable{Cause: r.URL.Path, Err: errors.New("the cable is cut")}
			default:
				return auth.Caller{}, &auth.UnauthenticatedError{Challenge: "Keystone uri=here", Reason: "it looks odd " + r.URL.Path + r.Header.Get("X-Auth-Token")}
			}
		}
	}}).Handler
	for _, c := range []struct {
		path, token string
		status      int
	}{
		{"/placement/traits", "good", 200}, {"/placement/traits", "bad", 401}, {"/placement/traits", "unlucky", 503},
		{"/v1/nodes", "good", 200}, {"/v1/nodes", "bad", 401}, {"/v1/nodes", "unlucky", 503}, {"/v1/nodes/", "good", 200},
		{"/placement/v1/nodes", "bad", 401}, {"/v1/nodes", "", 401}, {"/traits", "bad", 401}, {"/traits", "good", 404},
		// Open paths need no authentication.
		{"/placement", "unlucky", 200}, {"/placement/", "unlucky", 200}, {"/v1", "unlucky", 200}, {"/v1/", "", 200},
		{"/livez", "unlucky", 200}, {"/placement/v1", "unlucky", 200},
	} {
		log.Reset()
		paths = nil
		r := httptest.NewRequest(http.MethodGet, c.path, http.NoBody)
		r.Header.Set("OpenStack-API-Version", "placement 1.39")
		if c.token != "" {
			r.Header.Set("X-Auth-Token", c.token)
		}
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, r)
		if answer.Code != c.status {
			t.Errorf("%s with %q: status = %d, want %d: %s", c.path, c.token, answer.Code, c.status, answer.Body)
		}
		body, header := answer.Body.String(), answer.Header()
		switch c.status {
		case http.StatusUnauthorized:
			if header.Get("WWW-Authenticate") != "Keystone uri=here" || !strings.HasPrefix(body, `{"error":{"code":401,"title":"Unauthorized",`) ||
				!strings.Contains(log.String(), "it looks odd") {
				t.Errorf("%s: header = %v, body = %s, log = %s", c.path, header, body, log.String())
			}
		case http.StatusServiceUnavailable:
			if header.Get("Retry-After") != "5" || header.Get("WWW-Authenticate") != "" || strings.Contains(body, "cable") ||
				!strings.Contains(log.String(), "the cable is cut") || !strings.Contains(log.String(), header.Get("X-Openstack-Request-Id")) {
				t.Errorf("%s: header = %v, body = %s, log = %s", c.path, header, body, log.String())
			}
		}
		// Authenticate gets the path as it arrived.
		if len(paths) > 0 && paths[0] != c.path {
			t.Errorf("path = %s in Authenticate, want %s", c.path, paths[0])
		}
	}
}

// TestLimits_UnauthenticatedRequests_LogOneLineForEachCause sends many requests to both APIs, from clients
// behind a proxy.
func TestLimits_UnauthenticatedRequests_LogOneLineForEachCause(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	networks := map[string]bool{}
	handler := servertest.New(t, servertest.Options{Server: func(options *server.Options) {
		servertest.Baremetal("here")(options)
		options.Log = slog.New(slog.NewTextHandler(&log, nil))
		options.Proxies = &forwarded.Proxies{Trusted: []netip.Prefix{netip.MustParsePrefix("192.0.2.1/32")}}
		options.Authenticate = func(r *http.Request) (auth.Caller, error) {
			networks[request.From(r.Context()).ClientNetwork] = true
			if r.Header.Get("X-Auth-Token") == "unlucky" {
				return auth.Caller{}, &auth.Unavailable{Cause: "failed", Err: errors.New("no answer to " + r.RemoteAddr)}
			}
			return auth.Caller{}, &auth.UnauthenticatedError{Reason: "it looks odd"}
		}
	}}).Handler
	for n := range 200 {
		r := httptest.NewRequest(http.MethodGet, []string{"/traits", "/v1/nodes"}[n%2], http.NoBody)
		r.RemoteAddr = fmt.Sprint("192.0.2.1:", 1000+n)
		r.Header.Set("X-Forwarded-For", fmt.Sprintf("10.0.0.%d, 198.51.100.%d", n, n%2))
		r.Header.Set("X-Auth-Token", []string{"unlucky", "unlucky", "bad", "bad"}[n%4])
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, r)
		if want := []int{503, 503, 401, 401}[n%4]; answer.Code != want {
			t.Errorf("request %d: status = %d, want %d", n, answer.Code, want)
		}
	}
	metrics := httptest.NewRecorder()
	handler.ServeHTTP(metrics, httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody))
	for _, want := range []string{
		`berth_http_requests_total{api="placement",microversion="none",operation="authentication",status="503"} 50`,
		`berth_http_requests_total{api="baremetal",microversion="none",operation="authentication",status="503"} 50`,
		`berth_http_requests_total{api="placement",microversion="none",operation="none",status="401"} 50`,
	} {
		if !strings.Contains(metrics.Body.String(), want) {
			t.Errorf("metrics lack %s", want)
		}
	}
	if got := strings.Count(log.String(), "\n"); got != 2 {
		t.Errorf("%d lines, want 2:\n%s", got, log.String())
	}
	if want := map[string]bool{"198.51.100.0": true, "198.51.100.1": true}; !maps.Equal(networks, want) {
		t.Errorf("networks = %v, want %v", networks, want)
	}
}
