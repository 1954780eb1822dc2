package policy_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/berthd/berth/server/identity/auth"
	"github.com/berthd/berth/server/identity/policy"
)

// personas lists the columns of the matrix, in the order of its letters.
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
	{"anonymous", auth.Caller{}, policy.Target{}},
}

var own = policy.Target{ProjectID: "mine"}

func project(roles ...string) auth.Caller {
	return auth.Caller{UserID: "u", ProjectID: "mine", Roles: roles}
}

// matrix contains the expected decisions, one letter for each persona: y allowed, - denied by the roles, s
// denied by the scope of the token.
//
// admin, service, both | reader of own, other, no project | member, none | system admin, domain service |
// anonymous
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
	{"berth:explanations:list", "yyy --- -- ss -", "yyy --- -- ss -"},
	{"berth:explanations:show", "yyy --- -- ss -", "yyy --- -- ss -"},
	{"berth:explanations:make", "yyy --- -- ss -", "yyy --- -- ss -"},
	{"berth:claims:create", "yyy --- -- ss -", "yyy --- -- ss -"},
	{"berth:leases:renew", "yyy --- -- ss -", "yyy --- -- ss -"},
	{"berth:tree:show", "yyy --- -- ss -", "yyy --- -- ss -"},
	{"berth:consumers:list", "yyy y-- -- ss -", "yyy y-- -- ss -"},
	{"berth:consumers:show", "yyy --- -- ss -", "yyy --- -- ss -"},
	{"berth:aggregates:list", "yyy --- -- ss -", "yyy --- -- ss -"},
	{"berth:capacity:show", "yyy --- -- ss -", "yyy --- -- ss -"},
	{"berth:history:list", "yyy --- -- ss -", "yyy --- -- ss -"},
	{"berth:history:update", "y-y --- -- ss -", "y-y --- -- ss -"},
	{"berth:events:watch", "yyy --- -- ss -", "yyy --- -- ss -"},

	{"placement:reshaper:reshape", "-yy --- -- ss -", "yyy --- -- ss -"},
	{"berth:tree:update", "-yy --- -- ss -", "yyy --- -- ss -"},

	// These rows have no owner or lessee; with them, e2e compares each decision with ironic's.
	{"baremetal:allocation:create", "--- --- y- -s -", "yyy --- y- ys -"},
	{"baremetal:allocation:create_restricted", "--- --- -- -s -", "yyy --- -- ys -"},
	{"baremetal:allocation:delete", "--- --- -- -s -", "yyy --- -- ys -"},
	{"baremetal:allocation:get", "--- --- -- -s -", "yyy --- -- ys -"},
	{"baremetal:allocation:list", "-yy yyy -- -s -", "yyy yyy -- ys -"},
	{"baremetal:allocation:list_all", "--- --- -- -s -", "yyy --- -- ys -"},
	{"baremetal:allocation:update", "--- --- -- -s -", "yyy --- -- ys -"},
	{"baremetal:conductor:get", "sss sss ss -s s", "sss sss ss ys s"},
	{"baremetal:driver:get", "sss sss ss -s s", "sss sss ss ys s"},
	{"baremetal:driver:get_properties", "sss sss ss -s s", "sss sss ss ys s"},
	{"baremetal:node:clear_maintenance", "--- --- -- -s -", "yyy --- -- ys -"},
	{"baremetal:node:create", "--- --- -- ys -", "yyy --- -- ys -"},
	{"baremetal:node:create:self_owned_node", "yyy --- -- ys -", "yyy --- -- ys -"},
	{"baremetal:node:delete", "--- --- -- ys -", "yyy --- -- ys -"},
	{"baremetal:node:delete:self_owned_node", "--- --- -- -s -", "yyy --- -- ys -"},
	{"baremetal:node:disable_cleaning", "sss sss ss ys s", "sss sss ss ys s"},
	{"baremetal:node:get", "--- --- -- -s -", "yyy --- -- ys -"},
	{"baremetal:node:get:driver_info", "--- --- -- -s -", "yyy --- -- ys -"},
	{"baremetal:node:get:filter_threshold", "--- --- -- -s -", "yyy --- -- ys -"},
	{"baremetal:node:get:last_error", "--- --- -- -s -", "yyy --- -- ys -"},
	{"baremetal:node:get:reservation", "--- --- -- -s -", "yyy --- -- ys -"},
	{"baremetal:node:get_states", "--- --- -- -s -", "yyy --- -- ys -"},
	{"baremetal:node:list", "-yy yyy -- -s -", "yyy yyy -- ys -"},
	{"baremetal:node:list_all", "--- --- -- -s -", "yyy --- -- ys -"},
	{"baremetal:node:set_maintenance", "--- --- -- -s -", "yyy --- -- ys -"},
	{"baremetal:node:set_power_state", "--- --- -- -s -", "yyy --- -- ys -"},
	{"baremetal:node:set_provision_state", "--- --- -- -s -", "yyy --- -- ys -"},
	{"baremetal:node:traits:delete", "--- --- -- -s -", "yyy --- -- ys -"},
	{"baremetal:node:traits:list", "--- --- -- -s -", "yyy --- -- ys -"},
	{"baremetal:node:traits:set", "--- --- -- -s -", "yyy --- -- ys -"},
	{"baremetal:node:update", "--- --- -- -s -", "yyy --- -- ys -"},
	{"baremetal:node:update:chassis_uuid", "--- --- -- ys -", "yyy --- -- ys -"},
	{"baremetal:node:update:conductor_group", "--- --- -- -s -", "yyy --- -- ys -"},
	{"baremetal:node:update:driver_info", "--- --- -- -s -", "yyy --- -- ys -"},
	{"baremetal:node:update:driver_interfaces", "--- --- -- -s -", "yyy --- -- ys -"},
	{"baremetal:node:update:instance_uuid", "--- --- -- -s -", "yyy --- -- ys -"},
	{"baremetal:node:update:lessee", "--- --- -- -s -", "yyy --- -- ys -"},
	{"baremetal:node:update:name", "--- --- -- -s -", "yyy --- -- ys -"},
	{"baremetal:node:update:network_data", "--- --- -- -s -", "yyy --- -- ys -"},
	{"baremetal:node:update:owner", "--- --- -- -s -", "yyy --- -- ys -"},
	{"baremetal:node:update:properties", "--- --- -- -s -", "yyy --- -- ys -"},
	{"baremetal:node:update:retired", "--- --- -- -s -", "yyy --- -- ys -"},
	{"baremetal:node:update:shard", "--- --- -- ys -", "yyy --- -- ys -"},
	{"baremetal:node:update_extra", "--- --- -- -s -", "yyy --- -- ys -"},
	{"baremetal:node:update_instance_info", "--- --- -- -s -", "yyy --- -- ys -"},
	{"baremetal:node:update_owner_provisioned", "sss sss ss ys s", "sss sss ss ys s"},
	{"baremetal:node:validate", "--- --- -- -s -", "yyy --- -- ys -"},
	{"baremetal:port:create", "--- --- -- ys -", "yyy --- -- ys -"},
	{"baremetal:port:delete", "--- --- -- ys -", "yyy --- -- ys -"},
	{"baremetal:port:get", "--- --- -- -s -", "yyy --- -- ys -"},
	{"baremetal:port:list", "-yy yyy -- -s -", "yyy yyy -- ys -"},
	{"baremetal:port:list_all", "--- --- -- -s -", "yyy --- -- ys -"},
	{"baremetal:port:update", "--- --- -- -s -", "yyy --- -- ys -"},
	{"service_role", "--- --- -- -- -", "--- --- -- -- -"},
}

