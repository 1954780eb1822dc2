package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"
)

// exitUnexpected is for a check that could not be made.
const exitUnexpected = 255

// result is how a check came out; the worst of all is the exit code.
type result int

const (
	checkFine    result = 0
	checkWarning result = 1
	checkFailure result = 2
)

func (r result) String() string { return [...]string{"Success", "Warning", "Failure"}[r] }

// checked is one line of the report. The names of its members are an interface: scripts
// read them.
type checked struct {
	Check   string  `json:"check"`
	Result  result  `json:"result"`
	Details *string `json:"details"`
}

func passed(name string) checked { return checked{Check: name} }

func found(name string, outcome result, details ...string) checked {
	text := strings.Join(details, "; ")
	return checked{Check: name, Result: outcome, Details: &text}
}

func (p *process) upgradeStatusCommand() *cobra.Command {
	check := p.upgradeCheckCommand("check")
	check.Short = "The same as 'berth status upgrade-check'"
	upgrade := family(&cobra.Command{Use: "upgrade", Short: "The form of the service before", Hidden: true}, check)
	return family(&cobra.Command{
		Use:   "status",
		Short: "Look whether everything is ready for a new version",
		Long: `Look whether the settings, the policy files and the database are ready for this berth to
serve, before it does.`,
		Example: "  berth status upgrade-check --config-file /etc/placement/placement.conf",
	}, p.upgradeCheckCommand("upgrade-check"), upgrade)
}

func (p *process) upgradeCheckCommand(name string) *cobra.Command {
	command := &cobra.Command{
		Use:   name,
		Short: "Check settings, policy files and database before the service starts",
		Long: `Check what 'berth serve' with the same flags and environment would meet: settings,
options of placement.conf that mean nothing or do nothing, policy files, the version of
PostgreSQL, the schema, planner settings that a pooler may take away, and imports that
were interrupted. It only reads.

Exit codes: 0 all is well, 1 something deserves a look, 2 something must be done first,
or the command line is wrong, 255 a check could not be made, since the database cannot
be reached.`,
		Example: `  berth status upgrade-check
  berth status upgrade-check --json | jq '.checks[] | select(.result > 0)'
  berth status upgrade check      # as scripts have it`,
		Args: cobra.NoArgs,
	}
	asJSON := command.Flags().Bool("json", false, "print JSON; the same as --output json")
	format := outputFlag(command)
	addSettingFlags(command.Flags(), forServer)
	command.RunE = func(c *cobra.Command, _ []string) error {
		if err := checkOutput(*format); err != nil {
			return err
		}
		settings, warnings, err := load(c.Flags(), p.environ, forServer)
		checks, err := p.upgradeChecks(c, settings, warnings, err)
		if err != nil {
			return &codedError{exitUnexpected, err}
		}
		if err := printChecks(p.stdout, checks, *asJSON || *format == "json"); err != nil {
			return err
		}
		worst := checkFine
		for _, one := range checks {
			worst = max(worst, one.Result)
		}
		if worst == checkFine {
			return nil
		}
		return &codedError{code: int(worst)}
	}
	return command
}

// settingCheck is that of the command line, the environment and the files. What the
// files say in vain is told, and no reason to warn: they may still be those of the
// service before.
func settingCheck(settings *Settings, warnings []string, wrong error) checked {
	const name = "Settings"
	var broken mistakes
	if wrong == nil {
		broken = unreadableFiles(settings)
	} else {
		errors.As(wrong, &broken)
	}
	if len(broken) > 0 {
		var texts []string
		for _, one := range broken {
			texts = append(texts, one.Error())
		}
		return found(name, checkFailure, texts...)
	}
	outcome, notes := checkFine, settings.conf.notes(forServer)
	if len(warnings) > len(notes) {
		outcome = checkWarning
	}
	if len(warnings) == 0 {
		return passed(name)
	}
	return found(name, outcome, warnings...)
}

// unreadableFiles are those of passwords and certificates which 'berth serve' would
// end over.
func unreadableFiles(settings *Settings) (broken mistakes) {
	if settings.Auth == authKeystone {
		if _, err := settings.keystoneOptions(); err != nil {
			broken = append(broken, err)
		}
	}
	if _, err := loadCertificates(settings, slog.New(slog.DiscardHandler)); err != nil {
		broken = append(broken, err)
	}
	return broken
}

const checksTitle = "Upgrade Check Results"

func printChecks(out io.Writer, checks []checked, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(out).Encode(map[string]any{"name": checksTitle, "checks": checks})
	}
	var text strings.Builder
	blocks := [][]string{{checksTitle}}
	for _, one := range checks {
		details := "None"
		if one.Details != nil {
			details = *one.Details
		}
		lines := []string{"Check: " + one.Check, "Result: " + one.Result.String()}
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

// detailsWidth is how many characters a line of details has, words that are longer
// aside.
const detailsWidth = 76

// wrapped breaks a text into lines between words.
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
