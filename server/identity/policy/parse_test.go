package policy_test

import (
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/berthd/berth/server/identity/auth"
	"github.com/berthd/berth/server/identity/policy"
)

// everyAttribute is a caller that has a value for every attribute.
var everyAttribute = auth.Caller{
	UserID: "u", ProjectID: "mine", Roles: []string{"Member", "reader"}, UserDomainID: "d1", ProjectDomainID: "d2",
	Service: auth.Service{UserID: "nova", ProjectID: "services", UserDomainID: "d3", ProjectDomainID: "d4", Roles: []string{"service", "Admin"}},
}

func TestPolicy_CheckLanguage_Evaluated(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"": true, "@": true, "!": false, "not !": true,
		"role:member": true, "role:MEMBER": true, "role:admin": false, "role:%(project_id)s": false, "role:%(no)s": false, "role:": false,
		"rule:yes": true, "rule:no": false, "rule:nothing": false, "not rule:nothing": true,
		"project_id:%(project_id)s": true, "user_id:%(user_id)s": true, "user_id:%(project_id)s": false, "project_id:%(no)s": false,
		"project_id:mine": true, "project_id:m%(user_id)s": false, "user_id:%%": false, "tenant:mine": false, "is_admin:True": false,
		"'mine':%(project_id)s": true, `"mine":%(project_id)s`: true, "'yours':%(project_id)s": false,
		"True:True": true, "None:%(project_id)s": false, "domain_id:None": true, "system_scope:None": true, "system:all": false, "system:None": false,
		"is_admin_project:True": true, "is_admin_project:False": false, "0x10:16": true, "-0:0": true, "1_000:1000": true,
		"roles:Member": true, "roles:member": false, "service_roles:service": true, "service_roles:admin": false,
		"user_domain_id:d1": true, "project_domain_id:d2": true, "service_user_id:nova": true, "service_project_id:services": true,
		"service_user_domain_id:d3": true, "service_project_domain_id:d4": true,
		"a.b:c": false, "not a.b:c": true, "user_id.x:u": false, "not user_id.x:u": false, "roles.x:u": false, "not roles.x:u": false,
		"system.x:u": false, "not system.x:u": true,
		"@ and @": true, "@ and !": false, "! or @": true, "@ or ! and !": true, "(@ or !) and !": false, "not ! and !": false,
		"not (! and !)": true, "NOT ! AND @ Or !": true, "@\tand\n(@)": true, "not not @": true, "! and ! or @": true,
		"((role:member))": true, "( role:member )": true, "not(role:member)": false,
		// Invalid checks.
		" ": false, "and": false, "not": false, "(": false, "()": false, "@ @": false, "@ and": false, "(@": false, "@)": false, "or @": false,
		"foo": false, "not foo": true, "'foo'": false, "@ or 'foo'": false, "not (@ and)": false,
		// Checks that make oslo.policy fail are denied, also below a not.
		"role:100%": false, "not role:100%": false, "@ or role:100%": true, "role:100% or @": false, "not class:x": false, "not :x": false,
		"not 1.5:1.5": false, "not user_id:%(project_id)d": false,
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			parsed := policy.ParseText(text)
			parsed.Link(map[string]*policy.Parsed{"yes": policy.ParseText("@"), "no": policy.ParseText("!")})
			allowed, same := parsed.Allows(everyAttribute, policy.TargetOf(everyAttribute))
			if allowed != want || !same {
				t.Errorf("allowed = %t, want %t; the explanation agrees: %t", allowed, want, same)
			}
		})
	}
}

func TestPolicy_MissingProjectID_NeverMatches(t *testing.T) {
	t.Parallel()
	systemCaller := auth.Caller{SystemScope: "all"}
	for text, want := range map[string]bool{
		"project_id:%(project_id)s": false, "project_id:None": true, "None:%(project_id)s": true, "user_id:%(user_id)s": false,
		"domain_id:%(project_id)s": false, "system:all": true, "system_scope:all": true,
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			if allowed, _ := policy.ParseText(text).Allows(systemCaller, policy.TargetOf(systemCaller)); allowed != want {
				t.Errorf("allowed %t", allowed)
			}
		})
	}
}

