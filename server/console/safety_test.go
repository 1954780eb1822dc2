package console

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/wire/forwarded"
)

// targets returns the method and address of each page, with values for its variables, and of an asset.
func (s *site) targets() [][2]string {
	found := [][2]string{{http.MethodGet, s.prefix + "/console/assets/" + assetHash() + "/console.css"}}
	variable := regexp.MustCompile(`\{[a-z_]+(\.\.\.)?\}`)
	for _, pattern := range s.c.patterns {
		method, address, _ := strings.Cut(pattern, " ")
		address = strings.TrimSuffix(strings.ReplaceAll(address, "{$}", ""), "/")
		found = append(found, [2]string{method, s.prefix + "/console" + variable.ReplaceAllString(address, uuid.NewString())})
	}
	return found
}

var crossSite = []struct {
	name    string
	headers []string
	// get and post report whether the request is served.
	get, post bool
}{
	{"an address typed in", []string{"Sec-Fetch-Site", "none", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}, true, true},
	{"a page of the console", []string{"Sec-Fetch-Site", "same-origin", "Sec-Fetch-Mode", "cors", "Sec-Fetch-Dest", "empty", "Origin", "http://berth.example"}, true, true},
	{"a link of another site", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}, true, false},
	{"a link of the same site", []string{"Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}, true, false},
	{"a form of another site", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document", "Origin", "https://evil.example"}, true, false},
	{"a form of an opaque origin", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document", "Origin", "null"}, true, false},
	{"a frame", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe"}, false, false},
	{"a frame of the same site", []string{"Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "frame"}, false, false},
	{"an object", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "object"}, false, false},
	{"an image", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "image"}, false, false},
	{"a script", []string{"Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "script"}, false, false},
	{"a fetch", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "cors", "Sec-Fetch-Dest", "empty", "Origin", "https://evil.example"}, false, false},
	{"a fetch that claims a document", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "cors", "Sec-Fetch-Dest", "document"}, false, false},
	{"a value that does not exist", []string{"Sec-Fetch-Site", "best-site"}, false, false},
	{"an old browser", []string{"Origin", "http://berth.example"}, true, true},
	{"an old browser on another page", []string{"Origin", "https://evil.example"}, true, false},
	{"an old browser on another port", []string{"Origin", "http://berth.example:81"}, true, false},
	{"an old browser on an opaque page", []string{"Origin", "null"}, true, false},
	{"an origin that only begins so", []string{"Origin", "http://berth.example.evil.example"}, true, false},
	{"an origin that is no URL", []string{"Origin", "berth.example"}, true, false},
	{"no browser", []string{"User-Agent", "curl"}, true, true},
}

func TestAuth_ConsoleCrossSiteRequests_AreRefusedOnEachPage(t *testing.T) {
	t.Parallel()
	for _, change := range []func(*Options){nil, noauth2} {
		s := newSite(t, change, nil)
		posts := 0
		for _, target := range s.targets() {
			if target[0] == http.MethodPost {
				posts++
			}
			for _, c := range crossSite {
				for _, method := range []string{target[0], http.MethodPost} {
					served := c.get
					if method == http.MethodPost {
						served = c.post
					}
					w := s.send(method, target[1], nil, c.headers...)
					if (w.Code == http.StatusForbidden) == served {
						t.Errorf("%s of %s to %s: status = %d, served %v", method, c.name, target, w.Code, served)
					}
					if w.Code == http.StatusForbidden && (len(w.Result().Cookies()) > 0 || w.Header().Get("Content-Security-Policy") == "") {
						t.Errorf("%s of %s to %s: headers %v", method, c.name, target, w.Header())
					}
				}
			}
		}
		if posts < 4 {
			t.Errorf("%d pages take POST", posts)
		}
	}
}

// Behind a proxy the browser's host is that of --console-url, or what a trusted proxy reports.
func TestAuth_ConsoleBehindProxy_TrustsItsOriginOnly(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		url     string
		proxies *forwarded.Proxies
		headers []string
		served  bool
	}{
		"not known":                 {"", nil, nil, false},
		"in the setting":            {"https://cloud.example", nil, nil, true},
		"another one in it":         {"https://other.example", nil, nil, false},
		"the other scheme":          {"http://cloud.example", nil, nil, false},
		"reported":                  {"", &forwarded.Proxies{}, []string{"X-Forwarded-Host", "cloud.example", "X-Forwarded-Proto", "https"}, true},
		"reported, other scheme":    {"", &forwarded.Proxies{}, []string{"X-Forwarded-Host", "cloud.example"}, false},
		"reported by anybody":       {"", nil, []string{"X-Forwarded-Host", "cloud.example", "X-Forwarded-Proto", "https"}, false},
		"reported, but cross-site":  {"", &forwarded.Proxies{}, []string{"X-Forwarded-Host", "cloud.example", "X-Forwarded-Proto", "https", "Sec-Fetch-Site", "cross-site"}, false},
		"of a proxy not in the set": {"", &forwarded.Proxies{Trusted: []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24")}}, []string{"X-Forwarded-Host", "cloud.example", "X-Forwarded-Proto", "https"}, false},
	} {
		s := newSite(t, func(options *Options) { options.Settings.URL = c.url }, nil)
		s.proxies = c.proxies
		w := s.send(http.MethodPost, "/console/sign-in", url.Values{"token": {goodToken}}, append([]string{"Host", "127.0.0.1:8778", "Origin", "https://cloud.example"}, c.headers...)...)
		if got := w.Code == http.StatusSeeOther; got != c.served {
			t.Errorf("%s: status = %d, served %v", name, w.Code, c.served)
		}
		if c.served && !cookieOf(t, w).Secure {
			t.Errorf("%s: the cookie is not Secure", name)
		}
	}
	if _, err := New(Options{Settings: Settings{URL: "berth.example"}}); err == nil {
		t.Error("an origin without a scheme is accepted")
	}
}

const wantPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

func TestConsole_EachResponse_HasTheHeadersOfItsKind(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil, nil)
	as := s.signIn()
	for _, target := range append(s.targets(), [2]string{"GET", "/console/nowhere"}, [2]string{"PUT", "/console"}, [2]string{"GET", "/console/assets/x/nothing.css"}) {
		w := s.send(target[0], target[1], nil, as...)
		want := map[string]string{
			"Content-Security-Policy": wantPolicy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin",
			"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin", "Access-Control-Allow-Origin": "",
			"Cache-Control": "private, no-store", "Vary": "Cookie, HX-Request",
		}
		if w.Code == http.StatusOK && strings.Contains(target[1], "/assets/") {
			want["Cache-Control"], want["Vary"] = "public, max-age=31536000, immutable", ""
		}
		for name, value := range want {
			if got := strings.Join(w.Header().Values(name), ", "); got != value {
				t.Errorf("%v: %s: %q, want %q", target, name, got, value)
			}
		}
		if strings.Contains(w.Header().Get("Content-Type"), "html") {
			wantNothingInline(t, target[1], w.Body.String())
		}
		if head := s.send(http.MethodHead, target[1], nil, as...); target[0] == http.MethodGet &&
			(head.Code != w.Code || head.Header().Get("Content-Length") != w.Header().Get("Content-Length")) {
			t.Errorf("%v: HEAD: %d %v, GET: %d %v", target, head.Code, head.Header(), w.Code, w.Header())
		}
	}
}

// inline is what the policy would block.
var inline = regexp.MustCompile(`(?i)<style|<script[^>]*>[^<]|\sstyle=|\son[a-z]+=|hx-on|javascript:|\sjs:`)

func wantNothingInline(t *testing.T, address, page string) {
	t.Helper()
	if found := inline.FindString(page); found != "" {
		t.Errorf("%s has %q", address, found)
	}
}

func TestConsole_UnknownHashOfAssets_IsNotStored(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil, nil)
	for target, want := range map[string]string{
		"/console/assets/" + assetHash() + "/console.css": "public, max-age=31536000, immutable",
		"/console/assets/0123456789ab/console.css":        "no-store",
		"/console/assets/0123456789ab/console.js":         "no-store",
	} {
		w := s.send(http.MethodGet, target, nil)
		wantStatus(t, w, http.StatusOK)
		if got := w.Header().Get("Cache-Control"); got != want || w.Body.Len() == 0 {
			t.Errorf("%s: Cache-Control = %q with %d bytes, want %q", target, got, w.Body.Len(), want)
		}
	}
}

func TestConsole_StrangePaths_AreNotFound(t *testing.T) {
	t.Parallel()
	for _, change := range []func(*Options){noauth2, nil} {
		s := newSite(t, change, nil)
		for _, target := range []string{
			"/console//", "/console//evil.example", "/console/../console", "/console/./who", "/console/who/", "/console/who/..", "/console/%2e%2e/who",
			"/console/%2e%2e%2fwho", "/console//who", "/console/%2fwho", "/console/who%2f", "/console/who%00", "/console/who%0d%0aX:1", "/console/WHO",
			"/console/assets/", "/console/assets/x", "/console/assets/x/", "/console/assets/x/..%2fassets.go", "/console/assets/x/%2e%2e/assets.go",
			"/console/assets/x/embed.txt", "/console/assets/x/console.css/", "/console/assets/x/LICENSE", "/console/\\\\evil.example", "/console/sign-in/x",
		} {
			w := s.send(http.MethodGet, target, nil)
			wantStatus(t, w, http.StatusNotFound)
			if location := w.Header().Get("Location"); location != "" {
				t.Errorf("%s leads to %q", target, location)
			}
		}
	}
}

func TestConsole_OtherMethods_Return405WithAllow(t *testing.T) {
	t.Parallel()
	s := newSite(t, noauth2, nil)
	for target, want := range map[string]string{
		"/console": "GET, HEAD", "/console/": "GET, HEAD", "/console/who": "GET, HEAD, POST", "/console/sign-out": "POST", "/console/theme": "POST",
		"/console/assets/x/console.css": "GET, HEAD",
	} {
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "PROPFIND"} {
			w := s.send(method, target, nil, "Sec-Fetch-Site", "same-origin")
			if isAllowed := strings.Contains(", "+want+", ", ", "+method+", "); isAllowed == (w.Code == http.StatusMethodNotAllowed) {
				t.Errorf("%s %s: status = %d, want Allow: %s", method, target, w.Code, want)
			} else if !isAllowed && w.Header().Get("Allow") != want {
				t.Errorf("%s %s: Allow = %q, want %q", method, target, w.Header().Get("Allow"), want)
			}
		}
	}
}

func TestConsole_Theme_IsACookie(t *testing.T) {
	t.Parallel()
	s := newSite(t, noauth2, nil)
	w := s.send(http.MethodPost, "/console/theme", url.Values{"theme": {"dark"}, "back": {"/console/who?x=1"}})
	wantStatus(t, w, http.StatusSeeOther)
	cookie := w.Result().Cookies()[0]
	if cookie.Name != themeCookie || cookie.Value != "dark" || !cookie.HttpOnly || w.Header().Get("Location") != "/console/who?x=1" {
		t.Errorf("cookie = %v, Location = %q", cookie, w.Header().Get("Location"))
	}
	wantText(t, s.send(http.MethodGet, "/console/who", nil, "Cookie", cookie.String()), `<html lang="en" data-theme="dark">`)
	hostile := s.send(http.MethodGet, "/console/who", nil, "Cookie", themeCookie+`=dark"onload=x`)
	wantText(t, hostile, `<html lang="en">`)
	if got := s.send(http.MethodPost, "/console/theme", url.Values{"theme": {""}}).Result().Cookies()[0]; got.MaxAge != -1 {
		t.Errorf("the theme of the system: %v", got)
	}
}

func TestConsole_Menu_FormsLeadBack(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`<form method="post" action="([^"]*)">(?:<input type="hidden" name="back" value="([^"]*)">)?(.*?)</form>`)
	button := regexp.MustCompile(`<button class="btn small"(?: name="([^"]*)" value="([^"]*)")?`)
	for name, change := range map[string]func(*Options){"noauth2": noauth2, "token": nil} {
		s := newSite(t, change, nil)
		user := []string{"Sec-Fetch-Site", "same-origin"}
		if change == nil {
			user = s.signIn()
		}
		w := s.send(http.MethodGet, "/console/probe?x=1", nil, user...)
		_, menu, _ := strings.Cut(strings.ReplaceAll(w.Body.String(), "\n", ""), `<div class="menu">`)
		menu, _, _ = strings.Cut(menu, "</details>")
		forms := form.FindAllStringSubmatch(menu, -1)
		if len(forms) != 2 {
			t.Errorf("%s: forms = %q, want 2", name, forms)
		}
		for _, form := range forms {
			for _, button := range button.FindAllStringSubmatch(form[3], -1) {
				w := s.send(http.MethodPost, form[1], url.Values{"back": {form[2]}, button[1]: {button[2]}}, user...)
				if w.Code != http.StatusSeeOther || form[1] != "/console/sign-out" && w.Header().Get("Location") != "/console/probe?x=1" {
					t.Errorf("%s: %q: status = %d, Location = %q", name, button, w.Code, w.Header().Get("Location"))
				}
			}
		}
	}
}

// hostile are addresses that lead elsewhere in some browser.
var hostile = []string{
	"https://evil.example/", "//evil.example", "//evil.example/console", "///evil.example", "/\\evil.example", "\\\\evil.example", "/console\\..\\evil",
	"/console/../evil", "/console/%2e%2e/evil", "/console/%2E%2e/evil", "/consoleevil", "/evil", "javascript:alert(1)", "java\tscript:alert(1)", " //evil.example", "/console/\r\nX: 1",
	"http:/console", "http:console", "?x", "", "console", "//console", "/console@evil.example", "https:///console", "/console//../..//evil.example",
}

func TestAuth_ConsoleBack_LeadsToTheConsoleOnly(t *testing.T) {
	t.Parallel()
	for _, prefix := range []string{"", "/placement"} {
		s := newSite(t, func(options *Options) { options.Prefix = prefix }, nil)
		root := prefix + "/console"
		for _, address := range hostile {
			w := s.send(http.MethodPost, root+"/sign-in", url.Values{"token": {goodToken}, "back": {address}})
			if got := w.Header().Get("Location"); got != root {
				t.Errorf("%q: Location = %q", address, got)
			}
			page := s.send(http.MethodGet, root+"/sign-in?back="+url.QueryEscape(address), nil)
			wantText(t, page, `name="back" value="`+root+`"`)
		}
		for _, address := range []string{root, root + "/providers?q=%22%3E&x=//evil.example", root + "/a/b#c"} {
			w := s.send(http.MethodPost, root+"/theme", url.Values{"back": {address}})
			if got := w.Header().Get("Location"); got != address {
				t.Errorf("%q: Location = %q", address, got)
			}
		}
	}
}

// Links, forms, redirects and cookies have the prefix of the API and of the proxy.
func TestConsole_Prefixes_AreInEachAddress(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(options *Options) { options.Prefix = "/placement" }, nil)
	s.proxies = &forwarded.Proxies{}
	for prefix, headers := range map[string][]string{
		"/placement":       nil,
		"/cloud/placement": {"X-Forwarded-Prefix", "/cloud"},
	} {
		w := s.send(http.MethodPost, "/placement/console/sign-in", url.Values{"token": {goodToken}}, append([]string{"Sec-Fetch-Site", "same-origin"}, headers...)...)
		cookie := cookieOf(t, w)
		if cookie.Path != prefix+"/console" || w.Header().Get("Location") != prefix+"/console" {
			t.Errorf("%s: cookie %v, Location %q", prefix, cookie, w.Header().Get("Location"))
		}
		for _, target := range []string{"/placement/console", "/placement/console/", "/placement/console/who", "/placement/console/nowhere"} {
			for _, as := range []string{"", cookie.String()} {
				page := s.send(http.MethodGet, target, nil, append([]string{"Cookie", as}, headers...)...).Body.String()
				for _, found := range regexp.MustCompile(`(?:href|src|action|data-base)="([^"#?]*)`).FindAllStringSubmatch(page, -1) {
					if found[1] != "" && found[1] != prefix+"/console" && found[1] != prefix+"/docs" && !strings.HasPrefix(found[1], prefix+"/console/") {
						t.Errorf("%s has the address %q, want it below %s", target, found[1], prefix)
					}
				}
			}
		}
	}
}

