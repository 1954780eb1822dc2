package server_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"github.com/berthd/berth/internal/test/servertest"
	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/console"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/identity/auth"
	"github.com/berthd/berth/server/wire/cors"
	"github.com/berthd/berth/server/wire/forwarded"
)

// withConsole adds the console to a server that trusts its callers.
func withConsole(options *server.Options) {
	options.Console = console.Mount(console.Options{Prefix: options.Prefix})
}

// browser are the headers of an address typed into Chromium.
var browser = []string{"Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document", "Accept", "text/html,application/xhtml+xml,*/*;q=0.8"}

// rootHeaders are values of the headers on which the redirect depends; an empty value: the header is missing.
var rootHeaders = []struct {
	name   string
	values []string
}{
	{"Sec-Fetch-Mode", []string{"", "navigate", "cors", "no-cors", "Navigate"}},
	{"Sec-Fetch-Dest", []string{"", "document", "empty", "iframe", "image"}},
	{"Accept", []string{"", "text/html,application/xhtml+xml,*/*;q=0.8", "application/json", "*/*"}},
	{"X-Auth-Token", []string{"", "admin"}},
	{"OpenStack-API-Version", []string{"", "placement 1.39", "placement 1.39, berth 1.4", "placement 9.99"}},
}

// combinations calls test with the pairs of each combination.
func combinations(pairs []string, at int, test func([]string)) {
	if at == len(rootHeaders) {
		test(pairs)
		return
	}
	for _, value := range rootHeaders[at].values {
		with := pairs[:len(pairs):len(pairs)]
		if value != "" {
			with = append(with, rootHeaders[at].name, value)
		}
		combinations(with, at+1, test)
	}
}

// plainAnswer is a response without what differs between two equal requests.
func plainAnswer(w *httptest.ResponseRecorder) string {
	id := w.Header().Get("X-Openstack-Request-Id")
	if w.Header().Get("Last-Modified") != "" {
		w.Header().Set("Last-Modified", "now") // the next second may have begun
	}
	return strings.ReplaceAll(fmt.Sprint(w.Code, w.Header(), w.Body), id, "req-")
}

// Only a browser that opens the root as a page, without a token and a version, gets another answer than before.
func TestRoute_RootWithConsole_RedirectsBrowsersOnly(t *testing.T) {
	t.Parallel()
	data := servertest.New(t, servertest.Options{Store: postgres.Options{MaxConns: 2}}).Store
	for _, prefix := range []string{"", "/placement"} {
		without := &service{t: t, handler: servertest.Handlers(data, func(options *server.Options) { options.Prefix = prefix }).Public}
		with := &service{t: t, handler: servertest.Handlers(data, func(options *server.Options) { options.Prefix = prefix; withConsole(options) }).Public}
		for path, location := range map[string]string{prefix + "/": "console", prefix: strings.TrimPrefix(prefix+"/console", "/")} {
			redirects, same := 0, 0
			for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost} {
				combinations(nil, 0, func(pairs []string) {
					answer := with.send(method, "/x", append(pairs, pathOfRequest, path)...)
					isRedirect := method != http.MethodPost && reflect.DeepEqual(pairs, browser)
					if isRedirect {
						redirects++
						if answer.Code != http.StatusSeeOther || answer.Header().Get("Location") != location || answer.Header().Get("Cache-Control") != "no-store" || answer.Body.Len() > 0 {
							t.Errorf("%s %q %v: %s", method, path, pairs, plainAnswer(answer))
						}
						return
					}
					same++
					if got, want := plainAnswer(answer), plainAnswer(without.send(method, "/x", append(pairs, pathOfRequest, path)...)); got != want {
						t.Errorf("%s %q %v:\n got %s\nwant %s", method, path, pairs, got, want)
					}
				})
			}
			if redirects != 2 || same != 3*5*5*4*2*4-2 {
				t.Errorf("%q: %d redirects and %d other answers", path, redirects, same)
			}
		}
	}
}

