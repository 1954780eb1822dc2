package cors_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/berthd/berth/server/wire/cors"
)

const (
	known   = "https://console.example.org"
	unknown = "https://elsewhere.example.org"
	exposed = "X-Auth-Token,X-Openstack-Request-Id,X-Subject-Token,X-Service-Token,OpenStack-API-Version"
)

// app responds as the API does: 401 without a token, 405 to OPTIONS, and headers of its own on every
// response.
func app(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Vary", "openstack-api-version")
	switch {
	case r.Header.Get("X-Auth-Token") == "":
		w.WriteHeader(http.StatusUnauthorized)
	case r.Method == http.MethodOptions:
		w.Header().Set("Allow", "GET")
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
	_, _ = io.WriteString(w, `{"from":"the application"}`)
}

// answer is the part of a response that a client sees.
type answer struct {
	status int
	header http.Header
	body   string
}

type headers = map[string]string

// ask sends one request through the middleware, which runs inside a handler that sets a request id.
func ask(t *testing.T, next http.HandlerFunc, options cors.Options, method string, sent headers) answer {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, "/resource_providers", nil)
	for name, value := range sent {
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	w.Header().Set("X-Openstack-Request-Id", "req-1")
	cors.Wrap(next, options).ServeHTTP(w, r)
	return answer{w.Code, w.Result().Header, w.Body.String()}
}

// header returns a header from pairs, with the request id of ask.
func header(pairs ...string) http.Header {
	h := http.Header{"X-Openstack-Request-Id": {"req-1"}}
	for i := 0; i < len(pairs); i += 2 {
		h.Set(pairs[i], pairs[i+1])
	}
	return h
}

func wantAnswer(t *testing.T, got, want answer) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("\ngot  %+v\nwant %+v", got, want)
	}
}

func only(origins ...string) cors.Options {
	return cors.Defaults(origins...)
}

func TestCORS_NoOrigins_Disabled(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]cors.Options{"nil": {}, "an empty origin": only("")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := ask(t, app, options, http.MethodOptions, headers{
				"X-Auth-Token": "u", "Origin": known, "Access-Control-Request-Method": "GET",
			})
			wantAnswer(t, got, answer{http.StatusMethodNotAllowed, header(
				"Content-Type", "application/json", "Vary", "openstack-api-version", "Allow", "GET",
			), `{"from":"the application"}`})
		})
	}
}

// granted returns the response to a preflight for GET without requested headers.
func granted(more ...string) answer {
	h := header(
		"Access-Control-Allow-Origin", known,
		"Access-Control-Allow-Credentials", "true",
		"Access-Control-Max-Age", "3600",
		"Access-Control-Allow-Methods", "GET",
		"Vary", "Origin",
	)
	for i := 0; i < len(more); i += 2 {
		h.Set(more[i], more[i+1])
	}
	return answer{http.StatusOK, h, ""}
}