func TestConsole_PanicOfACard_IsTheCardsProblem(t *testing.T) {
	t.Parallel()
	s := newSite(t, noauth2, nil)
	s.c.page("GET /panic", "who", func(v *visit) error {
		card := v.card("a", "A", func(context.Context) (*content, error) { panic(errSomething) })
		_ = v.wait()
		v.frame.Body = whoData{Back: card.Problem.Text}
		v.frame.Title = card.Problem.Text
		return nil
	})
	w := s.send(http.MethodGet, "/console/panic", nil)
	wantStatus(t, w, http.StatusOK)
	if strings.Contains(w.Body.String(), "something") || !strings.Contains(s.log.String(), "something") {
		t.Errorf("the cause is on the page, or not in the log: %s", s.log)
	}
}

func FuzzConsoleBack(f *testing.F) {
	for _, address := range append(hostile, "/console/who?x=1#y", "/console/%ff", "/console/a%2fb") {
		f.Add(address)
	}
	s := newSite(f, nil, nil)
	f.Fuzz(func(t *testing.T, address string) {
		s := &site{t: t, c: s.c, log: s.log}
		w := s.send(http.MethodPost, "/console/theme", url.Values{"back": {address}})
		location := w.Header().Get("Location")
		if w.Code != http.StatusSeeOther || location != "/console" && !strings.HasPrefix(location, "/console/") && !strings.HasPrefix(location, "/console?") && !strings.HasPrefix(location, "/console#") ||
			strings.ContainsAny(location, "\\\r\n\t") {
			t.Fatalf("%q: %d, Location = %q", address, w.Code, location)
		}
		parsed, err := url.Parse("http://berth.example" + location)
		if err != nil || parsed.Host != "berth.example" || path.Clean(parsed.Path) != "/console" && !strings.HasPrefix(path.Clean(parsed.Path), "/console/") {
			t.Errorf("%q: Location = %q", address, location)
		}
	})
}

