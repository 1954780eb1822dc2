package keystone

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/berthd/berth/server/identity/auth"
)

// fake is the part of Keystone that this package uses. It replaces the real one, which the end-to-end
// tests use, where a test needs a failure that Keystone cannot be made to produce.
type fake struct {
	*httptest.Server
	mutex sync.Mutex
	// known maps each token to its response. Tokens that begin with "expired" are valid only in requests
	// that allow expired tokens.
	known map[string]string
	// signIns, queries and expiredToo count authentications, validations, and validations that allow
	// expired tokens.
	signIns, questions, expiredToo int
	// before writes the response instead of the fake if it returns true.
	before func(w http.ResponseWriter, r *http.Request) bool
	// revoked is the number of Berth's own tokens that are revoked, oldest first.
	revoked int
}

const password = "sesame"

func newFake(t *testing.T) *fake {
	t.Helper()
	made := &fake{known: map[string]string{}}
	made.Server = httptest.NewServer(made)
	t.Cleanup(made.Close)
	return made
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mutex.Lock()
	before := f.before
	if r.Method == http.MethodPost {
		f.signIns++
	} else {
		f.questions++
	}
	f.mutex.Unlock()
	if before != nil && before(w, r) {
		return
	}
	f.mutex.Lock()
	defer f.mutex.Unlock()
	switch r.Method + " " + r.URL.Path {
	case "POST /v3/auth/tokens":
		var asked any
		_ = json.NewDecoder(r.Body).Decode(&asked)
		if !strings.Contains(fmt.Sprint(asked), "password:"+password) {
			refuse(w, http.StatusUnauthorized, "no")
			return
		}
		w.Header().Set("X-Subject-Token", fmt.Sprintf("own-%d", f.signIns))
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, `{"token": {"expires_at": %q, "catalog": [{"type": "identity", "endpoints": [
			{"interface": "internal", "region": "One", "region_id": "One", "url": %q}]}]}}`, at(time.Hour), f.URL)
	case "GET /v3/auth/tokens":
		f.validate(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (f *fake) validate(w http.ResponseWriter, r *http.Request) {
	var number int
	if _, err := fmt.Sscanf(r.Header.Get("X-Auth-Token"), "own-%d", &number); err != nil || number <= f.revoked {
		refuse(w, http.StatusUnauthorized, "who are you?")
		return
	}
	text := r.Header.Get("X-Subject-Token")
	wanted := r.URL.Query().Get("allow_expired") == "1"
	if wanted {
		f.expiredToo++
	}
	told, known := f.known[text]
	if !known || strings.HasPrefix(text, "expired") && !wanted || r.Header.Get("OpenStack-Identity-Access-Rules") == "" {
		refuse(w, http.StatusNotFound, "could not find token "+text)
		return
	}
	fmt.Fprint(w, `{"token": `+told+`}`)
}

func refuse(w http.ResponseWriter, status int, message string) {
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"error": {"code": %d, "message": %q}}`, status, message)
}

// at returns a time from now in Keystone's format.
func at(later time.Duration) string {
	return time.Now().Add(later).UTC().Format("2006-01-02T15:04:05.000000Z")
}

// know makes a token valid. rest has further members of its response.
func (f *fake) know(text string, lasts time.Duration, roles []string, rest string) {
	var named []string
	for _, role := range roles {
		named = append(named, fmt.Sprintf(`{"id": "r", "name": %q}`, role))
	}
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.known[text] = fmt.Sprintf(`{"expires_at": %q, "user": {"id": %q, "domain": {"id": "ud"}}, "roles": [%s]%s}`,
		at(lasts), "u-"+text, strings.Join(named, ", "), rest)
}

// answer sets a function that may write the response instead of the fake; nil removes it.
func (f *fake) answer(before func(w http.ResponseWriter, r *http.Request) bool) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.before = before
}

// want checks the number of authentications and validations since the last call.
func (f *fake) want(t *testing.T, signIns, questions int) {
	t.Helper()
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.signIns != signIns || f.questions != questions {
		t.Errorf("%d authentications and %d validations, want %d and %d", f.signIns, f.questions, signIns, questions)
	}
	f.signIns, f.questions = 0, 0
}

// options returns the options of an authenticator that validates tokens with the fake.
func (f *fake) options() Options {
	return Options{
		Who:       gophercloud.AuthOptions{IdentityEndpoint: f.URL + "/v3", Username: "berth", Password: password, DomainName: "Default"},
		Interface: "internal", PublicURL: "https://public.example.org/identity", Timeout: 5 * time.Second, Retries: 2, Pause: time.Millisecond,
		CacheTime: time.Minute, ServiceRoles: []string{"service"}, ServiceRolesRequired: true, ServiceType: "placement",
		Log: slog.New(slog.DiscardHandler),
	}
}

func (f *fake) authenticator(t *testing.T, change ...func(*Options)) *Authenticator {
	t.Helper()
	options := f.options()
	for _, change := range change {
		change(&options)
	}
	made, err := New(options)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// requestTo returns a request with headers, given as pairs.
func requestTo(t *testing.T, path string, headers ...string) *http.Request {
	t.Helper()
	made := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
	for i := 0; i < len(headers); i += 2 {
		made.Header.Add(headers[i], headers[i+1])
	}
	return made
}

// ask authenticates a request with a token.
func ask(t *testing.T, by *Authenticator, headers ...string) (auth.Caller, error) {
	t.Helper()
	return by.Authenticate(requestTo(t, "/traits", headers...))
}
