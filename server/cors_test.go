package server_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/identity/auth"
	"github.com/berthd/berth/server/wire/cors"
)

const page = "https://here.example"

// pages returns a server that pages of one origin may use, and that panics for the token "panic".
func pages(t *testing.T) *watched {
	t.Helper()
	return newWatched(t, func(_ *postgres.Options, options *server.Options) {
		options.CORS = cors.Defaults(page)
		options.Authenticate = func(r *http.Request) (auth.Caller, error) {
			if r.Header.Get("X-Auth-Token") == "panic" {
				panic("the reason")
			}
			return auth.TrustHeaders(r)
		}
	})
}

// The headers are those of docs/contract/http.md#cors.
func TestCORS_PreflightOfAPI_AllowsMethodsAndHeaders(t *testing.T) {
	t.Parallel()
	s := pages(t)
	headers := "X-Auth-Token,X-Openstack-Request-Id,X-Identity-Status,X-Roles,X-Service-Catalog,X-User-Id,X-Tenant-Id,OpenStack-API-Version"
	for _, path := range []string{"/", "/resource_providers", "/v1/nodes", "/nowhere", "/docs", "/livez"} {
		for _, method := range []string{"GET", "PUT", "POST", "DELETE", "PATCH"} {
			answer := s.send(http.MethodOptions, path, "Origin", page,
				"Access-Control-Request-Method", method, "Access-Control-Request-Headers", headers)
			for name, want := range map[string]string{
				"Access-Control-Allow-Origin": page, "Access-Control-Allow-Credentials": "true", "Access-Control-Max-Age": "3600",
				"Access-Control-Allow-Methods": method, "Access-Control-Allow-Headers": headers, "Vary": "Origin",
			} {
				if got := strings.Join(answer.Header().Values(name), ";"); got != want || answer.Code != http.StatusOK || answer.Body.Len() != 0 {
					t.Errorf("%s of %s: status %d, %s is %q, want %q; body %q", method, path, answer.Code, name, got, want, answer.Body)
				}
			}
		}
	}
}

// A preflight that is not permitted is an empty 200 without CORS headers.
func TestCORS_ForeignOriginOrMethod_NotAllowed(t *testing.T) {
	t.Parallel()
	s := pages(t)
	for name, headers := range map[string][]string{
		"another origin":       {"Origin", "https://there.example", "Access-Control-Request-Method", "GET"},
		"no origin":            {"Access-Control-Request-Method", "GET"},
		"no method":            {"Origin", page},
		"a method not allowed": {"Origin", page, "Access-Control-Request-Method", "TRACE"},
		"a header not allowed": {"Origin", page, "Access-Control-Request-Method", "GET", "Access-Control-Request-Headers", "X-Roles,X-Pony"},
	} {
		answer := s.send(http.MethodOptions, "/resource_providers", headers...)
		if answer.Code != http.StatusOK || answer.Body.Len() != 0 {
			t.Errorf("%s: status %d, body %q", name, answer.Code, answer.Body)
		}
		for header := range answer.Header() {
			if strings.HasPrefix(header, "Access-Control-") {
				t.Errorf("%s: has %s", name, header)
			}
		}
	}
}

func TestCORS_ErrorResponse_ReadableByPage(t *testing.T) {
	t.Parallel()
	s := pages(t)
	for name, want := range map[string]struct {
		path, token, vary string
		status            int
	}{
		"an answer":                {"/resource_providers", "admin", "openstack-api-version,Origin", http.StatusOK},
		"no token":                 {"/resource_providers", "", "Origin", http.StatusUnauthorized},
		"a failure of the service": {"/resource_providers", "panic", "Origin", http.StatusInternalServerError},
	} {
		headers := []string{"Origin", page, "X-Roles", "admin"}
		if want.token != "" {
			headers = append(headers, "X-Auth-Token", want.token)
		}
		answer := s.get(want.path, headers...)
		got := answer.Header()
		if answer.Code != want.status || got.Get("Vary") != want.vary || got.Get("Access-Control-Allow-Origin") != page ||
			got.Get("Access-Control-Allow-Credentials") != "true" ||
			got.Get("Access-Control-Expose-Headers") != "X-Auth-Token,X-Openstack-Request-Id,X-Subject-Token,X-Service-Token,OpenStack-API-Version" {
			t.Errorf("%s: status %d, %v", name, answer.Code, got)
		}
		for header := range s.get(want.path, append(headers, "Origin", "https://there.example")...).Header() {
			if strings.HasPrefix(header, "Access-Control-") {
				t.Errorf("%s, another origin: response has %s", name, header)
			}
		}
	}
	if answer := s.send(http.MethodOptions, "/resource_providers", "Origin", page, "X-Auth-Token", "panic"); answer.Code != http.StatusOK || answer.Body.Len() != 0 {
		t.Errorf("OPTIONS where the service fails: status %d, %q", answer.Code, answer.Body)
	}
	if !strings.Contains(s.log.String(), "the reason") {
		t.Error("the log has no cause of the panic")
	}
}
