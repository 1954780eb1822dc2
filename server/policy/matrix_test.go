package policy_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/berthd/berth/server/auth"
	"github.com/berthd/berth/server/policy"
)

// personas are the columns of the matrix, in the order of its letters.
var personas = []struct {
	name   string
	caller auth.Caller
	target policy.Target
}{
	{"admin", project("admin"), own},
	{"service", project("service"), own},
	{"admin and service", project("admin", "service"), own},
	{"reader of its own project", project("reader"), own},
	{"reader of another project", project("reader"), policy.Target{ProjectID: "other"}},
	{"reader of no project", project("reader"), policy.Target{}},
	{"member", project("member"), own},
	{"user without roles", project(), own},
	{"admin of the system", auth.Caller{UserID: "u", Roles: []string{"admin"}, SystemScope: "all"}, own},
	{"service of a domain", auth.Caller{UserID: "u", Roles: []string{"service"}, DomainID: "d"}, own},
	{"nobody", auth.Caller{}, policy.Target{}},
}

var own = policy.Target{ProjectID: "mine"}

func project(roles ...string) auth.Caller {
	return auth.Caller{UserID: "u", ProjectID: "mine", Roles: roles}
}

// matrix holds the expected outcomes, one letter a persona: y allowed, - denied
// by the roles, s denied by the scope of the token.
//
//	admin, service, both | reader of own, other, no project | member, none |
//	system admin, domain service | nobody
var matrix = []struct{ rule, enforced, legacy string }{
	{"admin_api", "y-y --- -- ss -", "y-y --- -- ss -"},
	{"service_api", "-yy --- -- ss -", "yyy --- -- ss -"},
	{"admin_or_service_api", "yyy --- -- ss -", "yyy --- -- ss -"},
	{"project_reader_api", "--- y-- -- -- -", "y-y y-- -- y- -"},
	{"admin_or_project_reader_or_service_api", "yyy y-- -- ss -", "yyy y-- -- ss -"},

	{"placement:resource_providers:list", "yyy --- -- ss -", "yyy --- -- ss -"},
	{"placement:resource_providers:create", "yyy --- -- ss -", "yyy --- -- ss -"},
	{"placement:resource_providers:show", "yyy --- -- ss -", "yyy --- -- ss -"},
	{"placement:resource_providers:update", "yyy --- -- ss -", "yyy --- -- ss -"},
	{"placement:resource_providers:delete", "yyy --- -- ss -", "yyy --- -- ss -"},

	{"placement:resource_classes:list", "yyy --- -- ss -", "yyy --- -- ss -"},
	{"placement:resource_classes:create", "yyy --- -- ss -", "yyy --- -- ss -"},
	{"placement:resource_classes:show", "yyy --- -- ss -", "yyy --- -- ss -"},
	{"placement:resource_classes:update", "yyy --- -- ss -", "yyy --- -- ss -"},
	{"placement:resource_classes:delete", "yyy --- -- ss -", "yyy --- -- ss -"},

	{"placement:resource_providers:inventories:list", "yyy --- -- ss -", "yyy --- -- ss -"},
	{"placement:resource_providers:inventories:create", "yyy --- -- ss -", "yyy --- -- ss -"},
	{"placement:resource_providers:inventories:show", "yyy --- -- ss -", "yyy --- -- ss -"},
	{"placement:resource_providers:inventories:update", "yyy --- -- ss -", "yyy --- -- ss -"},
	{"placement:resource_providers:inventories:delete", "yyy --- -- ss -", "yyy --- -- ss -"},

	{"placement:resource_providers:aggregates:list", "yyy --- -- ss -", "yyy --- -- ss -"},
	{"placement:resource_providers:aggregates:update", "yyy --- -- ss -", "yyy --- -- ss -"},

	{"placement:resource_providers:usages", "yyy --- -- ss -", "yyy --- -- ss -"},
	{"placement:usages", "yyy y-- -- ss -", "yyy y-- -- ss -"},

	{"placement:traits:list", "yyy --- -- ss -", "yyy --- -- ss -"},
	{"placement:traits:show", "yyy --- -- ss -", "yyy --- -- ss -"},
	{"placement:traits:update", "yyy --- -- ss -", "yyy --- -- ss -"},
	{"placement:traits:delete", "yyy --- -- ss -", "yyy --- -- ss -"},

	{"placement:resource_providers:traits:list", "yyy --- -- ss -", "yyy --- -- ss -"},
	{"placement:resource_providers:traits:update", "yyy --- -- ss -", "yyy --- -- ss -"},
	{"placement:resource_providers:traits:delete", "yyy --- -- ss -", "yyy --- -- ss -"},

	{"placement:allocations:manage", "yyy --- -- ss -", "yyy --- -- ss -"},
	{"placement:allocations:list", "yyy --- -- ss -", "yyy --- -- ss -"},
	{"placement:allocations:update", "yyy --- -- ss -", "yyy --- -- ss -"},
	{"placement:allocations:delete", "yyy --- -- ss -", "yyy --- -- ss -"},

	{"placement:resource_providers:allocations:list", "yyy --- -- ss -", "yyy --- -- ss -"},
	{"placement:allocation_candidates:list", "yyy --- -- ss -", "yyy --- -- ss -"},
	{"placement:reshaper:reshape", "-yy --- -- ss -", "yyy --- -- ss -"},

	{"baremetal:node:list_all", "yyy --- -- yy -", "yyy --- -- yy -"},
	{"baremetal:node:get", "yyy --- -- yy -", "yyy --- -- yy -"},
	{"baremetal:node:create", "yyy --- -- yy -", "yyy --- -- yy -"},
	{"baremetal:node:update", "yyy --- -- yy -", "yyy --- -- yy -"},
	{"baremetal:node:delete", "yyy --- -- yy -", "yyy --- -- yy -"},
	{"baremetal:node:validate", "yyy --- -- yy -", "yyy --- -- yy -"},
	{"baremetal:node:get_states", "yyy --- -- yy -", "yyy --- -- yy -"},
	{"baremetal:node:set_provision_state", "yyy --- -- yy -", "yyy --- -- yy -"},
	{"baremetal:node:set_power_state", "yyy --- -- yy -", "yyy --- -- yy -"},
	{"baremetal:node:set_maintenance", "yyy --- -- yy -", "yyy --- -- yy -"},
	{"baremetal:node:clear_maintenance", "yyy --- -- yy -", "yyy --- -- yy -"},
	{"baremetal:node:traits:list", "yyy --- -- yy -", "yyy --- -- yy -"},
	{"baremetal:node:traits:set", "yyy --- -- yy -", "yyy --- -- yy -"},
	{"baremetal:node:traits:delete", "yyy --- -- yy -", "yyy --- -- yy -"},
	{"baremetal:driver:get", "yyy --- -- yy -", "yyy --- -- yy -"},
	{"baremetal:driver:get_properties", "yyy --- -- yy -", "yyy --- -- yy -"},
	{"baremetal:conductor:get", "yyy --- -- yy -", "yyy --- -- yy -"},
	{"baremetal:port:list_all", "yyy --- -- yy -", "yyy --- -- yy -"},
	{"baremetal:port:get", "yyy --- -- yy -", "yyy --- -- yy -"},
	{"baremetal:port:create", "yyy --- -- yy -", "yyy --- -- yy -"},
	{"baremetal:port:update", "yyy --- -- yy -", "yyy --- -- yy -"},
	{"baremetal:port:delete", "yyy --- -- yy -", "yyy --- -- yy -"},
	{"baremetal:allocation:list_all", "yyy --- -- yy -", "yyy --- -- yy -"},
	{"baremetal:allocation:get", "yyy --- -- yy -", "yyy --- -- yy -"},
	{"baremetal:allocation:create", "yyy --- -- yy -", "yyy --- -- yy -"},
	{"baremetal:allocation:update", "yyy --- -- yy -", "yyy --- -- yy -"},
	{"baremetal:allocation:delete", "yyy --- -- yy -", "yyy --- -- yy -"},
}

