package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/policy"
	"github.com/berthd/berth/server/route"
)

func (p *process) policyCommand() *cobra.Command {
	return family(&cobra.Command{
		Use:   "policy",
		Short: "Show who may do what",
		Long: `Show the rules that decide who may do what, and answer whether somebody may. The rules
are the defaults with what stands in the policy files over them, as 'berth serve' would
read them with the same flags and the same environment. Nothing is asked of a running
service or of a database. docs/policy.md has the language.`,
		Example: `  berth policy list
  berth policy check placement:usages --roles reader --project p1
  berth policy check POST /reshaper --roles admin,service`,
	}, p.policyListCommand(), p.policyCheckCommand())
}

// policyRow is a rule as the commands print it. The names are an interface: scripts
// read them.
type policyRow struct {
	Name       string            `json:"name"`
	Check      string            `json:"check"`
	Default    string            `json:"default,omitempty"`
	Deprecated string            `json:"deprecated,omitempty"`
	File       string            `json:"file,omitempty"`
	Line       int               `json:"line,omitempty"`
	AnyScope   bool              `json:"any_scope"`
	Operations []policyOperation `json:"operations"`
}

type policyOperation struct {
	Method  string `json:"method"`
	Path    string `json:"path"`
	Summary string `json:"summary"`
}

// origin says where a rule was read.
func (r policyRow) origin() string {
	if r.File == "" {
		return "default"
	}
	return fmt.Sprintf("%s:%d", r.File, r.Line)
}

// operations are all that the service can be asked for.
var operations = sync.OnceValue(server.Operations)

func rowOf(r policy.Rule) policyRow {
	made := policyRow{
		Name: r.Name, Check: r.Check, Default: r.Default, Deprecated: r.Deprecated, File: r.File, Line: r.Line,
		AnyScope: r.AnyScope, Operations: []policyOperation{},
	}
	for _, op := range operations() {
		if one := (policyOperation{op.Method, op.Path, op.Summary}); op.Rule == r.Name && !slices.Contains(made.Operations, one) {
			made.Operations = append(made.Operations, one)
		}
	}
	return made
}

func (p *process) policyListCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "list",
		Short: "List every rule with its check, where it comes from and what it rules",
		Long: `List every rule: the check that holds, the file and line it was read from or that it is
the default, the deprecated check that is accepted beside the default while
--enforce-new-defaults is false, and the operations it rules. Rules that only files know
come last.

With --output yaml it prints a policy file to begin with: every rule with what it is for,
the defaults commented out.`,
		Example: `  berth policy list
  berth policy list --policy-file policy.yaml --output json | jq -r '.rules[] | select(.file) | .name'
  berth policy list --output yaml > policy.yaml`,
		Args: cobra.NoArgs,
	}
	format := command.Flags().StringP("output", "o", "table", "`format` of the answer: table, json, or yaml for a policy file")
	completeChoices(command, "output", "table", "json", "yaml")
	addPolicyFlags(command.Flags())
	command.RunE = func(c *cobra.Command, _ []string) error {
		if *format != "yaml" && checkOutput(*format) != nil {
			return mistakes{&mistake{"output", *format, "flag --output", rule{"is not one of the choices", "write table, json or yaml"}}}
		}
		opened, err := p.openedPolicy(c)
		if err != nil {
			return err
		}
		rows := []policyRow{}
		table := [][]string{{"RULE", "FROM", "CHECK", "DEPRECATED", "OPERATIONS"}}
		for _, r := range opened.List() {
			row := rowOf(r)
			rows = append(rows, row)
			var ruled []string
			for _, op := range row.Operations {
				ruled = append(ruled, op.Method+" "+op.Path)
			}
			table = append(table, []string{row.Name, row.origin(), row.Check, row.Deprecated, strings.Join(slices.Compact(ruled), ", ")})
		}
		if *format == "yaml" {
			return p.printSample(rows)
		}
		return printAs(p.stdout, *format, map[string]any{"rules": rows, "files": append([]string{}, opened.Paths()...)}, table)
	}
	return command
}

// printSample writes a policy file.
func (p *process) printSample(rows []policyRow) error {
	var text strings.Builder
	text.WriteString("# Rules of who may do what. A rule that stands here replaces the default, whole.\n" +
		"# The language is in docs/policy.md; 'berth policy check' tries it.\n")
	for _, row := range rows {
		text.WriteString("\n")
		for _, op := range row.Operations {
			fmt.Fprintf(&text, "# %s: %s %s\n", op.Summary, op.Method, op.Path)
		}
		if row.Deprecated != "" {
			fmt.Fprintf(&text, "# With enforce-new-defaults=false this is accepted beside the default: %s\n", row.Deprecated)
		}
		check, comment := row.Check, "#"
		if row.File != "" {
			comment = ""
		} else if row.Default != "" {
			check = row.Default
		}
		fmt.Fprintf(&text, "%s%s: %s\n", comment, policy.Quote(row.Name), policy.InFile(check))
	}
	_, err := p.stdout.Write([]byte(text.String()))
	return err
}

// The settings that the commands of policy read, beside those of the policy itself.
var policyFlagNames = []string{"config-file", "config-dir"}

// addPolicyFlags gives a command the flags that decide which rules hold.
func addPolicyFlags(flags *pflag.FlagSet) {
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	addSettingFlags(all, forServer)
	all.VisitAll(func(flag *pflag.Flag) {
		if isPolicySetting(flag.Name) {
			flags.AddFlag(flag)
		}
	})
}

func isPolicySetting(name string) bool {
	return slices.Contains(policyFlagNames, name) ||
		slices.ContainsFunc(new(policySettings).table(), func(row setting) bool { return row.name == name })
}

// openedPolicy reads the rules as the service would. What is odd in them goes to
// standard error. Mistakes in other settings are the business of other commands.
func (p *process) openedPolicy(c *cobra.Command) (*policy.Policy, error) {
	settings, _, err := load(c.Flags(), p.environ, forServer)
	var wrong, ours mistakes
	if errors.As(err, &wrong) {
		for _, one := range wrong {
			if single := (*mistake)(nil); !errors.As(one, &single) || isPolicySetting(single.setting) {
				ours = append(ours, one)
			}
		}
		if len(ours) > 0 {
			return nil, ours
		}
	} else if err != nil {
		return nil, err
	}
	opened, problems, err := settings.openPolicy()
	for _, problem := range problems {
		fmt.Fprintf(p.stderr, "berth: warning: %s\n", problem)
	}
	return opened, err
}

// operationAt finds the operation of a method and a path.
func operationAt(method, path string) *route.Operation {
	if path != "/" {
		path = strings.TrimSuffix(path, "/")
	}
	given := strings.Split(path, "/")
	for _, op := range operations() {
		segments := strings.Split(op.Path, "/")
		fits := func(i int) bool {
			return strings.HasPrefix(segments[i], "{") && given[i] != "" || segments[i] == given[i]
		}
		same := op.Method == method && len(segments) == len(given)
		for i := 0; same && i < len(segments); i++ {
			same = fits(i)
		}
		if same {
			return op
		}
	}
	return nil
}
