package admin

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/identity/auth"
	"github.com/berthd/berth/server/identity/policy"
)

// policySubject is the caller and target of a check, from the flags.
type policySubject struct {
	caller                                  auth.Caller
	targetProject, targetUser, targetLessee string
}

func policyCheckCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "check {RULE | METHOD PATH | --all}",
		Short: "Check whether a caller is authorized, with the reason",
		Long: `Check whether a caller with these roles is authorized, and print the part of the rule
that decides. The argument is the name of a rule, or a method and a path as in a
request. The command changes nothing.

Keystone includes implied roles in a token: an administrator usually has the roles
admin, member and reader. List all of them.

With --all the command prints a matrix of rules and common callers: yes, no, or scope
if the scope of the token is wrong.

Exit codes: 0 authorized or printed, 1 denied or a policy file is invalid, 2 the
command line or a setting is invalid.`,
		Example: `  berth policy check POST /reshaper --roles admin,member,reader
  berth policy check placement:usages --roles reader --project p1 --target-project p2
  berth policy check GET '/usages?project_id=p1' --roles reader --project p1 --output json
  berth policy check PUT /resource_providers/x/traits --roles admin --system-scope all
  berth policy check --all --policy-file policy.yaml`,
		Args:              cobra.MaximumNArgs(2),
		ValidArgsFunction: completeRules,
	}
	var who policySubject
	who.addFlags(command)
	all := command.Flags().Bool("all", false, "matrix of common callers, for all rules or the named one")
	format := frame.ReportFlag(command)
	addPolicyFlags(command.Flags())
	command.RunE = func(c *cobra.Command, arguments []string) error {
		asked, err := policyQuestionOf(f, arguments, *all)
		if err != nil {
			return err
		}
		opened, err := openedPolicy(f, c)
		if err != nil {
			return err
		}
		if *all {
			return printMatrix(f, opened, asked, *format)
		}
		return printDecision(f, opened, asked, &who, *format)
	}
	return command
}

func (w *policySubject) addFlags(c *cobra.Command) {
	flags := c.Flags()
	flags.SortFlags = false
	flags.StringSliceVar(&w.caller.Roles, "roles", nil, "comma-separated `roles` of the caller")
	flags.StringVar(&w.caller.UserID, "user", "", "user `ID` of the caller")
	flags.StringVar(&w.caller.ProjectID, "project", "", "project `ID` of the token")
	flags.StringVar(&w.caller.SystemScope, "system-scope", "", "`all` for a system-scoped token")
	flags.StringVar(&w.caller.DomainID, "domain", "", "domain `ID` of the token")
	flags.StringVar(&w.caller.UserDomainID, "user-domain", "", "domain `ID` of the caller")
	flags.StringVar(&w.caller.ProjectDomainID, "project-domain", "", "domain `ID` of the token's project")
	flags.BoolVar(&w.caller.OrdinaryProject, "ordinary-project", false, "whether the token's project is not the admin project")
	flags.StringSliceVar(&w.caller.Service.Roles, "service-roles", nil, "comma-separated `roles` of the service token")
	flags.StringVar(&w.targetProject, "target-project", "", "project `ID` of the target (default: that of the query, else that of the caller)")
	flags.StringVar(&w.targetLessee, "target-lessee", "", "project `ID` of the lessee of the node; --target-project is the owner")
	flags.StringVar(&w.targetUser, "target-user", "", "user `ID` of the target (default: the caller)")
}

// question is the rule to check, and the operation if the arguments name one.
type question struct {
	rule      string
	operation *route.Operation
	path      string
}

// policyQuestionOf parses the arguments.
func policyQuestionOf(f *frame.Frame, arguments []string, all bool) (question, error) {
	switch {
	case len(arguments) == 0 && all:
		return question{}, nil
	case len(arguments) == 1:
		names := policy.New(policy.Options{EnforceScope: true}).Rules()
		if !slices.Contains(names, arguments[0]) {
			return question{}, frame.InputErrors{&frame.InputError{Setting: "rule", Value: arguments[0], Origin: "argument", Rule: frame.Rule{
				Broken: "is not a rule of an operation", Remedy: "the nearest name is " + frame.Nearest(arguments[0], names) + "; 'berth policy list' lists all",
			}}}
		}
		return question{rule: arguments[0]}, nil
	case len(arguments) == 2:
		method, path := strings.ToUpper(arguments[0]), arguments[1]
		parsed, err := url.ParseRequestURI(path)
		if err == nil {
			if found := operationAt(method, parsed.Path); found != nil {
				return question{found.Rule, found, path}, nil
			}
		}
		return question{}, frame.InputErrors{&frame.InputError{Setting: "path", Value: method + " " + path, Origin: "argument", Rule: frame.Rule{
			Broken: "is not an operation of this service", Remedy: "write a method and a path without the prefix of --base-path, such as GET /resource_providers",
		}}}
	}
	return question{}, frame.InputErrors{&frame.InputError{Setting: "rule", Value: "", Origin: "argument", Rule: frame.Rule{
		Broken: "names no rule", Remedy: "name a rule, or a method and a path, or add --all",
	}}}
}

// target returns the target of the operation.
func (w *policySubject) target(asked question) policy.Target {
	target := policy.TargetOf(w.caller)
	if asked.operation != nil && asked.operation.Target != nil {
		if request, err := http.NewRequest(asked.operation.Method, asked.path, nil); err == nil {
			target = asked.operation.Target(request)
		}
	}
	if w.targetProject != "" {
		target.ProjectID, target.NodeOwner, target.AllocationOwner = w.targetProject, w.targetProject, w.targetProject
	}
	if w.targetUser != "" {
		target.UserID = w.targetUser
	}
	if w.targetLessee != "" {
		target.NodeLessee = w.targetLessee
	}
	return target
}

