package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/berthd/berth/server/console"
	"github.com/berthd/berth/server/identity/keystone"
)

// signInKeystone is the part of Keystone that a sign-in uses. It replaces the real one, which the end-to-end tests use, for
// failures that Keystone cannot be made to produce.
type signInKeystone struct {
	*httptest.Server
	mutex sync.Mutex
	// asked are the requests in order: method, path, and scope or token.
	asked []string
	// projects is the list of the user's projects in JSON.
	projects string
	// before answers in place of the fake if it returns true.
	before func(w http.ResponseWriter, r *http.Request) bool
}

// sesame is a password that must be in no log.
const sesame = "open-s3same"

func newSignInKeystone(t *testing.T) *signInKeystone {
	t.Helper()
	made := &signInKeystone{projects: `[{"id": "p1", "name": "lab", "enabled": true}]`}
	made.Server = httptest.NewServer(made)
	t.Cleanup(made.Close)
	return made
}

func (k *signInKeystone) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if k.before != nil && k.before(w, r) {
		return
	}
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if r.Method == http.MethodGet {
		k.asked = append(k.asked, "GET "+r.URL.Path+" as "+r.Header.Get("X-Auth-Token"))
		fmt.Fprintf(w, `{"projects": %s}`, k.projects)
		return
	}
	var body struct {
		Auth struct {
			Identity struct {
				Methods               []string
				Password              struct{ User map[string]any }
				Token                 struct{ ID string }
				ApplicationCredential map[string]any `json:"application_credential"`
			}
			Scope any
		}
	}
	_ = json.NewDecoder(r.Body).Decode(&body)
	identity := body.Auth.Identity
	scope, _ := json.Marshal(body.Auth.Scope)
	k.asked = append(k.asked, fmt.Sprint("POST ", r.URL.Path, " ", identity.Methods, identity.Password.User["name"], identity.Password.User["domain"], identity.Token.ID, " ", string(scope)))
	if identity.Password.User["password"] != sesame && identity.Token.ID != "unscoped" && identity.ApplicationCredential["secret"] != sesame {
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprint(w, `{"error": {"code": 401, "message": "The account is\nlocked for user: u1.", "title": "Unauthorized"}}`)
		return
	}
	token := "scoped"
	if body.Auth.Scope == "unscoped" {
		token = "unscoped"
	}
	w.Header().Set("X-Subject-Token", token)
	w.WriteHeader(http.StatusCreated)
	fmt.Fprintf(w, `{"token": {"expires_at": "2030-01-02T03:04:05.000000Z"}}`)
}

// users returns the sign-in with the fake, and its log.
func (k *signInKeystone) users() (*keystoneUsers, *bytes.Buffer) {
	log := &bytes.Buffer{}
	return newKeystoneUsers(keystone.Options{
		Who: gophercloud.AuthOptions{IdentityEndpoint: k.URL + "/v3"}, Timeout: time.Second, Total: 2 * time.Second,
	}, slog.New(slog.NewTextHandler(log, nil))), log
}

