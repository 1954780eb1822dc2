package keystone

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/berthd/berth/server/identity/auth"
	"github.com/berthd/berth/server/wire/request"
)

func TestKeystone_AccessRulePath_Matched(t *testing.T) {
	t.Parallel()
	for pattern, paths := range map[string][2]string{
		// The paths that match, and the paths that do not.
		"/traits":                         {"/traits", "/traits/ /traits/A /trait /TRAITS x/traits"},
		"/traits/*":                       {"/traits/A /traits/*", "/traits /traits/ /traits/A/B"},
		"/traits/{name}":                  {"/traits/A", "/traits/ /traits/A/B"},
		"/resource_providers/{uuid}/*":    {"/resource_providers/u/usages", "/resource_providers/u /resource_providers/u/inventories/VCPU"},
		"/resource_providers/**":          {"/resource_providers/ /resource_providers/u /resource_providers/u/inventories/VCPU", "/resource_providers /traits"},
		"/**/usages":                      {"/resource_providers/u/usages //usages", "/usages"},
		"/**":                             {"/ /traits /a/b/c", ""},
		"/resource_classes/CUSTOM_*":      {"/resource_classes/CUSTOM_A", "/resource_classes/CUSTOM_ /resource_classes/VCPU"},
		"/v1.0/a+b":                       {"/v1.0/a+b", "/v1x0/a+b /v1.0/aab"},
		"/a{x}b/*c*":                      {"/a1b/0c0", "/ab/0c0 /a1b/c"},
		"/***":                            {"/a /a/b", "/"},
		"/a{b":                            {"", "/a{b /ab /a"},
		"/a}b":                            {"", "/a}b /ab"},
		"":                                {"", "/ /a"},
		"/placement/resource_providers/*": {"/placement/resource_providers/u", "/resource_providers/u"},
		"/(a|b)[c]$":                      {"/(a|b)[c]$", "/a /bc"},
	} {
		rule := writtenRule{Service: "placement", Method: "GET", Path: pattern}.compile()
		for i, list := range paths {
			for path := range strings.FieldsSeq(list) {
				if got := rule.allows("placement", "GET", path); got != (i == 0) {
					t.Errorf("%q allows %q: %v", pattern, path, got)
				}
			}
		}
	}
	rule := writtenRule{Service: "placement", Method: "GET", Path: "/a"}.compile()
	for _, c := range [][2]string{{"placement", "POST"}, {"placement", "get"}, {"compute", "GET"}, {"", "GET"}, {"placement", "HEAD"}} {
		if rule.allows(c[0], c[1], "/a") {
			t.Errorf("a rule for GET of placement permits %s of %s", c[1], c[0])
		}
	}
	if (writtenRule{Service: "placement", Method: "GET", Path: "/a"}).compile().allows("placement", "GET", "/a\n") {
		t.Error("a path with a line feed matches")
	}
}

const (
	rulesOf  = `, "application_credential": {"id": "a", "access_rules": [{"service": "placement", "method": "GET", "path": "/traits"}, {"service": "baremetal", "method": "GET", "path": "/v1/nodes"}]}`
	noRules  = `, "application_credential": {"id": "a", "access_rules": []}`
	catalog  = `, "catalog": [{"type": "placement"}, {"type": "baremetal"}]`
	catalog0 = `, "catalog": [{"type": "identity"}]`
)

func TestKeystone_TokenWithAccessRules_LimitedToThem(t *testing.T) {
	t.Parallel()
	keystone := newFake(t)
	keystone.know("rules", time.Hour, []string{"admin"}, rulesOf+catalog)
	keystone.know("none", time.Hour, []string{"admin"}, noRules+catalog)
	keystone.know("unlisted", time.Hour, []string{"admin"}, rulesOf+catalog0)
	keystone.know("service-rules", time.Hour, []string{"service"}, rulesOf+catalog)
	keystone.know("nova", time.Hour, []string{"service"}, "")
	keystone.know("mallory", time.Hour, []string{"admin"}, "")
	strict := keystone.authenticator(t)
	lenient := keystone.authenticator(t, func(o *Options) { o.ServiceRolesRequired = false })
	untyped := keystone.authenticator(t, func(o *Options) { o.ServiceType = "" })
	for _, c := range []struct {
		by                          *Authenticator
		method, path, user, service string
		baremetal                   bool
		words                       string // in the reason; empty: the request is permitted
	}{
		{strict, "GET", "/traits", "rules", "", false, ""},
		{strict, "GET", "/traits?name=in:A", "rules", "", false, ""},
		{strict, "PUT", "/traits", "rules", "", false, "none of which permits PUT"},
		{strict, "GET", "/traits/A", "rules", "", false, "none of which permits GET"},
		{strict, "GET", "/v1/nodes", "rules", "", false, "none of which permits GET on that path of placement"},
		{strict, "GET", "/v1/nodes", "rules", "", true, ""},
		{strict, "GET", "/traits", "rules", "", true, "on that path of baremetal"},
		{strict, "GET", "/%74raits", "rules", "", false, ""},
		{strict, "GET", "/traits%2F", "rules", "", false, "encoded slash"},
		{strict, "GET", "/traits", "none", "", false, "none of which permits"},
		{strict, "GET", "/traits", "unlisted", "", false, "no service of the type placement"},
		{strict, "GET", "/traits", "unlisted", "nova", false, "no service of the type placement"},
		{untyped, "GET", "/traits", "rules", "", false, "keystone-service-type"},
		{untyped, "GET", "/v1/nodes", "rules", "", true, ""},
		// With a service token every request is permitted.
		{strict, "PUT", "/traits", "rules", "nova", false, ""},
		{lenient, "PUT", "/traits", "rules", "mallory", false, "none of which permits PUT"},
		// The access rules of the service token itself apply.
		{strict, "PUT", "/traits", "service-rules", "service-rules", false, "service token"},
		{strict, "GET", "/traits", "service-rules", "service-rules", false, ""},
	} {
		r := httptest.NewRequestWithContext(t.Context(), c.method, c.path, nil)
		if c.baremetal {
			r = r.WithContext(request.With(r.Context(), &request.Info{Service: request.Baremetal}))
		}
		r.Header = http.Header{"X-Auth-Token": {c.user}, "X-Service-Token": {c.service}}
		_, err := c.by.Authenticate(r)
		switch {
		case c.words != "":
			wantRefused(t, err, c.words)
		case err != nil:
			t.Errorf("%s %s with %s: %v", c.method, c.path, c.user, err)
		}
	}
}

// FuzzAPatternMeansWhatItSays checks that a pattern without wildcards matches only its own path, and that
// all others compile.
func FuzzAPatternMeansWhatItSays(f *testing.F) {
	for _, pattern := range []string{"/traits", "/a/*", "/a/**/b", "/{x}", "/a{", "}", "[", `\`, "/.*", "(?i)/A", "\x00\xff"} {
		f.Add(pattern, "/traits")
	}
	f.Fuzz(func(t *testing.T, pattern, path string) {
		rule := writtenRule{Service: "s", Method: "GET", Path: pattern}.compile()
		allowed := rule.allows("s", "GET", path)
		if !strings.ContainsAny(pattern, "{}*") && allowed != (pattern == path) && strings.ToValidUTF8(pattern+path, "") == pattern+path {
			t.Errorf("%q allows %q: %v", pattern, path, allowed)
		}
	})
}

var _ auth.Authenticate = (*Authenticator)(nil).Authenticate
