package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

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
environment: its value and whether a flag, the environment, a file or the default gave
it. Passwords are masked. Wrong settings are listed on standard error and make
the exit code 2.

A flag wins over the environment, the environment over the files of --config-file and
--config-dir, and these over the default. Such a file is the placement.conf of the
service before, as it is. None is read unless it is named by --config-file, --config-dir
or the variable OS_PLACEMENT_CONFIG_DIR, not even /etc/placement/placement.conf: a
machine that merely has the old package installed must not change what Berth does.
Options that mean nothing, or do nothing here, are named in warnings.`,
		Example: `  berth config
  berth config --config-file /etc/placement/placement.conf
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

// logOptions writes every setting to the log at level debug, unless --log-options says
// not to.
func (s *Settings) logOptions(ctx context.Context, log *slog.Logger) {
	if !s.LogOptions || !log.Enabled(ctx, slog.LevelDebug) {
		return
	}
	for _, row := range s.values {
		log.Debug("setting", "name", row.name, "value", row.shown(), "origin", row.origin)
	}
}

// corsMaxAge is the setting as the service wants it, to which 0 means the default.
func (s *Settings) corsMaxAge() time.Duration {
	if s.CORSMaxAge == 0 {
		return -1
	}
	return s.CORSMaxAge
}
