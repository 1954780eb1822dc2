package badinput

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/data/postgres"
)

// TestDocs_BrowserPages_SendSecurityHeaders checks the pages below /docs, including missing pages.
// The headers prevent that a browser guesses the content type.
func TestDocs_BrowserPages_SendSecurityHeaders(t *testing.T) {
	t.Parallel()
	s := newTested(t, func(*postgres.Options, *server.Options) {})
	for path, page := range map[string]bool{
		"/docs": true, "/docs/reference.js": true, "/docs/swagger-ui.js": true, "/docs/swagger-ui.css": true, "/docs/icon.svg": true,
		"/docs/nothing": false, "/docs/": false, "/openapi/1.39.json": false, "/openapi/nothing": false, "/metrics": false, "/livez": false, "/readyz": false,
	} {
		answer := httptest.NewRecorder()
		s.handler.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
		headers := answer.Header()
		if headers.Get("X-Content-Type-Options") != "nosniff" || len(headers.Values("Set-Cookie")) != 0 || headers.Get("Server") != "" {
			t.Errorf("%s: headers = %v", path, headers)
		}
		if !page {
			continue
		}
		policy := headers.Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'"} {
			if !strings.Contains(policy, part) {
				t.Errorf("%s: the policy lacks %q: %s", path, part, policy)
			}
		}
		if strings.Contains(policy, "unsafe") || strings.Contains(policy, "*") || strings.Contains(policy, "http") {
			t.Errorf("%s: the policy allows too much: %s", path, policy)
		}
		for name, want := range map[string]string{"Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY", "Cross-Origin-Opener-Policy": "same-origin"} {
			if got := headers.Get(name); got != want {
				t.Errorf("%s: %s = %q", path, name, got)
			}
		}
	}
}
