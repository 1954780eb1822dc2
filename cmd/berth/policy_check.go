package main

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/server/auth"
	"github.com/berthd/berth/server/policy"
	"github.com/berthd/berth/server/route"
)

// persona is who is asked about, as the flags say.
type persona struct {
	caller                    auth.Caller
	targetProject, targetUser string
}

func (p *process) policyCheckCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "check {RULE | METHOD PATH | --all}",
		Short: "Say whether somebody may do something, and why",
		Long: `Say whether somebody with these roles may do something, and which part of the rule
decides. What is asked about is the name of a rule, or a method and a path as a client
would send them. The exit code is 0 for yes and 1 for no.

Keystone tells a service the implied roles as well: an administrator usually has the roles
admin, member and reader. Name them all.

With --all it prints what some usual callers may do: yes, no, or scope for a token that is
of the wrong kind.`,
		Example: `  berth policy check POST /reshaper --roles admin,member,reader
  berth policy check placement:usages --roles reader --project p1 --target-project p2
  berth policy check GET '/usages?project_id=p1' --roles reader --project p1 --output json
  berth policy check PUT /resource_providers/x/traits --roles admin --system-scope all
  berth policy check --all --policy-file policy.yaml`,
		Args:              cobra.MaximumNArgs(2),
		ValidArgsFunction: completeRules,
	}
	var who persona
	who.addFlags(command)
	all := command.Flags().Bool("all", false, "print what usual callers may do, for all rules or the one named")
	format := outputFlag(command)
	addPolicyFlags(command.Flags())
	command.RunE = func(c *cobra.Command, arguments []string) error {
		if err := checkOutput(*format); err != nil {
			return err
		}
		asked, err := p.askedOf(arguments, *all)
		if err != nil {
			return err
		}
		opened, err := p.openedPolicy(c)
		if err != nil {
			return err
		}
		if *all {
			return p.printMatrix(opened, asked, *format)
		}
		return p.printDecision(opened, asked, &who, *format)
	}
	return command
}

func (w *persona) addFlags(c *cobra.Command) {
	flags := c.Flags()
	flags.SortFlags = false
	flags.StringSliceVar(&w.caller.Roles, "roles", nil, "`roles` of the caller, separated by commas")
	flags.StringVar(&w.caller.UserID, "user", "", "`id` of the caller")
	flags.StringVar(&w.caller.ProjectID, "project", "", "`id` of the project that the token is for")
	flags.StringVar(&w.caller.SystemScope, "system-scope", "", "`all` for a token for the whole deployment")
	flags.StringVar(&w.caller.DomainID, "domain", "", "`id` of the domain that the token is for")
	flags.StringVar(&w.caller.UserDomainID, "user-domain", "", "`id` of the caller's domain")
	flags.StringVar(&w.caller.ProjectDomainID, "project-domain", "", "`id` of the project's domain")
	flags.BoolVar(&w.caller.OrdinaryProject, "ordinary-project", false, "the project is not the one of administrators")
	flags.StringSliceVar(&w.caller.Service.Roles, "service-roles", nil, "`roles` of the service that passes the request on")
	flags.StringVar(&w.targetProject, "target-project", "", "`id` of the project that is asked about; else that of the path's query, else the caller's")
	flags.StringVar(&w.targetUser, "target-user", "", "`id` of the user that is asked about; else the caller")
}

// question is the rule that is asked about, and the operation where one was named.
type question struct {
	rule      string
	operation *route.Operation
	path      string
}

