package oidc_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/berthd/berth/server/identity/auth"
	"github.com/berthd/berth/server/identity/oidc"
)

// plain is the mapping with the names of the defaults.
var plain = oidc.ClaimMapping{User: "sub", Project: "project", Roles: "roles"}

func TestAuth_OIDCClaimMapping_YieldsCaller(t *testing.T) {
	t.Parallel()
	caller := func(user, project string, roles ...string) auth.Caller {
		return auth.Caller{UserID: user, Subject: "s1", ProjectID: project, Roles: roles, Method: auth.MethodOIDC}
	}
	nested := oidc.ClaimMapping{User: "preferred_username", Project: "berth.project", Roles: "resource_access.berth.api.roles"}
	groups := plain
	groups.RoleMap = map[string][]string{"/ops": {"admin", "service"}, "/dev": {"member"}}
	system := plain
	system.System = "berth_system"
	operator := caller("s1", "", "reader")
	operator.SystemScope = "all"
	for name, c := range map[string]struct {
		mapping oidc.ClaimMapping
		claims  string
		want    auth.Caller
	}{
		"names":           {plain, `{"sub":"s1","project":"lab","roles":["reader"]}`, caller("s1", "lab", "reader")},
		"implied roles":   {plain, `{"sub":"s1","project":"lab","roles":["Member"]}`, caller("s1", "lab", "Member", "reader")},
		"roles as text":   {plain, `{"sub":"s1","project":"lab","roles":" service  reader reader"}`, caller("s1", "lab", "service", "reader")},
		"project in list": {plain, `{"sub":"s1","project":["lab"],"roles":"reader"}`, caller("s1", "lab", "reader")},
		"other types in the list of roles": {plain, `{"sub":"s1","project":"lab","roles":[1,null,{"a":1},"reader",""]}`,
			caller("s1", "lab", "reader")},
		"nested, with dots in names": {nested,
			`{"sub":"s1","preferred_username":"ada","berth":{"project":"lab"},"resource_access":{"berth.api":{"roles":["reader"]}}}`,
			caller("ada", "lab", "reader")},
		"a name with dots before a path": {nested,
			`{"sub":"s1","preferred_username":"ada","berth":{"project":"x"},"berth.project":"lab","resource_access.berth":{"api.roles":"reader"}}`,
			caller("ada", "lab", "reader")},
		"role map":            {groups, `{"sub":"s1","project":"lab","roles":["/ops","/other","admin"]}`, caller("s1", "lab", "admin", "service", "manager", "member", "reader")},
		"system as text":      {system, `{"sub":"s1","berth_system":"all","project":"lab","roles":["reader"]}`, operator},
		"system as boolean":   {system, `{"sub":"s1","berth_system":true,"roles":["reader"]}`, operator},
		"system false":        {system, `{"sub":"s1","berth_system":false,"project":"lab","roles":["reader"]}`, caller("s1", "lab", "reader")},
		"system not mapped":   {plain, `{"sub":"s1","berth_system":true,"project":"lab","roles":["reader"]}`, caller("s1", "lab", "reader")},
		"names in any script": {plain, `{"sub":"s1","project":"Größe 1","roles":["reader"]}`, caller("s1", "Größe 1", "reader")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := c.mapping.Caller(c.claims)
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("caller = %+v, error %v; want %+v", got, err, c.want)
			}
		})
	}
}

