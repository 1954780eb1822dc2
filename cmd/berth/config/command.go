package config

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/cmd/berth/setting"
)

// ConfigRow is one setting in the output of `berth config --output json`. The member names are
// stable, because scripts read them.
type ConfigRow struct {
	Name        string `json:"name"`
	Value       string `json:"value"`
	Origin      string `json:"origin"`
	Environment string `json:"environment"`
	Help        string `json:"help"`
}

// Command returns `berth config`.
func Command(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "config",
		Short: "Show all settings with values and origins",
		Long: `Show the settings that 'berth serve' would use with the same flags and environment: each
value with its origin (flag, environment, file or default). The command changes nothing
and masks passwords. It lists invalid settings on standard error.

A flag takes precedence over the environment, the environment over the files of
--config-file and --config-dir, and these over the default. The files are
placement.conf files of OpenStack Placement, unchanged. Berth reads only files named
by --config-file, --config-dir or OS_PLACEMENT_CONFIG_DIR. It does not read
/etc/placement/placement.conf by default, because an installed package of OpenStack
Placement must not configure Berth. Warnings list unknown options and options without
effect.

Exit codes: 0 all settings are valid, 1 the output cannot be written, 2 a setting is
invalid.`,
		Example: `  berth config
  berth config --config-file /etc/placement/placement.conf
  BERTH_LOG_LEVEL=debug berth config --listen 127.0.0.1:9000
  berth config --output json | jq -r '.settings[] | select(.origin != "default") | .name'`,
		Args: cobra.NoArgs,
	}
	format := frame.ReportFlag(command)
	AddFlags(command.Flags(), ForServer)
	command.RunE = func(c *cobra.Command, _ []string) error {
		settings, wrong := Load(f, c, ForServer)
		if err := printConfig(f, settings, *format); err != nil {
			return err
		}
		return wrong
	}
	return command
}

func printConfig(f *frame.Frame, settings *Settings, format string) error {
	rows := []ConfigRow{}
	table := [][]string{{"SETTING", "FROM", "VALUE"}}
	for _, row := range settings.values {
		rows = append(rows, ConfigRow{row.Name, row.Shown(), row.Origin, row.Env(), setting.PlainHelp(row.Help)})
		table = append(table, []string{row.Name, row.Origin, row.Shown()})
	}
	document := map[string]any{"settings": rows, "database": settings.Database()}
	if err := frame.PrintAs(f.Stdout, format, document, table); err != nil || frame.IsDocument(format) {
		return err
	}
	_, err := fmt.Fprintf(f.Stdout, "\nDatabase: %s\n", settings.Database())
	return err
}

// LogSettings logs every setting at level debug, unless --log-options is false.
func (s *Settings) LogSettings(ctx context.Context, log *slog.Logger) {
	if !s.LogOptions || !log.Enabled(ctx, slog.LevelDebug) {
		return
	}
	for _, row := range s.values {
		log.Debug("setting", "name", row.Name, "value", row.Shown(), "origin", row.Origin)
	}
}
