//go:build client

package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/berthd/berth/server/identity/auth"
	"github.com/berthd/berth/server/identity/policy"
)

// policyCallers are who asks.
var policyCallers = []auth.Caller{
	{UserID: "u", ProjectID: "mine", Roles: []string{"admin", "member", "reader"}, UserDomainID: "default", ProjectDomainID: "default"},
	{UserID: "nova", ProjectID: "service", Roles: []string{"service"}, OrdinaryProject: true},
	{UserID: "u", ProjectID: "mine", Roles: []string{"READER", "member"}, OrdinaryProject: true, UserDomainID: "d1"},
	{UserID: "v", ProjectID: "other", Roles: []string{"reader"}, ProjectDomainID: "d1"},
	{UserID: "w", ProjectID: "mine", Roles: []string{"member", "Cloud_Admin"}},
	{UserID: "x", ProjectID: "mine"},
	{UserID: "root", SystemScope: "all", Roles: []string{"admin", "reader"}},
	{UserID: "d", DomainID: "d1", Roles: []string{"admin"}},
	{UserID: "u", ProjectID: "mine", Roles: []string{"member"}, Service: auth.Service{
		UserID: "nova", ProjectID: "service", UserDomainID: "default", ProjectDomainID: "default", Roles: []string{"service", "admin"}}},
	{UserID: "Ü", ProjectID: "None", Roles: []string{"İstanbul", "admİn"}},
}

// policyFiles are files as operators have them.
var policyFiles = map[string]map[string]string{
	"no files":      {},
	"an empty file": {"policy.yaml": "\n"},
	"comments only": {"policy.yaml": "# \"admin_api\": \"role:admin\"\n\n# end\n"},
	"an old file in JSON": {"policy.yaml": `{
	"admin_api": "role:admin",
	"system_admin_api": "role:admin and system_scope:all",
	"system_reader_api": "role:reader and system_scope:all",
	"project_reader_api": "role:reader and project_id:%(project_id)s",
	"system_or_project_reader": "rule:system_reader_api or rule:project_reader_api",
	"placement:resource_providers:list": "rule:system_reader_api",
	"placement:usages": "rule:system_or_project_reader",
	"placement:reshaper:reshape": "rule:system_admin_api",
	"placement:traits:list": [["rule:admin_api"], ["role:reader", "project_id:%(project_id)s"]],
	"placement:traits:show": []
}`},
	"a file in YAML": {"policy.yaml": `---
# Readers may look.
"reader": "role:reader or role:cloud_admin"
placement:resource_providers:list: rule:reader or rule:admin_or_service_api
placement:resource_providers:show: >-
  rule:reader or
  rule:admin_or_service_api
'placement:usages': 'project_id:%(project_id)s'
"placement:traits:list": "@"
"placement:traits:show": ""
"placement:traits:update": "!"
placement:traits:delete:
  - - role:admin
    - project_id:%(project_id)s
  - [role:service]
default: "role:cloud_admin"
placement:allocations:list: "rule:no_such_rule"
placement:reshaper:reshape: NOT (role:reader OR role:member) and is_admin_project:True
`},
	"base rules replaced": {"policy.yaml": `
admin_or_service_api: role:service or role:cloud_admin
service_api: rule:admin_or_service_api
project_reader_api: role:member and project_id:%(project_id)s
`},
	"admin alone replaced": {"policy.yaml": "admin_api: '!'\n"},
	"a directory over a file": {
		"policy.yaml":               "admin_or_service_api: '!'\nplacement:traits:list: '@'\n",
		"policy.d/10-first.yaml":    "placement:traits:list: '!'\nplacement:usages: role:reader\n",
		"policy.d/20-second.json":   `{"placement:usages": "role:admin", "placement:traits:show": "role:reader"}`,
		"policy.d/.30-hidden.yaml":  "placement:usages: '@'\n",
		"policy.d/sub/deeper.yaml":  "placement:usages: '@'\n",
		"policy.d/99-no-ending":     "placement:traits:update: role:member\n",
		"policy.d/00-empty-as-well": "",
	},
	"a directory alone": {"policy.d/a.yaml": "placement:traits:list: role:member\n"},
	"the name of the deprecated halves": {"policy.yaml": `"rule:admin_api": role:member
service_api: role:service
`},
	"anchors and merged maps": {"policy.yaml": `
reader: &reader role:reader
placement:traits:list: *reader
`},
	"the same name twice": {"policy.yaml": "placement:traits:list: '!'\nplacement:traits:list: '@'\n"},
	"cycles": {"policy.yaml": `
a: rule:b
b: role:service or rule:a
placement:traits:list: rule:a
placement:traits:show: rule:placement:traits:show
placement:traits:update: not rule:a
default: rule:nothing
placement:traits:delete: rule:nothing_either
`},
	"odd but allowed": {"policy.yaml": `
placement:traits:list:
placement:traits:show: not foo
placement:traits:update: [[role:admin], role:reader, []]
placement:traits:delete: [[]]
placement:usages: "   "
placement:resource_providers:list: "role:admin or"
placement:resource_providers:create: "'role:admin'"
placement:resource_providers:show: "role:%(user_id)s or system:all or 0x10:16 or None:%(project_id)s"
placement:resource_providers:update: domain_id:None and roles:member
placement:resource_providers:delete: "Role:admin or ROLE:admin or is_admin:True or is_admin:False"
placement:resource_classes:list: "[[\"role:admin\"]]"
placement:resource_classes:show: ["role:admin and role:reader"]
`},
}

