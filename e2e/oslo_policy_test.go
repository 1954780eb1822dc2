//go:build client

package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berthd/berth/server/identity/auth"
	"github.com/berthd/berth/server/identity/policy"
)

// judged is policy files with questions, for both Berth and oslo.policy.
type judged struct {
	Name        string            `json:"-"`
	Files       map[string]string `json:"files"`
	DefaultRule string            `json:"default_rule"`
	NewDefaults bool              `json:"new_defaults"`
	Scope       bool              `json:"scope"`
	Registered  [][4]any          `json:"registered"`
	Questions   []question        `json:"questions"`
}

type question struct {
	Rule   string             `json:"rule"`
	Caller map[string]string  `json:"caller"`
	Target map[string]*string `json:"target"`
	caller auth.Caller
	target policy.Target
}

// String tells of a difference.
func (q question) String() string {
	return fmt.Sprintf("%s asked by %+v on %+v", q.Rule, q.caller, q.target)
}

// asked makes a question of a caller as Berth knows it: the headers are those that
// Keystone's middleware sets for it.
func asked(rule string, caller auth.Caller, target policy.Target) question {
	headers := map[string]string{"HTTP_X_ROLES": strings.Join(caller.Roles, ","), "HTTP_X_SERVICE_ROLES": strings.Join(caller.Service.Roles, ",")}
	for name, value := range map[string]string{
		"HTTP_X_USER_ID": caller.UserID, "HTTP_X_PROJECT_ID": caller.ProjectID, "HTTP_X_DOMAIN_ID": caller.DomainID,
		"HTTP_OPENSTACK_SYSTEM_SCOPE": caller.SystemScope, "HTTP_X_USER_DOMAIN_ID": caller.UserDomainID,
		"HTTP_X_PROJECT_DOMAIN_ID": caller.ProjectDomainID, "HTTP_X_SERVICE_USER_ID": caller.Service.UserID,
		"HTTP_X_SERVICE_PROJECT_ID": caller.Service.ProjectID, "HTTP_X_SERVICE_USER_DOMAIN_ID": caller.Service.UserDomainID,
		"HTTP_X_SERVICE_PROJECT_DOMAIN_ID": caller.Service.ProjectDomainID,
	} {
		if value != "" {
			headers[name] = value
		}
	}
	if caller.OrdinaryProject {
		headers["HTTP_X_IS_ADMIN_PROJECT"] = "False"
	}
	values := map[string]*string{"project_id": nil}
	if target.ProjectID != "" {
		values["project_id"] = &target.ProjectID
	}
	if target.UserID != "" {
		values["user_id"] = &target.UserID
	}
	return question{Rule: rule, Caller: headers, Target: values, caller: caller, target: target}
}

// registeredRules are Berth's defaults, for oslo.policy to register.
func registeredRules() [][4]any {
	var all [][4]any
	for _, r := range policy.New(policy.Defaults()).List() {
		scopes := r.Scopes
		if r.AnyScope {
			scopes = nil
		}
		all = append(all, [4]any{r.Name, r.Default, r.Deprecated, scopes})
	}
	return all
}

// answers are the letters of the questions, as oslo_policy_peer.py has them, or a refusal of
// the files.
type answers struct {
	Letters string `json:"letters"`
	Refused string `json:"refused"`
	// doubted are the questions of which Berth says that it could not read the check.
	doubted []bool
}

// osloAnswers asks the installed oslo.policy.
func osloAnswers(t *testing.T, cases []judged) []answers {
	t.Helper()
	var into bytes.Buffer
	encoder := json.NewEncoder(&into)
	for _, c := range cases {
		if err := encoder.Encode(c); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.CommandContext(t.Context(), python, "oslo_policy_peer.py")
	command.Stdin, command.Env = &into, withoutSettings(os.Environ())
	var said bytes.Buffer
	command.Stderr = &said
	out, err := command.Output()
	if err != nil {
		t.Fatalf("oslo_policy_peer.py: %v\n%s", err, &said)
	}
	var all []answers
	for lines := bufio.NewReader(bytes.NewReader(out)); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			break
		}
		var one answers
		if err := json.Unmarshal(line, &one); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		all = append(all, one)
	}
	if len(all) != len(cases) {
		t.Fatalf("%d answers to %d cases\n%s", len(all), len(cases), &said)
	}
	return all
}