func TestPolicy_Matrix_MatchesDecisions(t *testing.T) {
	t.Parallel()
	enforced := policy.New(policy.Defaults())
	legacy := policy.New(policy.Options{EnforceNewDefaults: false, EnforceScope: true})
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
		t.Fatalf("row has %d letters, want %d", len(outcomes), len(personas))
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

func TestPolicy_Matrix_CoversEveryRule(t *testing.T) {
	t.Parallel()
	var want []string
	for _, row := range matrix {
		want = append(want, row.rule)
	}
	slices.Sort(want)
	for _, enforce := range []bool{true, false} {
		t.Run(fmt.Sprintf("with EnforceNewDefaults %v", enforce), func(t *testing.T) {
			t.Parallel()
			got := policy.New(policy.Options{EnforceNewDefaults: enforce, EnforceScope: true}).Rules()
			if !slices.Equal(got, want) {
				t.Errorf("got  %q\nwant %q", got, want)
			}
		})
	}
}

func TestPolicy_Roles_ComparedCaseInsensitively(t *testing.T) {
	t.Parallel()
	p := policy.New(policy.Defaults())
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
		{"\u017fervice", denied}, // the long s, which case folding maps to s
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

func TestPolicy_ReaderWithoutProject_Denied(t *testing.T) {
	t.Parallel()
	p := policy.New(policy.Defaults())
	reader := auth.Caller{UserID: "u", Roles: []string{"reader"}}
	got := p.Check(reader, policy.Usages, policy.TargetOf(reader))
	if want := (&policy.Denied{Rule: policy.Usages}); !reflect.DeepEqual(got, want) {
		t.Errorf("got %#v, want %#v", got, want)
	}
}

func TestPolicy_TargetOf_IsCallerAndProject(t *testing.T) {
	t.Parallel()
	want := policy.Target{ProjectID: "mine", UserID: "u"}
	if got := policy.TargetOf(project("admin")); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestPolicy_Denied_TextNamesRule(t *testing.T) {
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

func TestPolicy_UnregisteredRule_ReturnsErrorForEveryCaller(t *testing.T) {
	t.Parallel()
	for _, persona := range personas {
		t.Run(persona.name, func(t *testing.T) {
			t.Parallel()
			p := policy.New(policy.Options{EnforceScope: true})
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