// FuzzConsoleAddress sends addresses, queries and cookies to the pages of a service without authentication.
func FuzzConsoleAddress(f *testing.F) {
	s := newSite(f, noauth2, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"errors": [{"status": 404, "title": "Not Found", "detail": "<script>alert(1)</script>\u202e"}]}`)
	})
	for _, target := range s.targets() {
		f.Add(target[1], "q=%3Cscript%3E&card=a&limit=-1", "berth_console=AAAA; berth_theme=dark", false)
	}
	f.Add("/console/../../etc/passwd", "%zz&;=\x00", "\x01", true)
	f.Fuzz(func(t *testing.T, address, query, cookie string, isCard bool) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/console", nil)
		if r.URL.Path = address; !strings.HasPrefix(address, "/console/") {
			r.URL.Path = "/console"
		}
		r.URL.RawQuery = query
		r.Header.Set("Cookie", cookie)
		if isCard {
			r.Header.Set("HX-Request", "true")
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code >= http.StatusInternalServerError && w.Code != http.StatusServiceUnavailable && w.Code != http.StatusBadGateway {
			t.Errorf("%q?%q: status = %d: %s", address, query, w.Code, w.Body)
		}
		body := w.Body.String()
		if strings.Contains(body, "<script>") || strings.ContainsAny(body, "\u202e\x00") || w.Header().Get("Content-Security-Policy") != wantPolicy {
			t.Errorf("%q?%q: %s", address, query, body)
		}
		if location := w.Header().Get("Location"); location != "" && !strings.HasPrefix(location, "/console") {
			t.Errorf("%q?%q leads to %q", address, query, location)
		}
	})
}

// Whatever a page has for a mistake, its calls change nothing.
func TestConsole_CallsThatWrite_AreNotSent(t *testing.T) {
	t.Parallel()
	for _, prefix := range []string{"", "/placement"} {
		for _, c := range []struct {
			request, version string
			sent             bool
		}{
			{"GET /resource_providers", "placement 1.39", true},
			{"HEAD /resource_providers", "", true},
			{"POST /capacity", "placement 1.39, berth 1.4", true},
			{"POST /allocation_candidates?explain=always", "placement 1.39, berth 1.4", true},
			{"POST /reshaper", "placement 1.39, berth 1.4", false},
			{"POST /reshaper?dry_run=true", "placement 1.39", false},
			{"POST /reshaper?dry_run=true", "placement 1.39, berth 1.3", true},
			{"PUT /allocations/x?dry_run=false", "placement 1.39, berth 1.4", false},
			{"PUT /allocations/x?dry_run=false&dry_run=true", "placement 1.39, berth 1.4", false},
			{"DELETE /allocations/x", "placement 1.39, berth 1.4", false},
			{"POST /allocations/capacity", "placement 1.39, berth 1.4", false},
			{"PATCH /v1/nodes/x", "", false},
		} {
			method, target, _ := strings.Cut(c.request, " ")
			r := httptest.NewRequestWithContext(t.Context(), method, prefix+target, nil)
			r.Header.Set("OpenStack-API-Version", c.version)
			if got := isRead(r, prefix); got != c.sent {
				t.Errorf("%s with %q: sent %v, want %v", c.request, c.version, got, c.sent)
			}
		}
	}
	s := newSite(t, noauth2, func(http.ResponseWriter, *http.Request) { t.Error("the call was sent") })
	s.c.page("GET /write", "who", func(v *visit) error { return v.c.api.AllocationDelete(v.ctx(), uuid.Nil) })
	if w := s.send(http.MethodGet, "/console/write", nil); w.Code < http.StatusInternalServerError {
		t.Errorf("status = %d", w.Code)
	}
}