// Without a console, its paths are those of an unknown resource.
func TestAuth_ConsoleOff_IsAnUnknownPath(t *testing.T) {
	t.Parallel()
	s := newService(t, "")
	for _, path := range []string{"/console", "/console/", "/console/sign-in", "/console/assets/x/console.css"} {
		for _, headers := range [][]string{nil, browser} {
			if got := s.get(path, headers...).Code; got != http.StatusUnauthorized {
				t.Errorf("%s without a token: status = %d", path, got)
			}
			if got := s.get(path, append(headers, "X-Auth-Token", "admin")...).Code; got != http.StatusNotFound {
				t.Errorf("%s with a token: status = %d", path, got)
			}
		}
	}
	if got := s.get("/", browser...).Code; got != http.StatusOK {
		t.Errorf("the root: status = %d", got)
	}
}

func TestAuth_ConsoleOn_TakesItsOwnPathsOnly(t *testing.T) {
	t.Parallel()
	s := newServiceWith(t, func(options *server.Options) { options.Prefix = "/placement"; withConsole(options) })
	for path, want := range map[string]int{
		"/console": 303, "/console/": 303, "/placement/console": 303, "/placement/console/who": 200, "/console/nowhere": 404,
		"/consoles": 401, "/placement/consoles": 401, "/placement/x/console": 401, "/placementconsole": 401, "//console": 401, "/placement//console": 401, "/CONSOLE": 401,
	} {
		if got := s.get("/x", pathOfRequest, path); got.Code != want {
			t.Errorf("%s: status = %d, want %d", path, got.Code, want)
		}
	}
}

// A page of another site whose name leads to a loopback address gets nothing of a server that trusts its callers.
func TestAuth_ConsoleWithOtherHost_Returns403(t *testing.T) {
	t.Parallel()
	s := newWatched(t, func(_ *postgres.Options, options *server.Options) {
		withConsole(options)
		options.AllowedHosts = []string{"berth.internal"}
		options.CORS = cors.Defaults("*")
	})
	for _, path := range []string{"/console", "/console/who", "/console/assets/x/console.css", "/console/nowhere"} {
		for host, want := range map[string]bool{
			"127.0.0.1:8778": true, "localhost": true, "a.localhost:1": true, "[::1]:8778": true, "berth.internal": true, "BERTH.internal:80": true,
			"evil.example": false, "evil.example:8778": false, "127.0.0.1.evil.example": false, "localhost.evil.example": false, "192.0.2.1": false, "berth.internal.evil.example": false,
		} {
			got := s.arriving(loopback, http.MethodGet, path, "", "Host", host)
			if (got.Code == http.StatusForbidden) == want || got.Header().Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s at %s: status = %d, served %v, %v", path, host, got.Code, want, got.Header())
			}
			got = s.arriving(loopback, http.MethodPost, "/console/who", "", "Host", host, "Sec-Fetch-Site", "same-origin")
			if (got.Code == http.StatusForbidden) == want || !want && got.Header().Get("Set-Cookie") != "" {
				t.Errorf("a form at %s: status = %d, served %v", host, got.Code, want)
			}
		}
		// Other hosts reach this address anyway, and the operator has allowed it.
		if got := s.arriving(&net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 8778}, http.MethodGet, path, "", "Host", "berth.example"); got.Code == http.StatusForbidden {
			t.Errorf("%s from another host: %s", path, got.Body)
		}
	}
	for host, want := range map[string]int{"localhost:8778": http.StatusSeeOther, "evil.example": http.StatusOK} {
		// A new request for each host: the server sets headers of the one that it serves.
		r := httptest.NewRequestWithContext(s.arrivingContext(loopback), http.MethodGet, "/", http.NoBody)
		for i := 0; i < len(browser); i += 2 {
			r.Header.Set(browser[i], browser[i+1])
		}
		r.Host = host
		w := httptest.NewRecorder()
		s.handler.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("the root at %s: status = %d, want %d", host, w.Code, want)
		}
	}
}

