package badinput

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// Secrets, which only the requests that send them may contain.
const (
	tokenOfUser    = "gAAAAABuserSECRETuserSECRET"
	tokenOfService = "gAAAAABserviceSECRETservice"
	tokenUnknown   = "gAAAAABunknownSECRETunknown"
	tokenOfBerth   = "gAAAAABberthSECRETberth"
	passwordSecret = "passwordSECRETpassword"
	otherSecret    = "otherSECRETother"
)

// TestLog_AllFormats_NeverContainTokens sends requests with valid and invalid tokens and other
// secrets in all possible headers to a program that logs at the lowest level, in each format, and
// exports traces.
func TestLog_AllFormats_NeverContainTokens(t *testing.T) {
	t.Parallel()
	keystone := httptest.NewServer(http.HandlerFunc(validateToken))
	t.Cleanup(keystone.Close)
	for _, format := range []string{"text", "json", "oslo"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			traces := &lines{}
			collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(traces, r.Body)
			}))
			t.Cleanup(collector.Close)
			p := newProgram(t, "--auth=keystone", "--keystone-auth-url="+keystone.URL+"/v3", "--keystone-username=berth",
				"--keystone-password="+passwordSecret, "--keystone-project-name=service", "--keystone-token-formats=any", "--log-format="+format, "--log-level=debug",
				"--slow-query-threshold=1us", "--trace-endpoint="+collector.URL, "--access-log=true")
			p.tellSecrets()
			p.wantNoSecret("the log", p.log.String(), "/resource_providers")
			p.waitFor(func() bool { return strings.Contains(traces.String(), "resource_providers") })
			p.wantNoSecret("the traces", traces.String(), "resource_providers")
		})
	}
}

// tellSecrets sends requests that succeed, requests with several errors, and requests that are not
// HTTP.
func (p *program) tellSecrets() {
	secrets := "X-Service-Token: " + tokenOfService + "\r\nX-Subject-Token: " + otherSecret + "\r\nAuthorization: Bearer " + otherSecret +
		"\r\nCookie: session=" + otherSecret + "\r\nX-Storage-Token: " + otherSecret + "\r\nX-Service-Identity: " + otherSecret +
		"\r\nX-Openstack-Request-Id: req-" + otherSecret + "\r\nProxy-Authorization: Basic " + otherSecret + "\r\n"
	var all sync.WaitGroup
	for _, token := range []string{tokenOfUser, tokenUnknown, "", tokenOfUser + "\xff", strings.Repeat(tokenUnknown, 400)} {
		for _, line := range []string{
			"GET /resource_providers", "POST /resource_providers", "GET /ponies", "DELETE /", "GET /allocation_candidates?resources=VCPU:1", "GET /v1/nodes",
			"POST /v1/nodes", "GET /resource_providers?name=%zz", "GET /metrics", "GET /docs", "OPTIONS /traits",
		} {
			all.Go(func() {
				answer, err := p.say(time.Minute, strings.NewReader(line+" HTTP/1.1\r\nHost: berth\r\nConnection: close\r\nContent-Type: application/json\r\n"+
					"OpenStack-API-Version: placement 1.39\r\nContent-Length: 2\r\nX-Auth-Token: "+token+"\r\n"+secrets+"\r\n{}"))
				if err != nil {
					p.t.Errorf("%s: %v", line, err)
					return
				}
				p.wantNoSecret("the answer to "+line, answer.body+fmt.Sprint(answer.Header), "")
			})
		}
	}
	for _, broken := range []string{"GET /\r\nX-Auth-Token: " + tokenOfUser + "\r\n\r\n", "X-Auth-Token: " + tokenOfUser + "\r\n\r\n"} {
		answer, _ := p.say(time.Minute, strings.NewReader(broken))
		p.wantNoSecret("an answer to what is no HTTP", answer.body, "")
	}
	all.Wait()
	if answer := p.expect(http.StatusOK, "", strings.NewReader("GET /resource_providers HTTP/1.1\r\nHost: berth\r\nConnection: close\r\n"+
		"X-Auth-Token: "+tokenOfUser+"\r\n\r\n")); answer.Response == nil {
		p.t.Fatal("the server rejected the valid token")
	}
}

// wantNoSecret checks that a text contains none of the secrets, and contains a required text.
func (p *program) wantNoSecret(what, text, must string) {
	p.t.Helper()
	if !strings.Contains(text, must) {
		p.t.Errorf("%s lacks %q: %.1000s", what, must, text)
	}
	for line := range strings.SplitSeq(text, "\n") {
		if strings.Contains(line, "SECRET") {
			p.t.Errorf("%s contains a secret: %.1000s", what, line)
			return
		}
	}
}

// waitFor waits for a condition of background work.
func (p *program) waitFor(happened func() bool) {
	p.t.Helper()
	for range 300 {
		if happened() {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	p.t.Error("timeout after 30 s")
}

// validateToken is a fake Keystone that validates one token.
func validateToken(w http.ResponseWriter, r *http.Request) {
	const until = `"expires_at": "2999-01-01T00:00:00.000000Z", "issued_at": "2026-01-01T00:00:00.000000Z", "methods": ["password"], "catalog": []`
	switch {
	case r.Method == http.MethodPost:
		w.Header().Set("X-Subject-Token", tokenOfBerth)
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, `{"token": {%s}}`, until)
	case r.Header.Get("X-Subject-Token") == tokenOfUser, r.Header.Get("X-Subject-Token") == tokenOfService:
		fmt.Fprintf(w, `{"token": {%s, "roles": [{"name": "admin"}, {"name": "service"}],
			"user": {"id": "u", "name": "u", "domain": {"id": "default", "name": "Default"}},
			"project": {"id": "p", "name": "p", "domain": {"id": "default", "name": "Default"}}}}`, until)
	default:
		http.NotFound(w, r)
	}
}
