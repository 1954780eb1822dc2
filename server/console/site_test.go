package console

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/wire/forwarded"
	"github.com/berthd/berth/server/wire/request"
)

// site is a console in front of an API that a test writes, mounted as the server mounts it.
type site struct {
	t       testing.TB
	c       *Console
	prefix  string
	proxies *forwarded.Proxies
	log     *lines
}

// lines is a log.
type lines struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

func (l *lines) Write(line []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.text.Write(line)
}

func (l *lines) String() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.text.String()
}

// goodToken is the token that a site knows.
const goodToken = "token-of-ada"

var errBadToken = InvalidCredentials("The service does not accept this token.")

// identifyAda knows one token.
func identifyAda(r *http.Request) (Identity, error) {
	switch r.Header.Get("X-Auth-Token") {
	case goodToken:
		return Identity{User: "ada", Project: "lab", Roles: []string{"member", "reader"}}, nil
	case "away":
		return Identity{}, Unavailable("Keystone does not answer. Try again.")
	}
	return Identity{}, errBadToken
}

// newSite returns a site. Its page /probe makes one call of the API, which the function answers; nil: 200.
func newSite(t testing.TB, change func(*Options), api http.HandlerFunc) *site {
	t.Helper()
	made := &site{t: t, log: &lines{}}
	options := Options{Log: slog.New(slog.NewTextHandler(made.log, nil)), Identify: identifyAda}
	options.API = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Openstack-Api-Version", "placement 1.39, berth 1.4")
		if api != nil {
			api(w, r)
			return
		}
		_, _ = io.WriteString(w, `{"resource_provider_generation": 1, "usages": {}}`)
	})
	if change != nil {
		change(&options)
	}
	made.prefix = options.Prefix
	var err error
	if made.c, err = New(options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = made.c.Close() })
	made.c.page("GET /probe", "who", func(v *visit) error {
		_, _, err := v.c.api.ProviderUsageList(v.ctx(), uuid.Nil)
		v.frame.Body = whoData{}
		return err
	}, "x", "a", "b")
	return made
}

// noauth2 changes a site to one without authentication.
func noauth2(options *Options) { options.Identify = nil }

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	info := request.New(r, s.proxies.Read(r), s.prefix, slog.New(slog.DiscardHandler))
	rest := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, s.prefix), "/console")
	s.c.Serve(w, r.WithContext(request.With(r.Context(), info)), rest)
}

// send sends a request with pairs of header names and values. A POST without other headers is of the console's own page.
func (s *site) send(method, target string, form url.Values, headers ...string) *httptest.ResponseRecorder {
	s.t.Helper()
	r := httptest.NewRequestWithContext(s.t.Context(), method, target, strings.NewReader(form.Encode()))
	r.Host = "berth.example"
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if len(headers) == 0 {
			r.Header.Set("Sec-Fetch-Site", "same-origin")
		}
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
			continue
		}
		r.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// signIn returns the headers of a signed-in user.
func (s *site) signIn() []string {
	s.t.Helper()
	w := s.send(http.MethodPost, s.prefix+"/console/sign-in", url.Values{"token": {goodToken}})
	if w.Code != http.StatusSeeOther {
		s.t.Fatalf("status = %d on signing in: %s", w.Code, w.Body)
	}
	return []string{"Cookie", cookieOf(s.t, w).String(), "Sec-Fetch-Site", "same-origin"}
}

// cookieOf returns the session cookie of a response.
func cookieOf(t testing.TB, w *httptest.ResponseRecorder) *http.Cookie {
	t.Helper()
	for _, cookie := range w.Result().Cookies() {
		if cookie.Name == cookieName {
			return cookie
		}
	}
	t.Fatalf("no session cookie in %v", w.Header())
	return nil
}

// wantStatus checks a status.
func wantStatus(t testing.TB, w *httptest.ResponseRecorder, want int) {
	t.Helper()
	if w.Code != want {
		t.Errorf("status = %d, want %d: %.300s", w.Code, want, w.Body)
	}
}

// wantText checks that a page has texts.
func wantText(t testing.TB, w *httptest.ResponseRecorder, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(w.Body.String(), text) {
			t.Errorf("the page lacks %q: %s", text, mainOf(w))
		}
	}
}

// mainOf returns the part of a page below the top bar.
func mainOf(w *httptest.ResponseRecorder) string {
	_, rest, _ := strings.Cut(w.Body.String(), "<main")
	part, _, _ := strings.Cut(rest, "</main>")
	return part
}

var errSomething = errors.New("something")

// soon is a time in the life of a session.
func soon() time.Time { return time.Now().Add(time.Hour) }
