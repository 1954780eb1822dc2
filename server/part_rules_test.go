package server_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/berthd/berth/server/identity/policy"
	"github.com/berthd/berth/server/wire/microversion"
)

// partRows lists requests of berth 1.4 with the rules that they need, in the order of the checks.
var partRows = []struct {
	request string
	rules   []string
}{
	{"GET /resource_providers", []string{policy.ProvidersList}},
	{"GET /resource_providers?include=inventories", []string{policy.ProvidersList, policy.InventoriesList}},
	{"GET /resource_providers?include=usages", []string{policy.ProvidersList, policy.ProviderUsages}},
	{"GET /resource_providers?include=traits", []string{policy.ProvidersList, policy.ProviderTraitsList}},
	{"GET /resource_providers?include=aggregates", []string{policy.ProvidersList, policy.ProviderAggregatesList}},
	{"GET /resource_providers?include=aggregates,traits,usages,inventories&fields=name", slices.Concat([]string{policy.ProvidersList}, fourParts)},
	{"GET /resource_providers?fields=name&limit=1&total=true&q=a", []string{policy.ProvidersList}},
	{"GET " + partTree, slices.Concat([]string{policy.TreeShow}, fourParts)},
	{"GET " + partTree + "?include=traits", []string{policy.TreeShow, policy.ProviderTraitsList}},
	{"GET " + partTree + "?include=sharing", []string{policy.TreeShow}},
	{"GET " + partTree + "?include=consumers", []string{policy.TreeShow, policy.AllocationsList}},
	{"GET " + partTree + "?include=consumers,usages,sharing", []string{policy.TreeShow, policy.ProviderUsages, policy.AllocationsList}},
	{"GET /consumers", []string{policy.ConsumersList}},
	{"GET /consumers?project_id=mine&user_id=u&consumer_type=INSTANCE&resource_class=VCPU&fields=resources&total=true", []string{policy.ConsumersList}},
	{"GET /consumers?include=allocations", []string{policy.ConsumersList, policy.AllocationsList}},
	{"GET /consumers?resource_provider=" + partProvider, []string{policy.ConsumersList, policy.AllocationsList}},
	{"GET /consumers?in_tree=" + partProvider, []string{policy.ConsumersList, policy.AllocationsList}},
	{"GET /consumers?trait=HW_CPU_X86_VMX", []string{policy.ConsumersList, policy.AllocationsList}},
	{"GET /consumers/" + partProvider, []string{policy.ConsumersShow}},
	{"GET /aggregates", []string{policy.AggregatesList}},
	{"GET /capacity", []string{policy.CapacityShow}},
	{"GET /capacity?group_by=tree&required=HW_CPU_X86_VMX", []string{policy.CapacityShow}},
	{"POST /capacity", []string{policy.CapacityShow}},
}

const (
	partProvider = "c0ffee00-0000-4000-8000-00000000ffff"
	partTree     = "/resource_providers/" + partProvider + "/tree"
)

var fourParts = []string{policy.InventoriesList, policy.ProviderUsages, policy.ProviderTraitsList, policy.ProviderAggregatesList}

// TestPolicy_RuleOfPartDenied_Returns403 denies one rule after the other. Each denial affects exactly the requests that
// need the rule; with several denied rules the error names the first.
func TestPolicy_RuleOfPartDenied_Returns403(t *testing.T) {
	t.Parallel()
	var rules []string
	for _, row := range partRows {
		rules = append(rules, row.rules...)
	}
	slices.Sort(rules)
	rules = slices.Compact(rules)
	denials := [][]string{nil, fourParts, {policy.AllocationsList, policy.ProviderUsages}}
	for _, rule := range rules {
		denials = append(denials, []string{rule})
	}
	for _, denied := range denials {
		t.Run(strings.Join(denied, " "), func(t *testing.T) {
			t.Parallel()
			handler := handlerWith(t, policyWithout(t, denied))
			for _, row := range partRows {
				want := ""
				if first := slices.IndexFunc(row.rules, func(rule string) bool { return slices.Contains(denied, rule) }); first >= 0 {
					want = row.rules[first]
				}
				answer := askForPart(handler, row.request, "admin,service")
				got := deniedRule(answer)
				if got != want || want == "" && answer.Code >= http.StatusInternalServerError {
					t.Errorf("%s: status %d, denied by %q, want %q: %s", row.request, answer.Code, got, want, answer.Body)
				}
			}
		})
	}
}