func TestOutcomeMatrix(t *testing.T) {
	t.Parallel()
	enforced := policy.New(policy.Options{EnforceNewDefaults: true})
	legacy := policy.New(policy.Options{EnforceNewDefaults: false})
	for _, row := range matrix {
		t.Run(row.rule+" with the new defaults", func(t *testing.T) {
			t.Parallel()
			checkRow(t, enforced, row.rule, row.enforced)
		})
		t.Run(row.rule+" with the deprecated checks", func(t *testing.T) {
			t.Parallel()
			checkRow(t, legacy, row.rule, row.legacy)
		})
	}
}

func checkRow(t *testing.T, p *policy.Policy, rule, letters string) {
	t.Helper()
	outcomes := slices.DeleteFunc([]rune(letters), func(c rune) bool { return c == ' ' })
	if len(outcomes) != len(personas) {
		t.Fatalf("the row has %d letters, want %d", len(outcomes), len(personas))
	}
	for i, persona := range personas {
		want := map[rune]error{
			'y': nil,
			'-': &policy.Denied{Rule: rule},
			's': &policy.Denied{Rule: rule, Scope: true},
		}[outcomes[i]]
		if got := p.Check(persona.caller, rule, persona.target); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %#v, want %#v", persona.name, got, want)
		}
	}
}