func TestCORS_Preflight_Returns200WithoutBody(t *testing.T) {
	t.Parallel()
	const method, names = "Access-Control-Request-Method", "Access-Control-Request-Headers"
	refused := answer{http.StatusOK, header(), ""}
	cases := []struct {
		name string
		sent headers
		want answer
	}{
		{"a known origin is granted the method", headers{"X-Auth-Token": "u", "Origin": known, method: "GET"}, granted()},
		{"also without a token", headers{"Origin": known, method: "GET"}, granted()},
		{"any method of the list is granted", headers{"Origin": known, method: "PATCH"},
			granted("Access-Control-Allow-Methods", "PATCH")},
		{"the requested headers are echoed", headers{"Origin": known, method: "GET", names: "openstack-api-version"},
			granted("Access-Control-Allow-Headers", "openstack-api-version")},
		{"in the client's case and order, without its spaces",
			headers{"Origin": known, method: "GET", names: "X-ROLES , x-auth-token,,OpenStack-API-Version"},
			granted("Access-Control-Allow-Headers", "X-ROLES,x-auth-token,OpenStack-API-Version")},
		{"simple headers need no permission",
			headers{"Origin": known, method: "GET", names: "accept,Content-Type,Accept-Language,content-language,Pragma"},
			granted("Access-Control-Allow-Headers", "accept,Content-Type,Accept-Language,content-language,Pragma")},
		{"an empty list of headers asks for none", headers{"Origin": known, method: "GET", names: ""}, granted()},
		{"an unknown origin gets no headers", headers{"X-Auth-Token": "u", "Origin": unknown, method: "GET"}, refused},
		{"an unknown origin without token neither", headers{"Origin": unknown, method: "GET"}, refused},
		{"origins are compared exactly", headers{"Origin": "https://CONSOLE.example.org", method: "GET"}, refused},
		{"a longer origin is another", headers{"Origin": known + ".evil.org", method: "GET"}, refused},
		{"without origin", headers{method: "GET"}, refused},
		{"without a requested method", headers{"Origin": known}, refused},
		{"a method that is not allowed", headers{"Origin": known, method: "TRACE"}, refused},
		{"methods are compared with their case", headers{"Origin": known, method: "get"}, refused},
		{"one header too many", headers{"Origin": known, method: "GET", names: "x-auth-token, x-other"}, refused},
		{"nothing but a token", headers{"X-Auth-Token": "u"}, refused},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			wantAnswer(t, ask(t, app, only("https://first.example.org", known), http.MethodOptions, c.sent), c.want)
		})
	}
}

func TestCORS_PreflightHandlerSucceeds_KeepsResponse(t *testing.T) {
	t.Parallel()
	next := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("Vary", "openstack-api-version")
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, "kept")
	}
	got := ask(t, next, only(known), http.MethodOptions, headers{"Origin": known, "Access-Control-Request-Method": "GET"})
	want := granted("Content-Type", "text/plain", "Vary", "openstack-api-version,Origin")
	want.status, want.body = http.StatusAccepted, "kept"
	wantAnswer(t, got, want)
}

func TestCORS_PreflightHandlerWritesNothing_Allowed(t *testing.T) {
	t.Parallel()
	got := ask(t, func(http.ResponseWriter, *http.Request) {}, only(known), http.MethodOptions,
		headers{"Origin": known, "Access-Control-Request-Method": "GET"})
	wantAnswer(t, got, granted())
}

func TestCORS_OtherMethods_AllowedOriginGetsHeaders(t *testing.T) {
	t.Parallel()
	const body = `{"from":"the application"}`
	shared := header(
		"Content-Type", "application/json",
		"Vary", "openstack-api-version,Origin",
		"Access-Control-Allow-Origin", known,
		"Access-Control-Allow-Credentials", "true",
		"Access-Control-Expose-Headers", exposed,
	)
	plain := header("Content-Type", "application/json", "Vary", "openstack-api-version,Origin")
	cases := []struct {
		name, method string
		sent         headers
		want         answer
	}{
		{"a known origin may read the answer", http.MethodGet, headers{"X-Auth-Token": "u", "Origin": known},
			answer{http.StatusOK, shared, body}},
		{"also an error", http.MethodPost, headers{"Origin": known}, answer{http.StatusUnauthorized, shared, body}},
		{"whatever the method", "BREW", headers{"X-Auth-Token": "u", "Origin": known}, answer{http.StatusOK, shared, body}},
		{"an unknown origin gets the plain answer", http.MethodGet, headers{"X-Auth-Token": "u", "Origin": unknown},
			answer{http.StatusOK, plain, body}},
		{"so does a request without origin", http.MethodGet, headers{"X-Auth-Token": "u"},
			answer{http.StatusOK, plain, body}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			wantAnswer(t, ask(t, app, only(known), c.method, c.sent), c.want)
		})
	}
}

func TestCORS_Asterisk_AllowsEveryOrigin(t *testing.T) {
	t.Parallel()
	silent := func(http.ResponseWriter, *http.Request) {}
	cases := []struct{ name, origin, want string }{
		{"an unlisted origin sees the asterisk", unknown, "*"},
		{"a listed one sees itself", known, known},
		{"no origin sees nothing", "", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := ask(t, silent, only("*", known), http.MethodGet, headers{"Origin": c.origin})
			if value := got.header.Get("Access-Control-Allow-Origin"); value != c.want {
				t.Errorf("got %q, want %q", value, c.want)
			}
		})
	}
}