func TestAuth_OIDCMissingClaim_IsDeniedByName(t *testing.T) {
	t.Parallel()
	groups := plain
	groups.RoleMap = map[string][]string{"/ops": {"admin"}}
	system := plain
	system.System = "system"
	long := strings.Repeat("x", 256)
	for name, c := range map[string]struct {
		mapping      oidc.ClaimMapping
		claims, want string
	}{
		"no user":           {plain, `{"project":"lab","roles":["reader"]}`, `The token has no claim "sub" (--oidc-user-claim).`},
		"no project":        {plain, `{"sub":"s1","roles":["reader"]}`, `The token has no claim "project" (--oidc-project-claim).`},
		"null project":      {plain, `{"sub":"s1","project":null,"roles":["reader"]}`, `The token has no claim "project" (--oidc-project-claim).`},
		"empty project":     {plain, `{"sub":"s1","project":"","roles":["reader"]}`, `The token has no claim "project" (--oidc-project-claim).`},
		"empty list":        {plain, `{"sub":"s1","project":[],"roles":["reader"]}`, `The token has no claim "project" (--oidc-project-claim).`},
		"two projects":      {plain, `{"sub":"s1","project":["a","b"],"roles":["reader"]}`, `The claim "project" of the token (--oidc-project-claim) has 2 values, but must have one.`},
		"project is number": {plain, `{"sub":"s1","project":7,"roles":["reader"]}`, `The claim "project" of the token (--oidc-project-claim) is not a text of at most 255 printable characters.`},
		"long project":      {plain, `{"sub":"s1","project":"` + long + `","roles":["reader"]}`, `The claim "project" of the token (--oidc-project-claim) is not a text of at most 255 printable characters.`},
		"control character": {plain, `{"sub":"s1","project":"a\nb","roles":["reader"]}`, `The claim "project" of the token (--oidc-project-claim) is not a text of at most 255 printable characters.`},
		"no roles":          {plain, `{"sub":"s1","project":"lab"}`, `The token has no roles in the claim "roles" (--oidc-roles-claim).`},
		"empty roles":       {plain, `{"sub":"s1","project":"lab","roles":[]}`, `The token has no roles in the claim "roles" (--oidc-roles-claim).`},
		"roles are object":  {plain, `{"sub":"s1","project":"lab","roles":{"admin":true}}`, `The claim "roles" of the token (--oidc-roles-claim) is neither a text nor a list.`},
		"no mapped role":    {groups, `{"sub":"s1","project":"lab","roles":["admin","/dev"]}`, `None of the values of the claim "roles" of the token (--oidc-roles-claim) has a role in --oidc-role-map.`},
		"odd system":        {system, `{"sub":"s1","project":"lab","roles":["reader"],"system":"yes"}`, `The claim "system" of the token (--oidc-system-claim) is neither true nor "all".`},
		"system is list":    {system, `{"sub":"s1","project":"lab","roles":["reader"],"system":["all"]}`, `The claim "system" of the token (--oidc-system-claim) is neither true nor "all".`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			caller, err := c.mapping.Caller(c.claims)
			var denied *auth.DeniedError
			if !errors.As(err, &denied) || denied.Detail != c.want || !reflect.DeepEqual(caller, auth.Caller{}) {
				t.Errorf("caller = %+v, error %v; want %s", caller, err, c.want)
			}
		})
	}
}

// FuzzOIDCClaims checks that each JSON object yields a complete caller or a denial, never a caller without
// user, project or scope, and roles.
func FuzzOIDCClaims(f *testing.F) {
	f.Add(`{"sub":"s1","project":"lab","roles":["reader"]}`, "sub", "project", "a.b.roles", "system")
	f.Add(`{"a":{"b":{"roles":"x y"}},"a.b":{"roles":[1]},"system":true}`, "a", "a.b", "a.b.roles", "a..b")
	f.Add(`{"":{"":""}}`, ".", "..", "", ".a.")
	f.Fuzz(func(t *testing.T, claims, user, project, roles, system string) {
		caller, err := oidc.ClaimMapping{User: user, Project: project, Roles: roles, System: system}.Caller(claims)
		var denied *auth.DeniedError
		if err != nil {
			if json.Valid([]byte(claims)) && strings.HasPrefix(claims, "{") && !errors.As(err, &denied) {
				t.Errorf("error = %v, want a DeniedError", err)
			}
			return
		}
		if caller.UserID == "" || (caller.ProjectID == "") == (caller.SystemScope == "") || len(caller.Roles) == 0 || slices.Contains(caller.Roles, "") {
			t.Errorf("incomplete caller %+v of %s", caller, claims)
		}
	})
}