// difference is a file that the two answer differently, for an administrator of the
// system who asks for the list of providers.
type difference struct{ file, oslo, berth string }

func listing(value string) string { return policy.ProvidersList + ": " + value + "\n" }

var policyDifferences = []difference{
	// Who is of no project does not own what belongs to none.
	{listing(`"project_id:%(project_id)s"`), "y", "-"},
	// What fails inside oslo.policy, and is a 500 there, is a no.
	{listing(`"rule:` + policy.ProvidersList + `"`), "!", "-"},
	{listing(`"role:100%"`), "!", "-"},
	{listing(`"not role:100%"`), "!", "-"},
	{listing(`"not roles.x:y"`), "!", "-"},
	{listing(`"not class:y"`), "!", "-"},
	{listing(`"and"`), "!", "-"},
	// Left sides and placeholders that only Python would understand.
	{listing(`"1.0:1.0"`), "y", "-"},
	{listing(`"not a[0]:x"`), "y", "-"},
	{listing(`"not role:%(project_id)5s"`), "y", "-"},
	{listing(`"not role:%s"`), "y", "-"},
	// What is no text is no check.
	{listing(`!`), "y", "refused"},
	{listing(`no`), "y", "refused"},
	{listing(`0`), "y", "refused"},
	{listing(`{}`), "y", "refused"},
	{listing(`{role:admin : x}`), "y", "refused"},
	{listing(`[[role:admin], null]`), "y", "refused"},
	{listing(`[[role:admin, 5]]`), "-", "refused"},
	{listing(`true`), "refused", "refused"},
	{listing(`1:30`), "refused", "refused"},
	{"yes: '@'\n" + listing(`"rule:yes"`), "-", "refused"},
	// The whole file.
	{"[", "refused", "refused"},
	{"- a\n", "refused", "refused"},
	{"a: '@'\n---\nb: '@'\n", "refused", "refused"},
	// Asking another server.
	{listing(`"role:admin or http://localhost/%(project_id)s"`), "y", "refused"},
	{listing(`"https://localhost"`), "!", "refused"},
}