func TestKeystone_ConsoleSignIn_AsksForTheRightScope(t *testing.T) {
	t.Parallel()
	const id = "0123456789abcdef0123456789abcdef"
	const two = `[{"id": "p2", "name": "render", "enabled": true}, {"id": "p0", "name": "off", "enabled": false}, {"id": "p1", "name": "lab", "enabled": true}]`
	until := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, c := range map[string]struct {
		projects string
		given    console.Credentials
		want     console.Grant
		asked    []string
	}{
		"a project by name": {"", console.Credentials{User: "ada", Password: sesame, Project: "lab"}, console.Grant{Token: "scoped", Expires: until},
			[]string{`POST /v3/auth/tokens [password]adamap[name:Default] {"project":{"domain":{"name":"Default"},"name":"lab"}}`}},
		"another domain": {"", console.Credentials{User: " ada ", Domain: "people", Password: sesame, Project: "lab"}, console.Grant{Token: "scoped", Expires: until},
			[]string{`POST /v3/auth/tokens [password]adamap[name:people] {"project":{"domain":{"name":"people"},"name":"lab"}}`}},
		"a project by id": {"", console.Credentials{User: "ada", Password: sesame, Project: id}, console.Grant{Token: "scoped", Expires: until},
			[]string{`POST /v3/auth/tokens [password]adamap[name:Default] {"project":{"id":"` + id + `"}}`}},
		"the only project": {"", console.Credentials{User: "ada", Password: sesame}, console.Grant{Token: "scoped", Expires: until},
			[]string{`POST /v3/auth/tokens [password]adamap[name:Default] "unscoped"`, "GET /v3/auth/projects as unscoped", `POST /v3/auth/tokens [token] <nil> <nil>unscoped {"project":{"id":"p1"}}`}},
		"several projects": {two, console.Credentials{User: "ada", Password: sesame},
			console.Grant{Token: "unscoped", Expires: until, Projects: []console.Project{{ID: "p1", Name: "lab"}, {ID: "p2", Name: "render"}}},
			[]string{`POST /v3/auth/tokens [password]adamap[name:Default] "unscoped"`, "GET /v3/auth/projects as unscoped"}},
		"members in another case": {`[{"id": "p1", "ID": "p9", "name": "lab", "Name": "other", "enabled": true, "Enabled": false}, {"id": "p2", "name": "off", "ENABLED": true}]`,
			console.Credentials{User: "ada", Password: sesame}, console.Grant{Token: "scoped", Expires: until},
			[]string{`POST /v3/auth/tokens [password]adamap[name:Default] "unscoped"`, "GET /v3/auth/projects as unscoped", `POST /v3/auth/tokens [token] <nil> <nil>unscoped {"project":{"id":"p1"}}`}},
		"the chosen project": {"", console.Credentials{Token: "unscoped", ProjectID: "p2"}, console.Grant{Token: "scoped", Expires: until},
			[]string{`POST /v3/auth/tokens [token] <nil> <nil>unscoped {"project":{"id":"p2"}}`}},
		"an application credential": {"", console.Credentials{ApplicationID: "a1", Secret: sesame}, console.Grant{Token: "scoped", Expires: until},
			[]string{`POST /v3/auth/tokens [application_credential] <nil> <nil> null`}},
	} {
		fake := newSignInKeystone(t)
		if c.projects != "" {
			fake.projects = c.projects
		}
		users, log := fake.users()
		got, err := users.signIn(t.Context(), c.given)
		if err != nil || fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, c.want)
		}
		if strings.Join(fake.asked, "\n") != strings.Join(c.asked, "\n") {
			t.Errorf("%s: asked\n%s\nwant\n%s", name, strings.Join(fake.asked, "\n"), strings.Join(c.asked, "\n"))
		}
		if log.Len() > 0 {
			t.Errorf("%s: log: %s", name, log)
		}
	}
}