func TestTheMatrixHasEveryRule(t *testing.T) {
	t.Parallel()
	var want []string
	for _, row := range matrix {
		want = append(want, row.rule)
	}
	slices.Sort(want)
	for _, enforce := range []bool{true, false} {
		t.Run(fmt.Sprintf("with EnforceNewDefaults %v", enforce), func(t *testing.T) {
			t.Parallel()
			got := policy.New(policy.Options{EnforceNewDefaults: enforce}).Rules()
			if !slices.Equal(got, want) {
				t.Errorf("got  %q\nwant %q", got, want)
			}
		})
	}
}

func TestRolesAreComparedWithoutCase(t *testing.T) {
	t.Parallel()
	p := policy.New(policy.Options{EnforceNewDefaults: true})
	denied := &policy.Denied{Rule: policy.Usages}
	cases := []struct {
		role string
		want error
	}{
		{"ADMIN", nil},
		{"Service", nil},
		{"rEADER", nil},
		{"administrator", denied},
		{" admin", denied},
		{"", denied},
		{"\u017fervice", denied}, // the long s, which case folding takes for an s
	}
	for _, c := range cases {
		t.Run("role "+c.role, func(t *testing.T) {
			t.Parallel()
			got := p.Check(project(c.role), policy.Usages, own)
			if c.want == nil && got != nil || c.want != nil && !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %#v, want %#v", got, c.want)
			}
		})
	}
}

func TestAReaderWithoutProjectReadsNoTarget(t *testing.T) {
	t.Parallel()
	p := policy.New(policy.Options{EnforceNewDefaults: true})
	reader := auth.Caller{UserID: "u", Roles: []string{"reader"}}
	got := p.Check(reader, policy.Usages, policy.TargetOf(reader))
	if want := (&policy.Denied{Rule: policy.Usages}); !reflect.DeepEqual(got, want) {
		t.Errorf("got %#v, want %#v", got, want)
	}
}

func TestTargetOfIsTheCallerAndItsProject(t *testing.T) {
	t.Parallel()
	want := policy.Target{ProjectID: "mine", UserID: "u"}
	if got := policy.TargetOf(project("admin")); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestDeniedTexts(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name   string
		denied policy.Denied
		want   string
	}{
		{"by the roles it is a sentence", policy.Denied{Rule: policy.Reshape},
			"Policy does not allow placement:reshaper:reshape to be performed."},
		{"by the scope it is the bare rule", policy.Denied{Rule: policy.Reshape, Scope: true},
			"placement:reshaper:reshape"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := c.denied.Error(); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestAnUnregisteredRuleIsAnErrorForEveryone(t *testing.T) {
	t.Parallel()
	for _, persona := range personas {
		t.Run(persona.name, func(t *testing.T) {
			t.Parallel()
			p := policy.New(policy.Options{})
			err := p.Check(persona.caller, "placement:no:such", persona.target)
			var denied *policy.Denied
			if !errors.Is(err, policy.ErrUnregistered) || errors.As(err, &denied) {
				t.Errorf("got %#v", err)
			}
			if want := `policy rule is not registered: "placement:no:such"`; err.Error() != want {
				t.Errorf("got %q, want %q", err, want)
			}
		})
	}
}