// randomPolicies makes some thousands of checks: a file has one for each rule of the
// Placement API.
func randomPolicies(t *testing.T) []judged {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	g := &checks{rand.New(rand.NewPCG(seed, 1))}
	registered := registeredRules()
	var cases []judged
	for range 80 {
		c := judged{DefaultRule: g.pick("default", "helper1", "none", ""), NewDefaults: g.IntN(2) == 0}
		file := map[string]any{}
		for _, helper := range []string{"default", "helper1", "helper2", "helper3"} {
			if g.IntN(4) > 0 {
				file[helper] = g.rule()
			}
		}
		for _, r := range registered {
			name := r[0].(string)
			if !strings.HasPrefix(name, "placement:") {
				continue
			}
			c.Registered = append(c.Registered, r)
			file[name] = g.rule()
			for _, at := range g.Perm(len(policyCallers))[:6] {
				c.Questions = append(c.Questions, asked(name, policyCallers[at], g.target()))
			}
		}
		for name, value := range file {
			if value == nil {
				delete(file, name)
			}
		}
		text, err := json.MarshalIndent(file, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		c.Files = map[string]string{"policy.yaml": string(text)}
		cases = append(cases, c)
	}
	return cases
}

// checks makes random checks.
type checks struct{ *rand.Rand }

func (g *checks) pick(from ...string) string { return from[g.IntN(len(from))] }

// target always names a project: none against none is a listed difference.
func (g *checks) target() policy.Target {
	made := policy.Target{ProjectID: g.pick("mine", "other", "service", "None", "a%b")}
	if g.IntN(2) == 0 {
		made.UserID = g.pick("u", "nova", "admin", "reader", "Ü")
	}
	return made
}

func (g *checks) rule() any {
	switch g.IntN(12) {
	case 0:
		var lists []any
		for range g.IntN(4) {
			if g.IntN(4) == 0 {
				lists = append(lists, g.pick(g.leaf(), g.leaf(), ""))
				continue
			}
			list := []string{}
			for range g.IntN(4) {
				list = append(list, g.pick(g.leaf(), g.leaf(), "role:a b", " role:admin", "", "(role:admin)", "and", g.text(2)))
			}
			lists = append(lists, list)
		}
		if lists == nil {
			return []any{}
		}
		return lists
	case 1:
		return g.broken(g.text(3))
	}
	return g.text(1 + g.IntN(4))
}

// text is a sound check, with parentheses, blanks and cases where they are allowed.
func (g *checks) text(depth int) string {
	if depth <= 0 || g.IntN(5) == 0 {
		return g.leaf()
	}
	blank := func() string { return g.pick(" ", " ", "  ", "\n", "\t", "\u00a0", "\x1f", "\u2003") }
	switch g.IntN(7) {
	case 0:
		return g.pick("not", "NOT", "Not") + blank() + g.inner(depth)
	case 1:
		return g.pick("(", "((")[:1] + g.pick("", blank()) + g.text(depth-1) + g.pick("", blank()) + ")"
	case 2, 3, 4:
		return g.text(depth-1) + blank() + g.pick("and", "AND", "aNd") + blank() + g.inner(depth)
	}
	return g.text(depth-1) + blank() + g.pick("or", "OR", "oR") + blank() + g.inner(depth)
}

func (g *checks) inner(depth int) string {
	if g.IntN(3) == 0 {
		return "(" + g.text(depth-1) + ")"
	}
	return g.pick(g.text(depth-1), g.leaf())
}

func (g *checks) leaf() string {
	right := func() string {
		return g.pick("%(project_id)s", "%(project_id)s", "%(user_id)s", "%(domain_id)s", "mine", "other", "None", "True", "False", "u",
			"all", "admin", "service", "d1", "default", "", "a%%b", "%(project_id)s%%", "x%(user_id)sy", "%(user_id)s%(project_id)s", "a:b",
			"100%", "%(project_id)", "%(a(b))s", "16", "-5", "0", "Ü")
	}
	switch g.IntN(14) {
	case 0, 1, 2, 3:
		return "role:" + g.pick("admin", "ADMIN", "service", "reader", "Member", "cloud_admin", "missing", "istanbul", "i̇stanbul", "ADMİN",
			"%(user_id)s", "%(project_id)s", "%(missing)s", "", "a:b", "100%")
	case 4, 5:
		return "rule:" + g.pick("helper1", "helper2", "helper3", "default", "nothing", "placement:traits:list", "placement:usages", "", "%(user_id)s")
	case 6, 7, 8, 9:
		return g.pick("project_id", "user_id", "roles", "domain_id", "system_scope", "system", "user_domain_id", "project_domain_id",
			"is_admin_project", "service_user_id", "service_project_id", "service_roles", "service_user_domain_id") + ":" + right()
	case 10:
		return g.pick("'mine'", `"mine"`, "'admin'", "''", "True", "False", "None", "16", "0x10", "-5", "+5", "0", "0o20", "1_6", "-0", "00", "'Ü'") + ":" + right()
	case 11:
		return g.pick("is_admin", "tenant", "Role", "target.user", "a.b.c", "a-b", "user.id", "roles.x", "user_id.x", "service_roles.x", "system.x",
			"None.x", "a+b.c", "é", "-a", "a**b", "class", "a.class", "a-is", "a.None", "1a", "007", "'a", "%(x)s", "a,", "$") + ":" + right()
	case 12:
		return g.pick("@", "!", "@", "!", "foo", "'x'", "admin", "True")
	}
	return g.pick("@", "role:admin", "role:service", "role:reader", "project_id:%(project_id)s")
}

// broken changes a sound check so that it may be one no more.
func (g *checks) broken(text string) string {
	letters := []rune(text)
	for range 1 + g.IntN(2) {
		at := g.IntN(len(letters) + 1)
		switch {
		case g.IntN(2) == 0 && at < len(letters):
			letters = append(letters[:at:at], letters[at+1:]...)
		default:
			insert := []rune(g.pick("(", ")", " ", " and ", " or ", " not ", ":", "'", "\"", "!", "@", " x:y ", "%", "()"))
			letters = append(letters[:at:at], append(insert, letters[at:]...)...)
		}
	}
	made := string(letters)
	if strings.Contains(made, "http") {
		return fmt.Sprint("role:", len(made))
	}
	return made
}
