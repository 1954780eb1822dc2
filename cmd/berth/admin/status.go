package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/cmd/berth/config"
	"github.com/berthd/berth/cmd/berth/connect"
	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/cmd/berth/open"
)

// ExitUnexpected is the exit code if a check cannot run.
const ExitUnexpected = 255

// Result is the outcome of a check; the worst outcome is the exit code.
type Result int

const (
	checkOK      Result = 0
	checkWarning Result = 1
	checkFailure Result = 2
)

func (r Result) String() string { return [...]string{"Success", "Warning", "Failure"}[r] }

// checked is one line of the report. The member names are stable, because scripts read them.
type checked struct {
	Check   string  `json:"check"`
	Result  Result  `json:"result"`
	Details *string `json:"details"`
	// migrates is set if a migration of the schema is what the check asks for.
	migrates bool
}

func passed(name string) checked { return checked{Check: name} }

func found(name string, outcome Result, details ...string) checked {
	text := strings.Join(details, "; ")
	return checked{Check: name, Result: outcome, Details: &text}
}

func upgradeStatusCommand(f *frame.Frame) *cobra.Command {
	check := upgradeCheckCommand(f, "check")
	check.Short = "Alias of 'berth status upgrade-check'"
	upgrade := frame.Family(&cobra.Command{Use: "upgrade", Short: "Command form of placement-status", Hidden: true}, check)
	command := &cobra.Command{
		Use:   "status",
		Short: "Check whether this berth is ready to serve",
		Long: `Check whether the settings, the policy files and the database are ready for 'berth
serve' with the same flags and environment, and print one line with the database. A
second line states whether a server answers where the commands of the API send their
requests (BERTH_URL); that has no effect on the exit code. 'berth status upgrade-check'
prints each check. The commands only read.

Exit codes: 0 ready, 1 ready with warnings, 2 not ready or the command line is invalid,
255 a check cannot run because the database is unreachable.`,
		Example: `  berth status
  berth status upgrade-check --config-file /etc/placement/placement.conf`,
		Args: cobra.NoArgs,
	}
	format := frame.ReportFlag(command)
	config.AddFlags(command.Flags(), config.ForServer)
	command.RunE = func(c *cobra.Command, _ []string) error {
		return runChecks(f, c, func(settings *config.Settings, database string, checks []checked) error {
			if settings.Migrate {
				expectMigration(checks)
			}
			return printReadiness(f.Stdout, *format, readinessOf(c.Context(), f, database, checks))
		})
	}
	command.AddCommand(upgradeCheckCommand(f, "upgrade-check"), upgrade)
	return command
}

// expectMigration makes an outdated schema a warning: 'berth serve' migrates it on startup, unless --migrate is false.
func expectMigration(checks []checked) {
	for i := range checks {
		if checks[i].migrates {
			checks[i].Result = checkWarning
			checks[i].Details = new("'berth serve' will migrate the schema; until then " + *checks[i].Details)
		}
	}
}

// readiness is the JSON of `berth status`. The member names are stable, because scripts read them.
type readiness struct {
	Ready    bool     `json:"ready"`
	Database string   `json:"database"`
	Checks   int      `json:"checks"`
	Problems []string `json:"problems"`
	Warnings []string `json:"warnings"`
	// Server is where commands send requests, and ServerError why no server answers there; null if one does.
	Server      string  `json:"server"`
	ServerError *string `json:"server_error"`
}

// readinessOf returns what the checks found, and whether a server answers.
func readinessOf(ctx context.Context, f *frame.Frame, database string, checks []checked) *readiness {
	found := &readiness{Ready: true, Database: database, Checks: len(checks), Problems: []string{}, Warnings: []string{}}
	for _, check := range checks {
		switch check.Result {
		case checkFailure:
			found.Ready = false
			found.Problems = append(found.Problems, check.Check+": "+*check.Details)
		case checkWarning:
			found.Warnings = append(found.Warnings, check.Check+": "+*check.Details)
		}
	}
	url, err := connect.Reach(ctx, f)
	found.Server = url
	if err != nil {
		found.ServerError = new(err.Error())
	}
	return found
}

// printReadiness prints whether all checks passed, with the first problem or warning and the database, and then the server.
func printReadiness(out io.Writer, format string, found *readiness) error {
	if frame.IsDocument(format) {
		return frame.WriteDocument(out, format, found)
	}
	line := fmt.Sprintf("ready: all %d checks passed, on %s", found.Checks, found.Database)
	switch more := len(found.Problems) + len(found.Warnings) - 1; {
	case !found.Ready:
		line = "not ready: " + found.Problems[0] + seeAll(more) + ", on " + found.Database
	case len(found.Warnings) > 0:
		line = "ready, with a warning: " + found.Warnings[0] + seeAll(more) + ", on " + found.Database
	}
	server := "server: one answers at " + found.Server
	if found.ServerError != nil {
		server = "server: " + *found.ServerError
	}
	_, err := fmt.Fprintf(out, "%s\n%s\n", line, server)
	return err
}

// seeAll names the command that prints the other problems and warnings.
func seeAll(more int) string {
	if more == 0 {
		return ""
	}
	return fmt.Sprintf(" (and %d more: berth status upgrade-check)", more)
}

