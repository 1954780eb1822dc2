package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

// configRow is one setting as `berth config --output json` prints it. The names
// are an interface: scripts read them.
type configRow struct {
	Name        string `json:"name"`
	Value       string `json:"value"`
	Origin      string `json:"origin"`
	Environment string `json:"environment"`
	Help        string `json:"help"`
}

func (p *process) configCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "config",
		Short: "Show every setting, its value and where it came from",
		Long: `Show every setting as 'berth serve' would see it with the same flags and the same
environment: its value and whether a flag, the environment or the default gave
it. Passwords are masked. Wrong settings are listed on standard error and make
the exit code 2.`,
		Example: `  berth config
  BERTH_LOG_LEVEL=debug berth config --listen 127.0.0.1:9000
  berth config --output json | jq -r '.settings[] | select(.origin != "default") | .name'`,
		Args: cobra.NoArgs,
	}
	format := outputFlag(command)
	addSettingFlags(command.Flags(), forServer)
	command.RunE = func(c *cobra.Command, _ []string) error {
		if err := checkOutput(*format); err != nil {
			return err
		}
		settings, wrong := p.settings(c, forServer)
		if err := p.printConfig(settings, *format); err != nil {
			return err
		}
		return wrong
	}
	return command
}

func (p *process) printConfig(settings *Settings, format string) error {
	rows := []configRow{}
	table := [][]string{{"SETTING", "FROM", "VALUE"}}
	for _, row := range settings.values {
		rows = append(rows, configRow{row.name, row.shown(), row.origin, row.env(), plainHelp(row.help)})
		table = append(table, []string{row.name, row.origin, row.shown()})
	}
	document := map[string]any{"settings": rows, "database": settings.Database()}
	if err := printAs(p.stdout, format, document, table); err != nil || format == "json" {
		return err
	}
	_, err := fmt.Fprintf(p.stdout, "\nDatabase: %s\n", settings.Database())
	return err
}
