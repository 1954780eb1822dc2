package admin

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/berthd/berth/cmd/berth/config"
	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/cmd/berth/setting"
	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/identity/policy"
)

// Policy returns `berth policy`.
func Policy(f *frame.Frame) *cobra.Command {
	return frame.Family(&cobra.Command{
		Use:   "policy",
		Short: "List policy rules and check whether a caller is authorized",
		Long: `List policy rules and check whether a caller is authorized. The rules are the defaults,
overridden by the policy files, as 'berth serve' would read them with the same flags and
environment. The commands change nothing and connect to neither a server nor a database.
docs/policy.md describes the language.`,
		Example: `  berth policy list
  berth policy check placement:usages --roles reader --project p1
  berth policy check POST /reshaper --roles admin,service`,
	}, policyListCommand(f), policyCheckCommand(f))
}

// PolicyRow is a rule in the output of the commands. The member names are stable, because scripts
// read them.
type PolicyRow struct {
	Name       string            `json:"name"`
	Check      string            `json:"check"`
	Default    string            `json:"default,omitempty"`
	Deprecated string            `json:"deprecated,omitempty"`
	File       string            `json:"file,omitempty"`
	Line       int               `json:"line,omitempty"`
	AnyScope   bool              `json:"any_scope"`
	Scopes     []string          `json:"scopes,omitempty"`
	Operations []policyOperation `json:"operations"`
}

type policyOperation struct {
	Method  string `json:"method"`
	Path    string `json:"path"`
	Summary string `json:"summary"`
}

// Origin is the file and line of a rule, or that it is a default.
func (r PolicyRow) Origin() string {
	if r.File == "" {
		return "default"
	}
	return fmt.Sprintf("%s:%d", r.File, r.Line)
}

// operations returns the operations of both APIs.
var operations = sync.OnceValue(server.Operations)

func rowOf(r policy.Rule) PolicyRow {
	row := PolicyRow{
		Name: r.Name, Check: r.Check, Default: r.Default, Deprecated: r.Deprecated, File: r.File, Line: r.Line,
		AnyScope: r.AnyScope, Scopes: r.Scopes, Operations: []policyOperation{},
	}
	for _, op := range operations() {
		asks := op.Rule == r.Name || slices.Contains(op.Further, r.Name)
		if operation := (policyOperation{op.Method, op.Path, op.Summary}); asks && !slices.Contains(row.Operations, operation) {
			row.Operations = append(row.Operations, operation)
		}
	}
	return row
}

func policyListCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "list",
		Short: "List policy rules with their checks, origins and operations",
		Long: `List all rules: the effective check, its origin (file and line, or default), the
deprecated check that also authorizes while --enforce-new-defaults is false, and the
operations. Rules that only files define come last. The table truncates long checks; the
other formats do not.

With --output yaml the command prints a sample policy file: every rule with its
description, the defaults commented out.

Exit codes: 0 printed, 1 a policy file is invalid, 2 the command line or a setting is
invalid.`,
		Example: `  berth policy list
  berth policy list --policy-file policy.yaml --output json | jq -r '.rules[] | select(.file) | .name'
  berth policy list --output yaml > policy.yaml`,
		Args: cobra.NoArgs,
	}
	format := frame.OutputFlag(command)
	command.Flags().Lookup("output").Usage = "output `format`: table, json, csv, or yaml for a policy file"
	addPolicyFlags(command.Flags())
	command.RunE = func(c *cobra.Command, _ []string) error {
		opened, err := openedPolicy(f, c)
		if err != nil {
			return err
		}
		rows := []PolicyRow{}
		table := [][]string{{"RULE", "FROM", "CHECK", "DEPRECATED", "OPERATIONS"}}
		for _, r := range opened.List() {
			row := rowOf(r)
			rows = append(rows, row)
			var ruled []string
			for _, op := range row.Operations {
				ruled = append(ruled, op.Method+" "+op.Path)
			}
			table = append(table, []string{row.Name, row.Origin(), shortened(row.Check), row.Deprecated, strings.Join(slices.Compact(ruled), ", ")})
		}
		if *format == frame.OutputYAML {
			return printSample(f, rows)
		}
		return frame.PrintAs(f.Stdout, *format, map[string]any{"rules": rows, "files": append([]string{}, opened.Paths()...)}, table)
	}
	return command
}

// maxTableCheck is the maximum length of a check in the table, in characters.
const maxTableCheck = 60

// shortened truncates a check for the table.
func shortened(check string) string {
	if runes := []rune(check); len(runes) > maxTableCheck {
		return string(runes[:maxTableCheck-1]) + "…"
	}
	return check
}

// printSample prints a sample policy file.
func printSample(f *frame.Frame, rows []PolicyRow) error {
	var text strings.Builder
	text.WriteString("# Authorization policy. A rule in this file replaces its default entirely.\n" +
		"# docs/policy.md describes the language; 'berth policy check' evaluates rules.\n")
	for _, row := range rows {
		text.WriteString("\n")
		for _, op := range row.Operations {
			fmt.Fprintf(&text, "# %s: %s %s\n", op.Summary, op.Method, op.Path)
		}
		if row.Deprecated != "" {
			fmt.Fprintf(&text, "# With enforce-new-defaults=false this check also authorizes: %s\n", row.Deprecated)
		}
		check, comment := row.Check, "#"
		if row.File != "" {
			comment = ""
		} else if row.Default != "" {
			check = row.Default
		}
		fmt.Fprintf(&text, "%s%s: %s\n", comment, policy.Quote(row.Name), policy.InFile(check))
	}
	_, err := f.Stdout.Write([]byte(text.String()))
	return err
}

// Settings that the policy commands read besides those of the policy.
var policyFlagNames = []string{"config-file", "config-dir"}

// addPolicyFlags adds the flags of the policy settings to a command.
func addPolicyFlags(flags *pflag.FlagSet) { addFlagsOf(flags, isPolicySetting) }

// addFlagsOf adds the flags of some settings of the server to a command.
func addFlagsOf(flags *pflag.FlagSet, uses func(name string) bool) {
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	config.AddFlags(all, config.ForServer)
	all.VisitAll(func(flag *pflag.Flag) {
		if uses(flag.Name) {
			flags.AddFlag(flag)
		}
	})
}

func isPolicySetting(name string) bool {
	return slices.Contains(policyFlagNames, name) ||
		slices.ContainsFunc(new(config.PolicySettings).Table(), func(row setting.Setting) bool { return row.Name == name })
}

// settingsOf reads the settings of the server, and ignores errors in those that the command does not use.
func settingsOf(f *frame.Frame, c *cobra.Command, uses func(name string) bool) (*config.Settings, error) {
	settings, _, err := config.Read(f, c.Flags(), config.ForServer)
	var wrong, ours frame.InputErrors
	if !errors.As(err, &wrong) {
		return settings, err
	}
	for _, err := range wrong {
		if single := (*frame.InputError)(nil); !errors.As(err, &single) || uses(single.Setting) {
			ours = append(ours, err)
		}
	}
	if len(ours) > 0 {
		return nil, ours
	}
	return settings, nil
}

// openedPolicy reads the rules as the server would and prints their problems on standard error.
// It ignores errors in other settings.
func openedPolicy(f *frame.Frame, c *cobra.Command) (*policy.Policy, error) {
	settings, err := settingsOf(f, c, isPolicySetting)
	if err != nil {
		return nil, err
	}
	opened, problems, err := settings.OpenPolicy()
	for _, problem := range problems {
		fmt.Fprintf(f.Stderr, "berth: warning: %s\n", problem)
	}
	return opened, err
}

// operationAt returns the operation of a method and a path.
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