// askedOf reads the arguments.
func (p *process) askedOf(arguments []string, all bool) (question, error) {
	switch {
	case len(arguments) == 0 && all:
		return question{}, nil
	case len(arguments) == 1:
		names := policy.New(policy.Options{}).Rules()
		if !slices.Contains(names, arguments[0]) {
			return question{}, mistakes{&mistake{"rule", arguments[0], "argument", rule{
				"is not a rule that operations ask for", "the nearest is " + nearest(arguments[0], names) + "; 'berth policy list' has all",
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
		return question{}, mistakes{&mistake{"path", method + " " + path, "argument", rule{
			"is not an operation of this service", "write a method and a path without the prefix of --base-path, such as GET /resource_providers",
		}}}
	}
	return question{}, mistakes{&mistake{"rule", "", "argument", rule{
		"names nothing to ask about", "name a rule, or a method and a path, or add --all",
	}}}
}

// target is what the caller would do it to.
func (w *persona) target(asked question) policy.Target {
	target := policy.TargetOf(w.caller)
	if asked.operation != nil && asked.operation.Target != nil {
		if request, err := http.NewRequest(asked.operation.Method, asked.path, nil); err == nil {
			target = asked.operation.Target(request)
		}
	}
	if w.targetProject != "" {
		target.ProjectID = w.targetProject
	}
	if w.targetUser != "" {
		target.UserID = w.targetUser
	}
	return target
}

// decisionDocument is the answer in JSON.
type decisionDocument struct {
	Allowed bool             `json:"allowed"`
	Scope   bool             `json:"wrong_scope"`
	Rule    policyRow        `json:"rule"`
	Reasons []reasonDocument `json:"reasons"`
}

type reasonDocument struct {
	Check string   `json:"check"`
	Holds bool     `json:"holds"`
	Why   string   `json:"why"`
	Rules []string `json:"rules"`
}

func (p *process) printDecision(opened *policy.Policy, asked question, who *persona, format string) error {
	if asked.rule == "" {
		_, err := fmt.Fprintln(p.stdout, "allowed: nobody is asked who they are")
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
	if format == "json" {
		err = printAs(p.stdout, format, document, nil)
	} else {
		_, err = p.stdout.Write([]byte(document.text()))
	}
	if err == nil && !decided.Allowed {
		err = &policy.Denied{Rule: asked.rule}
	}
	return err
}

// text is the answer for people.
func (d *decisionDocument) text() string {
	answer := map[bool]string{true: "allowed", false: "denied"}[d.Allowed]
	text := fmt.Sprintf("%s by %s (%s)\n", answer, d.Rule.Name, d.Rule.origin())
	table := [][]string{{"  check", d.Rule.Check}}
	if d.Scope {
		table = append(table, []string{"  because", "the token is not for a project; enforce-scope demands one"})
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
	return text + layOut(table)
}

// usualCallers are the columns of --all.
var usualCallers = []struct {
	name string
	persona
}{
	{"ADMIN", persona{caller: auth.Caller{UserID: "u", ProjectID: "own", Roles: []string{"admin", "member", "reader"}}}},
	{"SERVICE", persona{caller: auth.Caller{UserID: "u", ProjectID: "own", Roles: []string{"service"}}}},
	{"READER", persona{caller: auth.Caller{UserID: "u", ProjectID: "own", Roles: []string{"reader"}}}},
	{"READER ELSEWHERE", persona{caller: auth.Caller{UserID: "u", ProjectID: "own", Roles: []string{"reader"}}, targetProject: "other"}},
	{"MEMBER ONLY", persona{caller: auth.Caller{UserID: "u", ProjectID: "own", Roles: []string{"member"}}}},
	{"SYSTEM ADMIN", persona{caller: auth.Caller{UserID: "u", SystemScope: "all", Roles: []string{"admin", "member", "reader"}}}},
	{"DOMAIN ADMIN", persona{caller: auth.Caller{UserID: "u", DomainID: "d", Roles: []string{"admin", "member", "reader"}}}},
}

// printMatrix prints what usual callers may do.
func (p *process) printMatrix(opened *policy.Policy, asked question, format string) error {
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
	return printAs(p.stdout, format, document, table)
}

// may is a cell of the matrix.
func (w *persona) may(opened *policy.Policy, name string) (string, error) {
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

// asksAnywhere says whether a rule may be asked about what is not the caller's own.
func asksAnywhere(name string) bool {
	ruled := false
	for _, op := range operations() {
		if op.Rule == name && op.Target != nil {
			return true
		}
		ruled = ruled || op.Rule == name
	}
	return !ruled
}

func completeRules(_ *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(given) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return policy.New(policy.Options{}).Rules(), cobra.ShellCompDirectiveNoFileComp
}