// Pages of origins that may use the API must not read the console with the cookie of its user.
func TestCORS_Console_HasNoGrants(t *testing.T) {
	t.Parallel()
	s := newServiceWith(t, func(options *server.Options) {
		withConsole(options)
		options.CORS = cors.Defaults("https://dashboard.example")
	})
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodOptions} {
		got := s.send(method, "/console/who", "Origin", "https://dashboard.example", "Access-Control-Request-Method", "POST")
		for name := range got.Header() {
			if strings.HasPrefix(name, "Access-Control-") {
				t.Errorf("%s: %s", method, name)
			}
		}
	}
	if got := s.send(http.MethodOptions, "/console/who", "Origin", "https://dashboard.example", "Access-Control-Request-Method", "POST"); got.Code != http.StatusMethodNotAllowed {
		t.Errorf("status = %d of a preflight", got.Code)
	}
}

// What a page shows is what the API answers to its user: here a page in front of the real service, with a token of a file.
func TestAuth_ConsoleOnTheService_UsesTheTokenOfItsUser(t *testing.T) {
	t.Parallel()
	const secret = "token-of-ada-0123456789"
	s := newWatched(t, func(_ *postgres.Options, options *server.Options) {
		options.AccessLog = true
		options.Authenticate = func(r *http.Request) (auth.Caller, error) {
			auth.DropIdentity(r.Header)
			if token, err := auth.Token(r); err != nil || token != secret {
				return auth.Caller{}, auth.InvalidToken("unknown")
			}
			return auth.Caller{UserID: "ada", ProjectID: "lab", Roles: []string{"reader"}, Method: auth.MethodTokens}, nil
		}
		authenticate := options.Authenticate
		options.Console = console.Mount(console.Options{Log: options.Log, Identify: func(r *http.Request) (console.Identity, error) {
			caller, err := authenticate(r)
			return console.Identity{User: caller.UserID, Project: caller.ProjectID, Roles: caller.Roles}, err
		}})
	})
	if got := s.get("/console"); got.Code != http.StatusUnauthorized || !strings.Contains(got.Body.String(), `name="token"`) || got.Header().Get("WWW-Authenticate") != "" {
		t.Errorf("without a session: status = %d, %s", got.Code, got.Body)
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/console/sign-in", strings.NewReader(url.Values{"token": {secret}, "back": {"/console/who"}}.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	if w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/console/who" {
		t.Fatalf("sign-in: status = %d: %s", w.Code, w.Body)
	}
	page := s.get("/console/who", "Cookie", w.Result().Cookies()[0].String())
	if page.Code != http.StatusOK || !strings.Contains(page.Body.String(), "<b>ada</b> in lab · reader") {
		t.Errorf("status = %d: %s", page.Code, page.Body)
	}
	if got := s.get("/resource_providers", "Cookie", w.Result().Cookies()[0].String()).Code; got != http.StatusUnauthorized {
		t.Errorf("the API takes the cookie: status = %d", got)
	}
	log := s.log.String()
	if strings.Contains(log, secret) || !strings.Contains(log, "path=/console/sign-in operation=console") {
		t.Errorf("the log has the token, or no line of the console: %s", log)
	}
}

// The log names the person whose page makes a call, not this process; no other part of the log says for whom a request is.
func TestMetrics_CallsOfTheConsole_LogItsBrowser(t *testing.T) {
	t.Parallel()
	s := newWatched(t, func(_ *postgres.Options, options *server.Options) {
		options.Proxies, options.AccessLog = new(forwarded.Proxies), true
		withConsole(options)
	})
	pretended := []string{"Berth-Inside-Client", "203.0.113.9", "Berth-Inside-Client", "203.0.113.9"}
	if got := s.send(http.MethodGet, "/console/providers?view=list", append(pretended, "Forwarded", forwardedHeader)...); got.Code != http.StatusOK {
		t.Fatalf("status = %d: %s", got.Code, got.Body)
	}
	calls := 0
	for line := range strings.Lines(s.log.String()) {
		if strings.Contains(line, "operation=") && !strings.Contains(line, "client=2001:db8::7 ") {
			t.Errorf("a line of another client: %s", line)
		}
		if strings.Contains(line, "operation=provider-list ") {
			calls++
		}
	}
	if calls == 0 {
		t.Errorf("no call of the page in the log: %s", s.log.String())
	}
}
