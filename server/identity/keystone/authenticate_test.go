package keystone

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/berthd/berth/server/identity/auth"
)

// wantRefused checks that err is an *auth.UnauthenticatedError (401) whose reason contains words.
func wantRefused(t *testing.T, err error, words string) {
	t.Helper()
	var refused *auth.UnauthenticatedError
	if !errors.As(err, &refused) || !strings.Contains(refused.Reason, words) {
		t.Errorf("err = %v, want an UnauthenticatedError with %q", err, words)
		return
	}
	if refused.Challenge != `Keystone uri="https://public.example.org/identity"` {
		t.Errorf("Challenge = %q", refused.Challenge)
	}
}

// wantAway checks that err leads to a 503 and contains words.
func wantAway(t *testing.T, err error, words string) {
	t.Helper()
	var refused *auth.UnauthenticatedError
	if err == nil || errors.As(err, &refused) || !strings.Contains(err.Error(), words) {
		t.Errorf("err = %v, want an error with %q that is no UnauthenticatedError", err, words)
	}
}

func TestKeystone_Token_YieldsCaller(t *testing.T) {
	t.Parallel()
	keystone := newFake(t)
	project := `, "project": {"id": "p", "domain": {"id": "pd"}}`
	of := func(change func(*auth.Caller)) auth.Caller {
		caller := auth.Caller{UserID: "u-t", UserDomainID: "ud", Method: auth.MethodKeystone, Roles: []string{"admin", "reader"}}
		change(&caller)
		return caller
	}
	for name, c := range map[string]struct {
		rest string
		want auth.Caller
	}{
		"for a project": {project, of(func(c *auth.Caller) { c.ProjectID, c.ProjectDomainID = "p", "pd" })},
		"for a project of administrators": {project + `, "is_admin_project": true`,
			of(func(c *auth.Caller) { c.ProjectID, c.ProjectDomainID = "p", "pd" })},
		"for a project of others": {project + `, "is_admin_project": false`,
			of(func(c *auth.Caller) { c.ProjectID, c.ProjectDomainID, c.OrdinaryProject = "p", "pd", true })},
		"for the system":  {`, "system": {"all": true}`, of(func(c *auth.Caller) { c.SystemScope = "all" })},
		"for a domain":    {`, "domain": {"id": "d"}`, of(func(c *auth.Caller) { c.DomainID = "d" })},
		"for nothing":     {``, of(func(*auth.Caller) {})},
		"of a credential": {`, "application_credential": {"id": "a"}`, of(func(*auth.Caller) {})},
	} {
		keystone.know("t", time.Hour, []string{"admin", "reader"}, c.rest)
		got, err := ask(t, keystone.authenticator(t), "X-Auth-Token", " t ")
		if left := time.Until(got.Expires); left < 50*time.Minute || left > time.Hour {
			t.Errorf("%s: expires in %v, want an hour", name, left)
		}
		c.want.Expires = got.Expires
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %+v, %v; want %+v", name, got, err, c.want)
		}
	}
	got, err := ask(t, keystone.authenticator(t), "X-Storage-Token", "t")
	if err != nil || got.UserID != "u-t" {
		t.Errorf("with X-Storage-Token: caller = %+v, err = %v", got, err)
	}
}

func TestKeystone_InvalidTokenHeaders_RejectedWithoutRequest(t *testing.T) {
	t.Parallel()
	keystone := newFake(t)
	by := keystone.authenticator(t)
	for words, headers := range map[string][]string{
		"no token in the header": {"X-User-Id", "admin", "X-Roles", "admin"},
		"no token in the":        {"X-Auth-Token", " "},
		"2 times":                {"X-Auth-Token", "a", "X-Auth-Token", "b"},
		"has 8193 bytes":         {"X-Auth-Token", strings.Repeat("a", auth.MaxToken+1)},
		"characters":             {"X-Auth-Token", "a b"},
		"X-Service-Token":        {"X-Auth-Token", "a", "X-Service-Token", "é"},
	} {
		_, err := ask(t, by, headers...)
		wantRefused(t, err, words)
	}
	keystone.want(t, 0, 0)
	_, err := ask(t, by, "X-Auth-Token", "unknown")
	wantRefused(t, err, "does not know the token")
	keystone.know("bound", time.Hour, nil, `, "bind": {"kerberos": "me"}`)
	_, err = ask(t, by, "X-Auth-Token", "bound")
	wantRefused(t, err, "bound")
}

func TestKeystone_AuthHeaders_RemovedFromRequest(t *testing.T) {
	t.Parallel()
	keystone := newFake(t)
	keystone.know("t", time.Hour, nil, "")
	r := requestTo(t, "/traits", "X-Auth-Token", "t", "X-Storage-Token", "o", "X-Roles", "admin", "X-Openstack-Request-Id", "req-1")
	if _, err := keystone.authenticator(t).Authenticate(r); err != nil {
		t.Error(err)
	}
	if want := (http.Header{"X-Openstack-Request-Id": {"req-1"}}); !reflect.DeepEqual(r.Header, want) {
		t.Errorf("headers = %v, want %v", r.Header, want)
	}
}

