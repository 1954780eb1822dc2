package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/berthd/berth/server/identity/policy"
	"github.com/berthd/berth/server/wire/microversion"
)

// TestPolicy_At_AsksRuleOfHistory sends both operations with at as every persona, with the defaults and with policy files. The values are
// invalid, so the status shows whether the request passed the policy.
func TestPolicy_At_AsksRuleOfHistory(t *testing.T) {
	t.Parallel()
	readers := fmt.Sprintf("%s: role:reader\n%s: role:reader\n", policy.TreeShow, policy.ConsumersShow)
	parts := fmt.Sprintf("%s: role:reader\n%s: role:reader\n", policy.InventoriesList, policy.ProviderUsages)
	parts += fmt.Sprintf("%s: role:reader\n%s: role:reader\n", policy.ProviderTraitsList, policy.ProviderAggregatesList)
	for _, row := range []struct {
		name, file string
		// now and then are the letters of the request without at, and with it.
		now, then string
	}{
		{"defaults", "", "yyy---ss", "yyy---ss"},
		{"without history", policy.HistoryList + ": '!'\n", "yyy---ss", "------ss"},
		{"trees and consumers for readers", readers + parts, "y--y--ss", "y-----ss"},
		{"history for readers of their project", readers + parts + policy.HistoryList + ": rule:admin_or_project_reader_or_service_api\n", "y--y--ss", "y-----ss"},
		{"history for readers", readers + parts + policy.HistoryList + ": role:reader\n", "y--y--ss", "y--y--ss"},
		{"history for readers, nothing else", policy.HistoryList + ": role:reader\n", "yyy---ss", "y-----ss"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			handler := handlerWith(t, policyOfFile(t, row.file, true))
			for _, id := range []string{"tree-show", "consumer-show"} {
				op := operationWithID(t, id)
				if got := decisions(t, handler, op, "color=x"); got != row.now {
					t.Errorf("%s: decisions = %s, want %s", id, got, row.now)
				}
				// A project in the query string is no target: the parameter is unknown.
				for _, query := range []string{"at=x", "at=", "color=x&at=1", "at=1&project_id=mine", "%61t=x"} {
					if got := decisions(t, handler, op, query); got != row.then {
						t.Errorf("%s?%s: decisions = %s, want %s", id, query, got, row.then)
					}
				}
			}
		})
	}
}

// TestPolicy_AtDeniedByHistory_NamesItsRule sends at as a reader that may see trees and consumers of now only.
func TestPolicy_AtDeniedByHistory_NamesItsRule(t *testing.T) {
	t.Parallel()
	handler := handlerWith(t, policyOfFile(t, fmt.Sprintf("%s: role:reader\n%s: role:reader\n", policy.TreeShow, policy.ConsumersShow), true))
	for id, query := range map[string]string{"tree-show": "include=&at=1", "consumer-show": "at=1"} {
		answer := askAs(handler, operationWithID(t, id), query, noauth2([]string{"X-Roles", "reader"}))
		if answer.Code != http.StatusForbidden || !strings.Contains(answer.Body.String(), "Policy does not allow berth:history:list to be performed.") {
			t.Errorf("%s?%s: %d %s, want 403 of berth:history:list", id, query, answer.Code, answer.Body)
		}
	}
	// Below 1.7 the parameter is unknown to all callers.
	headers := append(noauth2([]string{"X-Roles", "reader"}), microversion.Header, "placement 1.39, berth 1.6")
	if answer := askAs(handler, operationWithID(t, "consumer-show"), "at=1", headers); answer.Code != http.StatusBadRequest {
		t.Errorf("below 1.7: %d %s, want 400", answer.Code, answer.Body)
	}
}