func TestPolicy_SuspiciousRules_Warn(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"role:admin":                 "",
		"role:admin or":              "0 it ends where a check is missing, so it denies every caller",
		"(role:admin":                "0 it ends where and, or, or a closing parenthesis is missing, so it denies every caller",
		"role:admin role:x":          `12 found "role:x" instead of and, or, or the end, so it denies every caller`,
		"role:é or and @":            `11 found "and" instead of a check, so it denies every caller`,
		"@ or 'x'":                   "6 'x' is a quoted word, which is not a check, so it denies every caller; write attribute:value",
		"and":                        `1 "and" alone is no check, so it denies every caller`,
		"admin":                      `1 "admin" has no colon, so it never matches; write role:admin or rule:admin`,
		"@ and http://x/%(y)s":       "7 http://x/%(y)s queries another server, which is not supported; express the condition with role:, rule: or an attribute of the caller, such as role:admin or project_id:%(project_id)s",
		"project_id:%(target.id)s":   "1 no operation has a target with target.id, so it never matches; there are %(project_id)s and %(user_id)s, and in the Bare Metal API %(node.owner)s, %(node.lessee)s and %(allocation.owner)s",
		"role:100%":                  "1 role:100% has a % that starts no %(name)s; write %% for a %, so it denies every caller that reaches it",
		strings.Repeat("(", 300):     "0 it is nested more than 200 deep, so it denies every caller",
		"not " + "not not not not @": "",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			got := ""
			if odd := policy.ParseText(text).Odd(); len(odd) > 0 {
				got = strconv.Itoa(odd[0].At) + " " + odd[0].Text
			}
			if got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

func TestPolicy_ParsedCheck_PrintsCanonicalForm(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                        "@",
		"@ and":                   "!",
		" NOT ( role:a or @ ) ":   "not (role:a or @)",
		"a:b and (c:d and e:f)":   "a:b and (c:d and e:f)",
		"a:b or (c:d and e:f)":    "a:b or c:d and e:f",
		"(a:b or c:d) and not e:": "(a:b or c:d) and not e:",
		"'x'":                     "'x'",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			if got := policy.ParseText(text).String(); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

func TestPolicy_ListSyntax_Evaluated(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		allowed bool
		printed string
	}{
		`[]`:                       {true, "@"},
		`[[]]`:                     {false, "!"},
		`[""]`:                     {false, "!"},
		`["role:admin", "@"]`:      {true, "role:admin or @"},
		`[["role:member", "!"]]`:   {false, "role:member and !"},
		`[["!"], ["@", "@"], []]`:  {true, "! or @ and @"},
		`["role:a b", "@"]`:        {true, `[["role:a b"], ["@"]]`},
		`["role:member and !"]`:    {false, `[["role:member and !"]]`},
		`[["(role:member)", "@"]]`: {false, `[["(role:member)", "@"]]`},
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			all, err := policy.ParseFile([]byte(`{"r": ` + text + `}`))
			if err != nil {
				t.Fatal(err)
			}
			allowed, same := all["r"].Allows(everyAttribute, policy.TargetOf(everyAttribute))
			if allowed != want.allowed || !same || all["r"].String() != want.printed {
				t.Errorf("allowed %t, printed %s", allowed, all["r"])
			}
		})
	}
}

// decides returns the decisions of a check for some callers and targets.
func decides(t *testing.T, parsed *policy.Parsed) (all string) {
	t.Helper()
	parsed.Link(map[string]*policy.Parsed{"yes": policy.ParseText("@"), "member": policy.ParseText("role:member")})
	for _, caller := range []auth.Caller{everyAttribute, {}, project("admin"), {UserID: "u", SystemScope: "all", Roles: []string{"É"}}} {
		for _, target := range []policy.Target{policy.TargetOf(caller), {}, {ProjectID: "other"}} {
			allowed, same := parsed.Allows(caller, target)
			if !same {
				t.Fatalf("%s: the explanation differs from the decision", parsed)
			}
			all += map[bool]string{true: "y", false: "-"}[allowed]
		}
	}
	return all
}

func FuzzCheck(f *testing.F) {
	for _, text := range []string{
		"role:admin or (role:reader and project_id:%(project_id)s)", "not rule:yes and @", "'a':%(user_id)s or 0x1f:31", "((", "a.b:c or d-e:f",
		"'a':'b'", "http://x", "role:100%", "and", "x:%(a(b)c)s%%", "\u00a0@\x1f",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) {
			return // no file can contain it
		}
		parsed := policy.ParseText(text)
		printed := parsed.String()
		file, err := policy.ParseFile([]byte(`{"r": ` + policy.InFile(printed) + `}`))
		if err != nil {
			t.Fatalf("%q is printed as %q: %v", text, printed, err)
		}
		again := file["r"]
		if got, want := decides(t, again), decides(t, parsed); got != want {
			t.Fatalf("%q is printed as %q, which decides %s instead of %s", text, printed, got, want)
		}
		if again.String() != printed {
			t.Fatalf("%q is printed as %q and then as %q", text, printed, again)
		}
	})
}

func FuzzFile(f *testing.F) {
	for _, text := range []string{
		"a: role:admin\nb: [[role:x], '@']\n", `{"a": "@", "b": [["role:a b", "and"]], "c": null}`, "<<: {a: '@'}\nb: &x '!'\nc: *x\n",
		"a: !\n", "a: &r [*r]\n", "---\n- a\n", "\ufeffa: x", "a: 1:30\n", `["a"]`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		all, err := policy.ParseFile(data)
		if err != nil {
			return
		}
		for name, parsed := range all {
			again, err := policy.ParseFile([]byte(policy.Quote(name) + ": " + policy.InFile(parsed.String())))
			if err != nil || len(again) != 1 {
				t.Fatalf("%q: %q is printed as %s, which cannot be read: %v", name, data, parsed, err)
			}
			for _, same := range again {
				if got, want := decides(t, same), decides(t, parsed); got != want {
					t.Fatalf("%q is printed as %s, which decides %s instead of %s", data, parsed, got, want)
				}
			}
		}
	})
}