func upgradeCheckCommand(f *frame.Frame, name string) *cobra.Command {
	command := &cobra.Command{
		Use:   name,
		Short: "Check settings, policy files and database before an upgrade",
		Long: `Check the configuration of 'berth serve' with the same flags and environment: settings,
options of placement.conf that are unknown or have no effect, policy files, the
settings and the version of PostgreSQL, the schema, planner settings that a pooler may
drop, and interrupted imports. The command only reads.

Exit codes: 0 all checks passed, 1 there are warnings, 2 a check failed or the command
line is invalid, 255 a check cannot run because the database is unreachable.`,
		Example: `  berth status upgrade-check
  berth status upgrade-check --json | jq '.checks[] | select(.result > 0)'
  berth status upgrade check      # as scripts have it`,
		Args: cobra.NoArgs,
	}
	asJSON := command.Flags().Bool("json", false, "alias of --output json")
	format := frame.ReportFlag(command)
	config.AddFlags(command.Flags(), config.ForServer)
	command.RunE = func(c *cobra.Command, _ []string) error {
		return runChecks(f, c, func(_ *config.Settings, _ string, checks []checked) error {
			if *format == frame.OutputYAML {
				return frame.WriteDocument(f.Stdout, *format, checksDocument(checks))
			}
			return printChecks(f.Stdout, checks, *asJSON || *format == frame.OutputJSON)
		})
	}
	return command
}

// runChecks runs all checks and prints them; print may change them. The exit code is that of the worst one.
func runChecks(f *frame.Frame, c *cobra.Command, print func(settings *config.Settings, database string, checks []checked) error) error {
	settings, warnings, err := config.Read(f, c.Flags(), config.ForServer)
	checks, database, err := upgradeChecks(f, c, settings, warnings, err)
	if err != nil {
		return &frame.CodedError{Code: ExitUnexpected, Cause: err}
	}
	if err := print(settings, database, checks); err != nil {
		return err
	}
	worst := checkOK
	for _, check := range checks {
		worst = max(worst, check.Result)
	}
	if worst == checkOK {
		return nil
	}
	return &frame.CodedError{Code: int(worst)}
}

// settingCheck checks the command line, the environment and the files. Options of the files
// without effect are listed, but are no warning, because the files may still be those of
// OpenStack Placement.
func settingCheck(settings *config.Settings, warnings []string, wrong error) checked {
	const name = "Settings"
	var broken frame.InputErrors
	if wrong == nil {
		broken = unreadableFiles(settings)
	} else {
		errors.As(wrong, &broken)
	}
	if len(broken) > 0 {
		var texts []string
		for _, err := range broken {
			texts = append(texts, err.Error())
		}
		return found(name, checkFailure, texts...)
	}
	outcome, notes := checkOK, settings.Conf.Notes(config.ForServer)
	if len(warnings) > len(notes) {
		outcome = checkWarning
	}
	if len(warnings) == 0 {
		return passed(name)
	}
	return found(name, outcome, warnings...)
}

// unreadableFiles returns the errors of password and certificate files with which 'berth serve'
// would fail.
func unreadableFiles(settings *config.Settings) (broken frame.InputErrors) {
	if settings.Auth == config.AuthKeystone {
		if _, err := settings.KeystoneOptions(); err != nil {
			broken = append(broken, err)
		}
	}
	if settings.Auth == config.AuthOIDC {
		if _, err := settings.OIDCOptions(); err != nil {
			broken = append(broken, err)
		}
	}
	if _, err := open.LoadCertificates(settings, slog.New(slog.DiscardHandler)); err != nil {
		broken = append(broken, err)
	}
	return broken
}

const checksTitle = "Upgrade Check Results"

// checksDocument returns the document of 'berth status upgrade-check'.
func checksDocument(checks []checked) any {
	return map[string]any{"name": checksTitle, "checks": checks}
}

func printChecks(out io.Writer, checks []checked, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(out).Encode(checksDocument(checks))
	}
	var text strings.Builder
	blocks := [][]string{{checksTitle}}
	for _, check := range checks {
		details := "None"
		if check.Details != nil {
			details = *check.Details
		}
		lines := []string{"Check: " + check.Check, "Result: " + check.Result.String()}
		blocks = append(blocks, append(lines, wrapped("Details: "+details, detailsWidth)...))
	}
	width := 0
	for _, block := range blocks {
		for _, line := range block {
			width = max(width, len([]rune(line)))
		}
	}
	rule := "+" + strings.Repeat("-", width+2) + "+\n"
	for _, block := range blocks {
		text.WriteString(rule)
		for _, line := range block {
			fmt.Fprintf(&text, "| %-*s |\n", width, line)
		}
	}
	text.WriteString(rule)
	_, err := io.WriteString(out, text.String())
	return err
}

// detailsWidth is the width of a line of details in characters, unless a word is longer.
const detailsWidth = 76

// wrapped splits a text into lines between words.
func wrapped(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == "":
			line = word
		case len([]rune(line))+1+len([]rune(word)) <= width:
			line += " " + word
		default:
			lines = append(lines, line)
			line = "  " + word
		}
	}
	return append(lines, line)
}