// TestPolicy_ProjectReader_SeesOwnConsumersOnly sends the requests as a reader of the project "mine", with both sets of
// defaults. Only the list of the project's own consumers, without a part that shows providers, is permitted.
func TestPolicy_ProjectReader_SeesOwnConsumersOnly(t *testing.T) {
	t.Parallel()
	for _, enforced := range []bool{true, false} {
		handler := handlerWith(t, policy.New(policy.Options{EnforceNewDefaults: enforced, EnforceScope: true}))
		requests := map[string]string{
			"GET /consumers?project_id=mine":                                               "",
			"GET /consumers?project_id=mine&fields=resources,consumer_type&total=true":     "",
			"GET /consumers?project_id=mine&resource_class=VCPU&sort=-created_at":          "",
			"GET /consumers?project_id=other":                                              policy.ConsumersList,
			"GET /consumers?project_id=":                                                   policy.ConsumersList,
			"GET /consumers?user_id=u":                                                     policy.ConsumersList,
			"GET /consumers?project_id=mine&include=allocations":                           policy.AllocationsList,
			"GET /consumers?project_id=mine&resource_provider=" + partProvider:             policy.AllocationsList,
			"GET /consumers?project_id=mine&in_tree=" + partProvider:                       policy.AllocationsList,
			"GET /consumers?project_id=mine&trait=HW_CPU_X86_VMX&fields=resources&limit=1": policy.AllocationsList,
		}
		for _, row := range partRows {
			if _, listed := requests[row.request]; !listed && !strings.Contains(row.request, "project_id=mine") {
				requests[row.request] = row.rules[0]
			}
		}
		for request, want := range requests {
			for _, roles := range []string{"reader", "member,reader"} {
				answer := askForPart(handler, request, roles)
				if got := deniedRule(answer); got != want || want == "" && answer.Code != http.StatusOK {
					t.Errorf("EnforceNewDefaults = %t, %s as %s: status %d, denied by %q, want %q", enforced, request, roles, answer.Code, got, want)
				}
			}
		}
	}
}

// TestPolicy_RepeatedParameter_Returns400ForEverybody repeats each parameter of GET /consumers with a value that the caller may
// see and one that it may not.
func TestPolicy_RepeatedParameter_Returns400ForEverybody(t *testing.T) {
	t.Parallel()
	handler := handlerWith(t, policy.New(policy.Options{EnforceNewDefaults: true, EnforceScope: true}))
	for name, values := range map[string][2]string{
		"project_id": {"mine", "other"}, "include": {"allocations", "allocations"}, "user_id": {"u", "v"}, "consumer_type": {"INSTANCE", "unknown"},
		"uuid": {partProvider, partProvider}, "resource_provider": {partProvider, partProvider}, "in_tree": {partProvider, partProvider},
		"resource_class": {"VCPU", "VGPU"}, "trait": {"HW_CPU_X86_VMX", "HW_CPU_X86_AVX"}, "q": {"a", "b"}, "fields": {"uuid", "resources"},
		"limit": {"1", "2"}, "marker": {"a", "b"}, "sort": {"created_at", "-created_at"}, "total": {"true", "true"},
		"created_before": {"2026-11-20T00:00:00Z", "2026-11-21T00:00:00Z"}, "created_after": {"2026-11-20T00:00:00Z", "2026-11-21T00:00:00Z"},
		"updated_before": {"2026-11-20T00:00:00Z", "2026-11-21T00:00:00Z"}, "updated_after": {"2026-11-20T00:00:00Z", "2026-11-21T00:00:00Z"},
	} {
		for _, pair := range [][2]string{values, {values[1], values[0]}} {
			query := name + "=" + pair[0] + "&" + name + "=" + pair[1]
			if name != "project_id" {
				query = "project_id=mine&" + query
			}
			for _, roles := range []string{"admin", "service", "reader", "member"} {
				answer := askForPart(handler, "GET /consumers?"+query, roles)
				if answer.Code != http.StatusBadRequest || !strings.Contains(answer.Body.String(), "Query parameter '"+name+"' may be specified only once.") {
					t.Errorf("%s as %s: status %d: %s", query, roles, answer.Code, answer.Body)
				}
			}
		}
	}
}

// policyWithout returns the default policy with some rules that permit no caller.
func policyWithout(t *testing.T, denied []string) *policy.Policy {
	t.Helper()
	var text strings.Builder
	for _, rule := range denied {
		text.WriteString(`"` + rule + `": "!"` + "\n")
	}
	file := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	rules, problems, err := policy.Open(policy.Defaults(), policy.Files{Main: file})
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	return rules
}

// askForPart sends a request as a user of the project "mine" with some roles.
func askForPart(handler http.Handler, request, roles string) *httptest.ResponseRecorder {
	method, target, _ := strings.Cut(request, " ")
	r := httptest.NewRequest(method, target, strings.NewReader("{}"))
	r.Header.Set("X-Auth-Token", "u:mine")
	r.Header.Set("X-Roles", roles)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(microversion.Header, microversion.Berth(4).HeaderValue())
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w
}

// deniedRule returns the rule that a 403 names; empty for another status.
func deniedRule(answer *httptest.ResponseRecorder) string {
	if answer.Code != http.StatusForbidden {
		return ""
	}
	_, after, _ := strings.Cut(answer.Body.String(), "Policy does not allow ")
	rule, _, _ := strings.Cut(after, " to be performed")
	return rule
}
