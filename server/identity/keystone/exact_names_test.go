package keystone

import (
	"fmt"
	"net/http"
	"reflect"
	"testing"
	"time"

	"github.com/berthd/berth/server/identity/auth"
)

// TestKeystone_ResponseNames_ComparedExactly checks that a member of Keystone's response with a name in another case
// neither replaces a member nor takes its place, and that a member that Berth reads is there at most once. Other members
// are ignored, with all that they contain.
func TestKeystone_ResponseNames_ComparedExactly(t *testing.T) {
	t.Parallel()
	const token = `"user": {"id": "u", "domain": {"id": "ud"}}, "project": {"id": "p", "domain": {"id": "pd"}}, "roles": [{"id": "r", "name": "reader"}]`
	soon := fmt.Sprintf(`"expires_at": %q, `, at(time.Hour))
	want := auth.Caller{UserID: "u", UserDomainID: "ud", ProjectID: "p", ProjectDomainID: "pd", Roles: []string{"reader"}, Method: auth.MethodKeystone}
	const twice = `the member %q appears twice in one object`
	for name, c := range map[string]struct {
		body    string
		unknown string // the error of Keystone's response
		refused string // the reason of a 401
	}{
		"unknown members": {body: `{"token": {` + soon + token + `, "x": {"a": 1, "a": 2}, "x": [], "methods": ["password"]}, "x": 1}`},
		"members in another case": {body: `{"token": {` + soon + token + `, "USER": {"id": "root"}, "Project": {"id": "other"}, "Roles": [{"name": "admin"}],
			"System": {"all": true}, "Bind": {"kerberos": "x"}, "Is_Admin_Project": false, "EXPIRES_AT": "2000-01-01T00:00:00Z",
			"Application_Credential": {"access_rules": []}, "Domain": {"id": "d"}}, "TOKEN": {}}`},
		"nested members in another case": {body: `{"token": {` + soon + `"user": {"id": "u", "ID": "root", "Id": 7, "domain": {"id": "ud", "ID": "x"}},
			"project": {"id": "p", "Id": "x", "domain": {"id": "pd"}, "DOMAIN": {"id": "x"}}, "roles": [{"name": "reader", "NAME": "admin"}]}}`},
		"token in another case":      {body: `{"Token": {` + soon + token + `}}`, unknown: "the response of Keystone has no expires_at"},
		"user in another case":       {body: `{"token": {` + soon + `"User": {"id": "u"}}}`, unknown: "the response of Keystone has no user"},
		"expires_at in another case": {body: `{"token": {"Expires_at": "2100-01-01T00:00:00Z", ` + token + `}}`, unknown: "the response of Keystone has no expires_at"},
		"token twice":                {body: `{"token": {` + soon + token + `}, "token": {"roles": [{"name": "admin"}]}}`, unknown: fmt.Sprintf(twice, "token")},
		"roles twice":                {body: `{"token": {` + soon + token + `, "roles": [{"name": "admin"}]}}`, unknown: fmt.Sprintf(twice, "roles")},
		"escaped roles twice":        {body: `{"token": {` + soon + token + `, "\u0072oles": [{"name": "admin"}]}}`, unknown: fmt.Sprintf(twice, "roles")},
		"id twice":                   {body: `{"token": {` + soon + `"user": {"id": "u", "id": "root"}}}`, unknown: fmt.Sprintf(twice, "id")},
		"system all twice":           {body: `{"token": {` + soon + token + `, "system": {"all": false, "all": true}}}`, unknown: fmt.Sprintf(twice, "all")},
		"access rules twice":         {body: `{"token": {` + soon + token + `, "application_credential": {"access_rules": [], "access_rules": null}}}`, unknown: fmt.Sprintf(twice, "access_rules")},
		"bind removed by null":       {body: `{"token": {` + soon + token + `, "bind": {"kerberos": "x"}, "bind": null}}`, unknown: fmt.Sprintf(twice, "bind")},
		"bind":                       {body: `{"token": {` + soon + token + `, "bind": {"kerberos": "x"}}}`, refused: "the token is bound to a credential that Berth cannot check"},
		"invalid UTF-8":              {body: "{\"token\": {" + soon + "\"user\": {\"id\": \"u\xff\"}}}", unknown: "the text is not UTF-8"},
		"text after the document":    {body: `{"token": {` + soon + token + `}} {}`, unknown: "after top-level value"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			keystone := newFake(t)
			keystone.answer(func(w http.ResponseWriter, r *http.Request) bool {
				if r.Method == http.MethodGet {
					_, _ = w.Write([]byte(c.body))
				}
				return r.Method == http.MethodGet
			})
			got, err := ask(t, keystone.authenticator(t), "X-Auth-Token", "t")
			switch {
			case c.unknown != "":
				wantAway(t, err, c.unknown)
			case c.refused != "":
				wantRefused(t, err, c.refused)
			default:
				want := want
				want.Expires = got.Expires
				if err != nil || !reflect.DeepEqual(got, want) {
					t.Errorf("caller = %+v, error %v; want %+v", got, err, want)
				}
			}
		})
	}
}
