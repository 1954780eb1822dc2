//go:build client

package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/berthd/berth/server/identity/auth"
	"github.com/berthd/berth/server/identity/policy"
)

// ironicQuestion is a question to ironic_policy.py.
type ironicQuestion struct {
	Rule   string            `json:"rule"`
	Caller map[string]string `json:"caller"`
	Target map[string]string `json:"target"`
	caller auth.Caller
	target policy.Target
}

// rolesOfTokens are the sets of roles that Keystone gives: those that a role implies are
// in the token too.
var rolesOfTokens = [][]string{
	nil, {"reader"}, {"member", "reader"}, {"manager", "member", "reader"}, {"admin", "manager", "member", "reader"},
	{"admin", "member", "reader"}, {"service"}, {"admin"}, {"member"}, {"manager"}, {"other"},
}

// TestPolicy_BaremetalDefaults_DecideAsThoseOfIronic compares the decision of every rule for callers of each scope and
// set of roles, and for owner, lessee and neither, with that of the installed ironic.
func TestPolicy_BaremetalDefaults_DecideAsThoseOfIronic(t *testing.T) {
	t.Parallel()
	rules := policy.NewBaremetal()
	var names []string
	scopes := map[string][]string{}
	for _, r := range rules.List() {
		if strings.HasPrefix(r.Name, "baremetal:") {
			names, scopes[r.Name] = append(names, r.Name), r.Scopes
		}
	}
	var questions []ironicQuestion
	for _, name := range names {
		for _, roles := range rolesOfTokens {
			for _, caller := range []auth.Caller{
				{UserID: "u", Roles: roles, SystemScope: "all"},
				{UserID: "u", Roles: roles, DomainID: "d"},
				{UserID: "u", Roles: roles, ProjectID: "mine"},
			} {
				for _, target := range []policy.Target{
					{}, {NodeOwner: "mine"}, {NodeLessee: "mine"}, {NodeOwner: "other", NodeLessee: "mine"}, {NodeOwner: "mine", NodeLessee: "mine"},
					{NodeOwner: "other", NodeLessee: "third"}, {AllocationOwner: "mine"}, {AllocationOwner: "other"},
				} {
					questions = append(questions, askedIronic(name, caller, target))
				}
			}
		}
	}
	got := ironicAnswers(t, names, questions)
	if len(got.Missing) > 0 {
		t.Errorf("rules that ironic does not have: %v", got.Missing)
	}
	for _, name := range names {
		want := slices.Clone(got.Scopes[name])
		have := slices.Clone(scopes[name])
		slices.Sort(want)
		slices.Sort(have)
		if !slices.Equal(have, want) {
			t.Errorf("scopes of %s = %v, want %v", name, have, want)
		}
	}
	if len(got.Letters) != len(questions) {
		t.Fatalf("%d decisions of %d", len(got.Letters), len(questions))
	}
	allowed := 0
	for i, q := range questions {
		have := byte('y')
		var denied *policy.Denied
		if err := rules.Check(q.caller, q.Rule, q.target); errors.As(err, &denied) && denied.Scope {
			have = 's'
		} else if err != nil {
			have = '-'
		}
		if want := got.Letters[i]; have != want {
			t.Errorf("%s for %+v on %+v = %c, want %c", q.Rule, q.caller, q.target, have, want)
		}
		if have == 'y' {
			allowed++
		}
	}
	if allowed == 0 || allowed == len(questions) {
		t.Errorf("%d of %d are allowed", allowed, len(questions))
	}
	t.Logf("%d rules, %d decisions, %d of them allowed", len(names), len(questions), allowed)
}

func askedIronic(rule string, caller auth.Caller, target policy.Target) ironicQuestion {
	made := asked(rule, caller, policy.Target{})
	values := map[string]string{}
	for name, value := range map[string]string{
		"node.owner": target.NodeOwner, "node.lessee": target.NodeLessee, "allocation.owner": target.AllocationOwner,
	} {
		if value != "" {
			values[name] = value
		}
	}
	return ironicQuestion{Rule: rule, Caller: made.Caller, Target: values, caller: caller, target: target}
}

type ironicDecisions struct {
	Missing []string            `json:"missing"`
	Scopes  map[string][]string `json:"scopes"`
	Letters string              `json:"letters"`
}

func ironicAnswers(t *testing.T, rules []string, questions []ironicQuestion) (all ironicDecisions) {
	t.Helper()
	into, err := json.Marshal(map[string]any{"rules": rules, "questions": questions})
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), python, "ironic_policy.py")
	command.Stdin, command.Env = bytes.NewReader(into), withoutSettings(os.Environ())
	var said bytes.Buffer
	command.Stderr = &said
	out, err := command.Output()
	if err == nil {
		err = json.Unmarshal(out, &all)
	}
	if err != nil {
		t.Fatalf("ironic_policy.py: %v\n%s", err, &said)
	}
	return all
}