// berthAnswers asks package policy.
func berthAnswers(t *testing.T, c judged) answers {
	t.Helper()
	directory := t.TempDir()
	for path, text := range c.Files {
		whole := filepath.Join(directory, path)
		if err := os.MkdirAll(filepath.Dir(whole), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(whole, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	opened, _, err := policy.Open(
		policy.Options{EnforceNewDefaults: c.NewDefaults, EnforceScope: c.Scope, DefaultRule: c.DefaultRule},
		policy.Files{Main: filepath.Join(directory, "policy.yaml"), Dirs: []string{filepath.Join(directory, "policy.d")}})
	if err != nil {
		return answers{Refused: err.Error()}
	}
	made := answers{doubted: make([]bool, len(c.Questions))}
	letters := make([]byte, len(c.Questions))
	for i, q := range c.Questions {
		var denied *policy.Denied
		switch err := opened.Check(q.caller, q.Rule, q.target); {
		case err == nil:
			letters[i] = 'y'
		case !errors.As(err, &denied):
			letters[i] = '?'
		case denied.Scope:
			letters[i] = 's'
		default:
			letters[i] = '-'
		}
		why, err := opened.Explain(q.caller, q.Rule, q.target)
		if err != nil || why.Allowed != (letters[i] == 'y') || why.Scope != (letters[i] == 's') {
			t.Errorf("%s: answered %c, explained as %+v, %v", q, letters[i], why, err)
			continue
		}
		for _, reason := range why.Reasons {
			made.doubted[i] = made.doubted[i] || strings.Contains(reason.Why, "cannot be evaluated")
		}
	}
	made.Letters = string(letters)
	return made
}

// TestPolicy_Files_DecideLikeOsloPolicy: complete files in the styles that are found
// in the world, with every caller of a list, for every rule and both sets of defaults.
// Where oslo.policy fails, Berth denies.
func TestPolicy_Files_DecideLikeOsloPolicy(t *testing.T) {
	t.Parallel()
	var cases []judged
	for name, files := range policyFiles {
		for options := range 4 {
			c := judged{
				Name: fmt.Sprintf("%s, options %d", name, options), Files: files, DefaultRule: "default",
				NewDefaults: options&1 == 0, Scope: options&2 == 0, Registered: registeredRules(),
			}
			for _, r := range c.Registered {
				if name := r[0].(string); strings.HasPrefix(name, "baremetal:") && name != policy.NodesList {
					continue // they are all alike
				}
				for _, caller := range policyCallers {
					for _, target := range []policy.Target{policy.TargetOf(caller), {ProjectID: "other"}} {
						if target.ProjectID != "" {
							c.Questions = append(c.Questions, asked(r[0].(string), caller, target))
						}
					}
				}
			}
			cases = append(cases, c)
		}
	}
	for i, oslo := range osloAnswers(t, cases) {
		c := cases[i]
		ours := berthAnswers(t, c)
		if oslo.Refused != "" || ours.Refused != "" {
			t.Errorf("%s: berth %q, oslo %q", c.Name, ours.Refused, oslo.Refused)
			continue
		}
		for j := range c.Questions {
			failed := oslo.Letters[j] == '!' && ours.Letters[j] == '-'
			if ours.Letters[j] != oslo.Letters[j] && !failed {
				t.Errorf("%s: %s: berth %c, oslo %c", c.Name, c.Questions[j], ours.Letters[j], oslo.Letters[j])
			}
		}
	}
}

// TestPolicy_RandomChecks_DecideLikeOsloPolicy: random checks, sound and unsound, random callers. Where
// oslo.policy fails, Berth denies; what Berth does not read it denies too, and says so when
// it starts. It never allows what oslo.policy does not.
func TestPolicy_RandomChecks_DecideLikeOsloPolicy(t *testing.T) {
	t.Parallel()
	cases := randomPolicies(t)
	asked, allowed, failed, doubted := 0, 0, 0, 0
	for i, oslo := range osloAnswers(t, cases) {
		c := cases[i]
		ours := berthAnswers(t, c)
		if oslo.Refused != "" || ours.Refused != "" {
			t.Fatalf("berth %q, oslo %q: %s", ours.Refused, oslo.Refused, c.Files["policy.yaml"])
		}
		for j, q := range c.Questions {
			asked++
			berth, reference := ours.Letters[j], oslo.Letters[j]
			switch {
			case reference == 'y' && berth == 'y':
				allowed++
			case reference == '!' && berth == '-':
				failed++
			case reference != berth && berth == '-' && ours.doubted[j]:
				doubted++
			case reference != berth:
				t.Errorf("%s: berth %c, oslo %c\n%s", q, berth, reference, ruleIn(c.Files["policy.yaml"], q.Rule))
			}
		}
	}
	t.Logf("%d questions: %d allowed, %d where oslo fails, %d that Berth says it does not read", asked, allowed, failed, doubted)
	if allowed < asked/10 || doubted > asked/100 {
		t.Errorf("of %d questions %d are allowed and %d not read; that judges too little", asked, allowed, doubted)
	}
}

func ruleIn(file, name string) string {
	for line := range strings.Lines(file) {
		if strings.Contains(line, `"`+name+`"`) {
			return line
		}
	}
	return file
}

// TestPolicy_DifferencesFromOslo_AreDocumented pins what docs/policy.md lists.
func TestPolicy_DifferencesFromOslo_AreDocumented(t *testing.T) {
	t.Parallel()
	var cases []judged
	for _, d := range policyDifferences {
		caller := auth.Caller{UserID: "u", SystemScope: "all", Roles: []string{"admin"}}
		cases = append(cases, judged{
			Files: map[string]string{"policy.yaml": d.file}, DefaultRule: "default", NewDefaults: true, Registered: registeredRules(),
			Questions: []question{asked(policy.ProvidersList, caller, policy.TargetOf(caller))},
		})
	}
	for i, oslo := range osloAnswers(t, cases) {
		d := policyDifferences[i]
		if oslo.Refused != "" {
			oslo.Letters = "refused"
		}
		ours := berthAnswers(t, cases[i])
		if ours.Refused != "" {
			ours.Letters = "refused"
		}
		if oslo.Letters != d.oslo || ours.Letters != d.berth {
			t.Errorf("%s: oslo %s (want %s), berth %s (want %s) %s", d.file, oslo.Letters, d.oslo, ours.Letters, d.berth, ours.Refused)
		}
	}
}
