package server_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/identity/policy"
	"github.com/berthd/berth/server/identity/tokens"
)

// tokenPersonas lists the tokens of the personas of access_test.go, in their order. A token has at least one role.
var tokenPersonas = []tokens.Entry{
	{Project: "mine", Roles: []string{"admin"}},
	{Project: "mine", Roles: []string{"service"}},
	{Project: "mine", Roles: []string{"admin", "service"}},
	{Project: "mine", Roles: []string{"reader"}},
	{Project: "mine", Roles: []string{"member"}},
	{Project: "mine", Roles: []string{"other"}},
	{System: true, Roles: []string{"admin"}},
	{Domain: "d", Roles: []string{"service", "reader"}},
}

// newTokens returns an authenticator with a token for each entry, and the tokens.
func newTokens(t *testing.T, entries []tokens.Entry) (*tokens.Authenticator, []string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tokens.yaml")
	var made []string
	for _, entry := range entries {
		entry.User = "u"
		complete, token, err := tokens.NewEntry(entry, time.Now())
		if err == nil {
			err = tokens.Add(t.Context(), path, complete)
		}
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, token)
	}
	opened, err := tokens.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return opened, made
}

// TestAuth_TokensOfPersonas_PassPolicyOfTheirRoles sends a request for every operation with the token of every persona,
// with both sets of defaults. The decisions are those without authentication, except that the role member implies
// reader. Headers of the client that name other roles and a system scope have no effect.
func TestAuth_TokensOfPersonas_PassPolicyOfTheirRoles(t *testing.T) {
	t.Parallel()
	opened, made := newTokens(t, tokenPersonas)
	handlers := map[bool]http.Handler{}
	for _, enforced := range []bool{true, false} {
		rules := policy.New(policy.Options{EnforceNewDefaults: enforced, EnforceScope: true})
		handlers[enforced] = handlerWith(t, rules, func(options *server.Options) { options.Authenticate = opened.Authenticate })
	}
	for _, row := range accessRows {
		method, target, _ := strings.Cut(row.request, " ")
		path, query, _ := strings.Cut(target, "?")
		at := slices.IndexFunc(server.Operations(), func(op *route.Operation) bool { return op.Method == method && op.Path == path })
		op := server.Operations()[at]
		t.Run(op.ID+" "+query, func(t *testing.T) {
			t.Parallel()
			for enforced, letters := range map[bool]string{true: row.enforced, false: row.legacy} {
				want := []byte(strings.ReplaceAll(letters, " ", ""))
				const reader, member = 3, 4
				if want[reader] == 'y' {
					want[member] = 'y'
				}
				var got []byte
				for i, token := range made {
					headers := []string{"X-Auth-Token", token, "X-Roles", "admin,service", "OpenStack-System-Scope", "all", "X-Service-Token", "x"}
					if i%2 == 1 {
						headers[0], headers[1] = "Authorization", "Bearer "+token
					}
					got = append(got, letterOf(t, personas[i].name, op, askAs(handlers[enforced], op, query, headers)))
				}
				if string(got) != string(want) {
					t.Errorf("EnforceNewDefaults = %t: decisions = %s, want %s", enforced, got, want)
				}
			}
		})
	}
}

// TestAuth_TokenInvalid_Returns401OfOneForm sends requests without a valid token to both APIs.
func TestAuth_TokenInvalid_Returns401OfOneForm(t *testing.T) {
	t.Parallel()
	opened, made := newTokens(t, tokenPersonas[:1])
	handler := handlerWith(t, policy.New(policy.Defaults()), func(options *server.Options) { options.Authenticate = opened.Authenticate })
	const missing, invalid = `Bearer realm="berth"`, `Bearer realm="berth", error="invalid_token"`
	for _, c := range []struct {
		path      string
		headers   http.Header
		status    int
		challenge string
	}{
		{"/traits", nil, 401, missing},
		{"/unknown", nil, 401, missing},
		{"/v1/nodes", nil, 401, missing},
		{"/v1/nodes", http.Header{"X-Auth-Token": {"notused"}}, 401, invalid},
		{"/traits", http.Header{"X-Auth-Token": {"admin"}, "X-Roles": {"admin"}}, 401, invalid},
		{"/traits", http.Header{"Authorization": {"Basic YWRtaW46YWRtaW4="}}, 401, invalid},
		{"/traits", http.Header{"X-Auth-Token": made, "Authorization": {"Bearer x"}}, 401, invalid},
		{"/resource_providers", http.Header{"X-Auth-Token": made, "Authorization": {"Bearer " + made[0]}}, 200, ""},
		{"/v1/nodes", http.Header{"Authorization": {"bearer " + made[0]}}, 200, ""},
		{"/", nil, 200, ""},
		{"/v1", nil, 200, ""},
	} {
		r := httptest.NewRequest(http.MethodGet, c.path, nil)
		for name, values := range c.headers {
			r.Header[name] = values
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Code != c.status || w.Header().Get("WWW-Authenticate") != c.challenge {
			t.Errorf("%s with %v: status %d, challenge %q: %s", c.path, c.headers, w.Code, w.Header().Get("WWW-Authenticate"), w.Body)
		}
		var body struct{ Error map[string]any }
		want := map[string]any{"code": 401.0, "title": "Unauthorized", "message": "The request you have made requires authentication."}
		if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil || c.status == 401 && !reflect.DeepEqual(body.Error, want) {
			t.Errorf("%s with %v: %v, %s", c.path, c.headers, err, w.Body)
		}
	}
}