func TestCORS_Options_ReplaceDefaults(t *testing.T) {
	t.Parallel()
	options := cors.Options{
		AllowedOrigins: []string{known},
		AllowHeaders:   []string{"X-Mine"},
		ExposeHeaders:  []string{"X-Yours", "X-Theirs"},
		AllowMethods:   []string{"TRACE"},
		MaxAge:         90 * time.Second,
	}
	preflight := func(method, names string) headers {
		return headers{"Origin": known, "Access-Control-Request-Method": method, "Access-Control-Request-Headers": names}
	}
	replaced := answer{http.StatusOK, header(
		"Access-Control-Allow-Origin", known,
		"Access-Control-Max-Age", "90",
		"Access-Control-Allow-Methods", "TRACE",
		"Access-Control-Allow-Headers", "x-mine",
		"Vary", "Origin",
	), ""}
	wantAnswer(t, ask(t, app, options, http.MethodOptions, preflight("TRACE", "x-mine")), replaced)
	wantAnswer(t, ask(t, app, options, http.MethodOptions, preflight("GET", "x-mine")), answer{http.StatusOK, header(), ""})
	wantAnswer(t, ask(t, app, options, http.MethodOptions, preflight("TRACE", "x-auth-token")),
		answer{http.StatusOK, header(), ""})

	got := ask(t, func(http.ResponseWriter, *http.Request) {}, options, http.MethodGet, headers{"Origin": known})
	wantAnswer(t, got, answer{http.StatusOK, header(
		"Access-Control-Allow-Origin", known, "Access-Control-Expose-Headers", "X-Yours,X-Theirs", "Vary", "Origin",
	), ""})

	options.MaxAge = -1
	replaced.header.Del("Access-Control-Max-Age")
	wantAnswer(t, ask(t, app, options, http.MethodOptions, preflight("TRACE", "x-mine")), replaced)
}

func TestCORS_EmptyList_IsNotDefault(t *testing.T) {
	t.Parallel()
	options := only(known)
	options.AllowHeaders, options.ExposeHeaders = []string{}, []string{}
	got := ask(t, app, options, http.MethodGet, headers{"Origin": known})
	if exposed := got.header.Values("Access-Control-Expose-Headers"); exposed != nil {
		t.Errorf("exposed are %q", exposed)
	}
	for name, granted := range map[string]bool{"Accept": true, "X-Auth-Token": false} {
		got := ask(t, app, options, http.MethodOptions, headers{
			"Origin": known, "Access-Control-Request-Method": "GET", "Access-Control-Request-Headers": name,
		})
		if (got.header.Get("Access-Control-Allow-Origin") != "") != granted {
			t.Errorf("%s: %v", name, got.header)
		}
	}
}

func FuzzRequestedHeaders(f *testing.F) {
	for _, seed := range []string{"", "x-auth-token", "X-Auth-Token, accept", ",,", "x-auth-token x-roles", "x-auth-token\x00"} {
		f.Add(seed)
	}
	allowed := map[string]bool{}
	for _, name := range append(cors.Defaults().AllowHeaders, "Accept", "Accept-Language", "Content-Language",
		"Content-Type", "Cache-Control", "Expires", "Last-Modified", "Pragma") {
		allowed[http.CanonicalHeaderKey(name)] = true
	}
	f.Fuzz(func(t *testing.T, names string) {
		got := ask(t, app, only(known), http.MethodOptions, headers{
			"Origin": known, "Access-Control-Request-Method": "GET", "Access-Control-Request-Headers": names,
		})
		if got.status != http.StatusOK || got.body != "" {
			t.Fatalf("%q: got %+v", names, got)
		}
		echoed := got.header.Get("Access-Control-Allow-Headers")
		if echoed == "" {
			return
		}
		for name := range strings.SplitSeq(echoed, ",") {
			if !allowed[http.CanonicalHeaderKey(name)] {
				t.Fatalf("%q: %q is granted", names, name)
			}
		}
	})
}
