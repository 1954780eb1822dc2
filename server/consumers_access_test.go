package server_test

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/identity/policy"
)

// consumerParts are query strings that show more than sums, with each parameter that does.
var consumerParts = []string{
	"include=allocations", "include=allocations,color", "resource_provider=x", "in_tree=x", "trait=x", "trait=x&include=allocations",
}

// TestPolicy_ConsumerParts_AskRuleOfAllocations sends every part as every persona, with both sets of defaults and with
// policy files that take one rule away. The values are invalid, so the status shows whether the request passed the policy.
func TestPolicy_ConsumerParts_AskRuleOfAllocations(t *testing.T) {
	t.Parallel()
	listing := operationWithID(t, "consumer-list")
	for _, row := range []struct {
		name, file string
		enforced   bool
		// list and parts are the letters of the request without a part, and with one.
		list, parts string
	}{
		{"defaults", "", true, "yyyy--ss", "yyy---ss"},
		{"deprecated checks", "", false, "yyyy--ss", "yyy---ss"},
		{"without allocations", policy.AllocationsList + ": '!'\n", true, "yyyy--ss", "------ss"},
		{"without consumers", policy.ConsumersList + ": '!'\n", true, "------ss", "------ss"},
		{"allocations for readers", policy.AllocationsList + ": role:reader\n", true, "yyyy--ss", "y--y--ss"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			handler := handlerWith(t, policyOfFile(t, row.file, row.enforced))
			if got := decisions(t, handler, listing, "project_id=mine&color=x"); got != row.list {
				t.Errorf("without a part: decisions = %s, want %s", got, row.list)
			}
			for _, part := range consumerParts {
				if got := decisions(t, handler, listing, "project_id=mine&color=x&"+part); got != row.parts {
					t.Errorf("%s: decisions = %s, want %s", part, got, row.parts)
				}
			}
		})
	}
}

// TestPolicy_ConsumerListRepeatedParameter_InvalidForAll checks that the policy and the statement never judge different
// values: a repeated parameter is an error before the policy, with a visible value first and with another one first.
func TestPolicy_ConsumerListRepeatedParameter_InvalidForAll(t *testing.T) {
	t.Parallel()
	handler := handlerWith(t, policy.New(policy.Options{EnforceNewDefaults: true, EnforceScope: true}))
	listing := operationWithID(t, "consumer-list")
	for _, query := range []string{
		"project_id=mine&project_id=other", "project_id=other&project_id=mine", "project_id=mine&project%5fid=other",
		"include=color&include=allocations", "project_id=mine&trait=a&trait=b",
	} {
		for _, persona := range personas {
			answer := askAs(handler, listing, query, noauth2(persona.headers))
			if answer.Code != http.StatusBadRequest || !strings.Contains(answer.Body.String(), "berth.query.duplicate_key") {
				t.Errorf("%s as %s: %d %s", query, persona.name, answer.Code, answer.Body)
			}
		}
	}
}

// operationWithID returns an operation.
func operationWithID(t *testing.T, id string) *route.Operation {
	t.Helper()
	operations := server.Operations()
	at := slices.IndexFunc(operations, func(op *route.Operation) bool { return op.ID == id })
	if at < 0 {
		t.Fatalf("there is no operation %s", id)
	}
	return operations[at]
}

// policyOfFile returns the defaults with the rules of a file.
func policyOfFile(t *testing.T, text string, enforced bool) *policy.Policy {
	t.Helper()
	options := policy.Options{EnforceNewDefaults: enforced, EnforceScope: true}
	if text == "" {
		return policy.New(options)
	}
	file := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	rules, problems, err := policy.Open(options, policy.Files{Main: file})
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	return rules
}

// decisions returns a letter for each persona: y permitted, - denied by the roles, s denied by the scope of the token.
func decisions(t *testing.T, handler http.Handler, op *route.Operation, query string) string {
	t.Helper()
	var all strings.Builder
	for _, persona := range personas {
		answer := askAs(handler, op, query, noauth2(persona.headers))
		switch {
		case answer.Code == http.StatusForbidden && strings.Contains(answer.Body.String(), "Policy does not allow"):
			all.WriteByte('-')
		case answer.Code == http.StatusForbidden:
			all.WriteByte('s')
		case answer.Code == http.StatusBadRequest:
			all.WriteByte('y')
		default:
			t.Errorf("%s as %s: %d %s", query, persona.name, answer.Code, answer.Body)
		}
	}
	return all.String()
}