// decisionDocument is the decision as JSON.
type decisionDocument struct {
	Allowed bool             `json:"allowed"`
	Scope   bool             `json:"wrong_scope"`
	Rule    PolicyRow        `json:"rule"`
	Reasons []reasonDocument `json:"reasons"`
}

type reasonDocument struct {
	Check string   `json:"check"`
	Holds bool     `json:"passed"`
	Why   string   `json:"reason"`
	Rules []string `json:"rules"`
}

func printDecision(f *frame.Frame, opened *policy.Policy, asked question, who *policySubject, format string) error {
	if asked.rule == "" {
		_, err := fmt.Fprintln(f.Stdout, "allowed: the operation requires no authentication")
		return err
	}
	decided, err := opened.Explain(who.caller, asked.rule, who.target(asked))
	if err != nil {
		return err
	}
	document := decisionDocument{decided.Allowed, decided.Scope, rowOf(decided.Rule), []reasonDocument{}}
	for _, reason := range decided.Reasons {
		document.Reasons = append(document.Reasons, reasonDocument{reason.Check, reason.Holds, reason.Why, reason.Rules})
	}
	if frame.IsDocument(format) {
		err = frame.PrintAs(f.Stdout, format, document, nil)
	} else {
		_, err = f.Stdout.Write([]byte(document.text()))
	}
	if err == nil && !decided.Allowed {
		err = &policy.Denied{Rule: asked.rule}
	}
	return err
}

// text returns the decision as text.
func (d *decisionDocument) text() string {
	answer := map[bool]string{true: "allowed", false: "denied"}[d.Allowed]
	text := fmt.Sprintf("%s by %s (%s)\n", answer, d.Rule.Name, d.Rule.Origin())
	table := [][]string{{"  check", d.Rule.Check}}
	if d.Scope {
		reason := "the token is not project-scoped, which enforce-scope requires"
		if !slices.Equal(d.Rule.Scopes, []string{"project"}) {
			reason = "enforce-scope requires a token of one of these scopes: " + strings.Join(d.Rule.Scopes, ", ")
		}
		table = append(table, []string{"  because", reason})
	}
	for i, reason := range d.Reasons {
		label := "  because"
		if i > 0 {
			label = "  and"
		}
		holds := map[bool]string{true: " holds: ", false: " does not hold: "}[reason.Holds]
		through := ""
		if len(reason.Rules) > 1 {
			through = ", through " + strings.Join(reason.Rules[1:], ", ")
		}
		table = append(table, []string{label, reason.Check + holds + reason.Why + through})
	}
	return text + frame.LayOut(table)
}

// usualCallers are the columns of --all.
var usualCallers = []struct {
	name string
	policySubject
}{
	{"ADMIN", policySubject{caller: auth.Caller{UserID: "u", ProjectID: "own", Roles: []string{"admin", "member", "reader"}}}},
	{"SERVICE", policySubject{caller: auth.Caller{UserID: "u", ProjectID: "own", Roles: []string{"service"}}}},
	{"READER", policySubject{caller: auth.Caller{UserID: "u", ProjectID: "own", Roles: []string{"reader"}}}},
	{"READER ELSEWHERE", policySubject{caller: auth.Caller{UserID: "u", ProjectID: "own", Roles: []string{"reader"}}, targetProject: "other"}},
	{"MEMBER ONLY", policySubject{caller: auth.Caller{UserID: "u", ProjectID: "own", Roles: []string{"member"}}}},
	{"SYSTEM ADMIN", policySubject{caller: auth.Caller{UserID: "u", SystemScope: "all", Roles: []string{"admin", "member", "reader"}}}},
	{"DOMAIN ADMIN", policySubject{caller: auth.Caller{UserID: "u", DomainID: "d", Roles: []string{"admin", "member", "reader"}}}},
}

// printMatrix prints a matrix of rules and common callers.
func printMatrix(f *frame.Frame, opened *policy.Policy, asked question, format string) error {
	header := []string{"RULE"}
	for _, who := range usualCallers {
		header = append(header, who.name)
	}
	table := [][]string{header}
	document := map[string]map[string]string{}
	for _, r := range opened.List() {
		if r.Default == "" || asked.rule != "" && asked.rule != r.Name {
			continue
		}
		line, answers := []string{r.Name}, map[string]string{}
		for _, who := range usualCallers {
			answer, err := who.may(opened, r.Name)
			if err != nil {
				return err
			}
			line, answers[strings.ReplaceAll(strings.ToLower(who.name), " ", "_")] = append(line, answer), answer
		}
		table, document[r.Name] = append(table, line), answers
	}
	return frame.PrintAs(f.Stdout, format, document, table)
}

// may returns a cell of the matrix.
func (w *policySubject) may(opened *policy.Policy, name string) (string, error) {
	target := policy.TargetOf(w.caller)
	if w.targetProject != "" && asksAnywhere(name) {
		target = policy.Target{ProjectID: w.targetProject}
	}
	decided, err := opened.Explain(w.caller, name, target)
	switch {
	case err != nil:
		return "", err
	case decided.Scope:
		return "scope", nil
	case decided.Allowed:
		return "yes", nil
	}
	return "no", nil
}

// asksAnywhere reports whether a rule applies to targets that the caller does not own.
func asksAnywhere(name string) bool {
	ruled := false
	for _, op := range operations() {
		if op.Rule == name && op.Target != nil {
			return true
		}
		ruled = ruled || op.Rule == name || slices.Contains(op.Further, name)
	}
	return !ruled
}

func completeRules(_ *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(given) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return policy.New(policy.Options{EnforceScope: true}).Rules(), cobra.ShellCompDirectiveNoFileComp
}