func TestKeystone_ConsoleSignInFails_IsOneSentence(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", 400)
	for name, c := range map[string]struct {
		status   int
		body     string
		given    console.Credentials
		want     string
		isLogged bool
	}{
		"a wrong password":   {0, "", console.Credentials{User: "ada", Password: "wrong-s3cret", Project: "p"}, "Keystone: The account is locked for user: u1.", false},
		"no password":        {0, "", console.Credentials{User: "ada"}, "Enter both fields: the user and the password, or the credential and its secret.", false},
		"no secret":          {0, "", console.Credentials{ApplicationID: "a"}, "Enter both fields: the user and the password, or the credential and its secret.", false},
		"forbidden":          {403, `{"error": {"message": "No."}}`, console.Credentials{User: "ada", Password: sesame}, "Keystone: No.", false},
		"no JSON":            {401, "<html>" + sesame, console.Credentials{User: "ada", Password: sesame}, "Keystone: Unauthorized.", false},
		"a long sentence":    {400, `{"error": {"message": "` + long + `"}}`, console.Credentials{User: "ada", Password: sesame}, "Keystone: " + strings.Repeat("ä", 150) + "…", false},
		"an error of its":    {500, sesame, console.Credentials{User: "ada", Password: sesame}, "Keystone does not answer. Try again.", true},
		"a proxy in front":   {503, "", console.Credentials{User: "ada", Password: sesame}, "Keystone does not answer. Try again.", true},
		"too many requests":  {429, "", console.Credentials{User: "ada", Password: sesame}, "Keystone does not answer. Try again.", true},
		"an answer of chaos": {201, "{", console.Credentials{User: "ada", Password: sesame}, "Keystone does not answer. Try again.", true},
	} {
		fake := newSignInKeystone(t)
		if c.status != 0 {
			fake.before = func(w http.ResponseWriter, _ *http.Request) bool {
				w.WriteHeader(c.status)
				fmt.Fprint(w, c.body)
				return true
			}
		}
		users, log := fake.users()
		got, err := users.signIn(t.Context(), c.given)
		if err == nil || err.Error() != c.want || got.Token != "" {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
		if strings.Contains(log.String()+fmt.Sprint(err), sesame) || strings.Contains(log.String(), "wrong-s3cret") || (log.Len() > 0) != c.isLogged {
			t.Errorf("%s: log: %s", name, log)
		}
	}
	none := newSignInKeystone(t)
	none.projects = "[]"
	users, _ := none.users()
	if _, err := users.signIn(t.Context(), console.Credentials{User: "ada", Password: sesame}); err == nil || err.Error() != "The user has a role on no project." {
		t.Errorf("without a project: %v", err)
	}
	none.Close()
	if _, err := users.signIn(t.Context(), console.Credentials{User: "ada", Password: sesame}); err == nil || err.Error() != "Keystone does not answer. Try again." {
		t.Errorf("without Keystone: %v", err)
	}
}

// A password goes to no other host, wherever Keystone, or who claims to be it, leads.
func TestKeystone_ConsoleSignInRedirected_StaysOnTheHost(t *testing.T) {
	t.Parallel()
	var reached atomic.Bool
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Store(true) }))
	defer other.Close()
	fake := newSignInKeystone(t)
	fake.before = func(w http.ResponseWriter, r *http.Request) bool {
		http.Redirect(w, r, strings.Replace(other.URL, "127.0.0.1", "localhost", 1)+"/v3/auth/tokens", http.StatusTemporaryRedirect)
		return true
	}
	users, log := fake.users()
	_, err := users.signIn(t.Context(), console.Credentials{User: "ada", Password: sesame, Project: "p"})
	if err == nil || reached.Load() || strings.Contains(log.String(), sesame) {
		t.Errorf("reached %v, error %v, log %s", reached.Load(), err, log)
	}
}

func TestKeystone_ConsoleSignIns_AtMost8AtATime(t *testing.T) {
	t.Parallel()
	fake := newSignInKeystone(t)
	var running, most atomic.Int32
	fake.before = func(http.ResponseWriter, *http.Request) bool {
		most.Store(max(most.Load(), running.Add(1)))
		time.Sleep(50 * time.Millisecond)
		running.Add(-1)
		return false
	}
	users, _ := fake.users()
	users.total = time.Minute
	var wait sync.WaitGroup
	for range 20 {
		wait.Go(func() {
			if _, err := users.signIn(t.Context(), console.Credentials{User: "ada", Password: sesame, Project: "lab"}); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if most.Load() > maxSignIns || most.Load() < 2 {
		t.Errorf("%d at a time", most.Load())
	}
}

// A Keystone that does not answer holds a sign-in for the time of one authentication only.
func TestKeystone_ConsoleSignIn_IsBounded(t *testing.T) {
	t.Parallel()
	fake := newSignInKeystone(t)
	release := make(chan struct{})
	fake.before = func(http.ResponseWriter, *http.Request) bool { <-release; return true }
	users, _ := fake.users()
	users.total, users.over.Timeout = 50*time.Millisecond, 0
	_, err := users.signIn(t.Context(), console.Credentials{User: "ada", Password: sesame})
	close(release)
	if err == nil || err.Error() != "Keystone does not answer. Try again." {
		t.Errorf("error = %v", err)
	}
}