func TestKeystone_ServiceToken_AuthorizesExpiredUserToken(t *testing.T) {
	t.Parallel()
	keystone := newFake(t)
	project := `, "project": {"id": "p", "domain": {"id": "pd"}}`
	keystone.know("user", time.Hour, []string{"reader"}, "")
	keystone.know("expired", -time.Hour, []string{"reader"}, "")
	keystone.know("nova", time.Hour, []string{"service"}, project)
	keystone.know("mallory", time.Hour, []string{"admin"}, project)
	keystone.know("expired-nova", -time.Hour, []string{"service"}, project)
	strict := keystone.authenticator(t)
	lenient := keystone.authenticator(t, func(o *Options) { o.ServiceRolesRequired = false })
	for _, c := range []struct {
		name          string
		by            *Authenticator
		user, service string
		words         string // in the reason; empty: the tokens are accepted
	}{
		{"a user alone", strict, "user", "", ""},
		{"an expired user alone", strict, "expired", "", "expired"},
		{"a user and a service", strict, "user", "nova", ""},
		{"an expired user and a service", strict, "expired", "nova", ""},
		{"a user and no service", strict, "user", "mallory", "none of the roles service"},
		{"a user and an unknown service", strict, "user", "unknown", "service token: Keystone does not know"},
		{"a user and an expired service", strict, "user", "expired-nova", "service token: Keystone does not know"},
		{"a service alone", strict, "", "nova", "no token in the header X-Auth-Token"},
		{"a user and no service, which is not required", lenient, "user", "mallory", ""},
		{"an expired user and no service, which is not required", lenient, "expired", "mallory", "expired"},
		{"an expired user and a service, which is not required", lenient, "expired", "nova", ""},
		{"a user and an unknown service, which is not required", lenient, "user", "unknown", "service token"},
	} {
		got, err := ask(t, c.by, "X-Auth-Token", c.user, "X-Service-Token", c.service)
		if c.words != "" {
			wantRefused(t, err, c.words)
			continue
		}
		want := auth.Service{}
		if c.service != "" {
			want = auth.Service{UserID: "u-" + c.service, UserDomainID: "ud", ProjectID: "p", ProjectDomainID: "pd", Roles: got.Service.Roles}
		}
		if err != nil || got.UserID != "u-"+c.user || !reflect.DeepEqual(got.Service, want) {
			t.Errorf("%s: got %+v, %v", c.name, got, err)
		}
	}
}

func TestKeystone_Secrets_NeverInErrorsOrLog(t *testing.T) {
	t.Parallel()
	keystone := newFake(t)
	var log bytes.Buffer
	by := keystone.authenticator(t, func(o *Options) {
		o.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	var said []string
	for _, status := range []int{200, 400, 401, 403, 404, 500, 503} {
		keystone.answer(func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodPost && status != http.StatusServiceUnavailable {
				return false
			}
			refuse(w, status, fmt.Sprint(r.Header, "and", password))
			return true
		})
		_, err := ask(t, by, "X-Auth-Token", "secret-token")
		said = append(said, err.Error())
	}
	for _, one := range append(said, log.String()) {
		if strings.Contains(one, "secret-token") {
			t.Errorf("it says %s", one)
		}
	}
}

func TestKeystone_ErrorEchoesSecret_Hidden(t *testing.T) {
	t.Parallel()
	keystone := newFake(t)
	keystone.answer(func(w http.ResponseWriter, r *http.Request) bool {
		said, _ := io.ReadAll(r.Body)
		refuse(w, http.StatusBadRequest, "cannot read "+string(said))
		return true
	})
	for name, who := range map[string]gophercloud.AuthOptions{
		"a password":   {Username: "berth", Password: "hunter2", DomainName: "Default"},
		"a credential": {ApplicationCredentialID: "c", ApplicationCredentialSecret: "hunter2"},
	} {
		who.IdentityEndpoint = keystone.URL + "/v3"
		_, err := ask(t, keystone.authenticator(t, func(o *Options) { o.Who = who }), "X-Auth-Token", "t")
		wantAway(t, err, "status 400")
		if strings.Contains(fmt.Sprint(err), "hunter2") {
			t.Errorf("%s: it says %v", name, err)
		}
	}
}

func TestKeystone_RedirectToOtherHost_Rejected(t *testing.T) {
	t.Parallel()
	keystone, other := newFake(t), newFake(t)
	keystone.know("t", time.Hour, nil, "")
	by := keystone.authenticator(t)
	elsewhere := strings.Replace(other.URL, "127.0.0.1", "localhost", 1)
	keystone.answer(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodGet {
			http.Redirect(w, r, elsewhere+r.URL.Path, http.StatusTemporaryRedirect)
		}
		return r.Method == http.MethodGet
	})
	_, err := ask(t, by, "X-Auth-Token", "t")
	wantAway(t, err, "not following the redirect")
	other.want(t, 0, 0)
}

func TestKeystone_InvalidOptions_RejectedByNew(t *testing.T) {
	t.Parallel()
	for words, change := range map[string]func(*Options){
		`interface "secret"`: func(o *Options) { o.Interface = "secret" },
		"address":            func(o *Options) { o.Who.IdentityEndpoint = "" },
	} {
		options := newFake(t).options()
		change(&options)
		if _, err := New(options); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("got %v, want %q", err, words)
		}
	}
}
