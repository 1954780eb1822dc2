package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/server/migrate"
)

// Exit codes of 'berth db online-data-migrations' beside 0, nothing is left to do. The
// 1 of the service before, something was done and more may be left, does not occur.
const (
	exitMigrationFailed = 2
	exitWrongCount      = 127
)

// dataMigrations are those of the service before. Both mended rows that the schema of
// Berth cannot hold: resource_providers.root_id is NOT NULL, and an allocation refers to
// its consumer by a foreign key.
var dataMigrations = []string{"set_root_provider_ids", "create_incomplete_consumers"}

func (p *process) onlineDataMigrationsCommand() *cobra.Command {
	command := &cobra.Command{
		Use:     "online-data-migrations",
		Aliases: []string{"online_data_migrations"},
		Short:   "Say that no data is left to migrate",
		Long: `Print the table of the data migrations that scripts around the service before expect,
with nothing found and nothing done. What those migrations mended cannot be in Berth's
database: every provider has a root and every allocation a consumer, by constraint.
'berth import' mends such rows when it copies an old database, and reports them.

The database is looked at all the same. Exit codes: 0 nothing is left to do, 2 the
database cannot be reached or its schema is not that of this berth, 127 the count is no
number above 0.`,
		Example: `  berth db online-data-migrations
  berth db online_data_migrations --max-count 50`,
		Args: cobra.NoArgs,
	}
	most := command.Flags().String("max-count", "", "most `rows` to migrate; accepted and of no consequence")
	addSettingFlags(command.Flags(), forDatabase)
	run := p.onDatabase(true, func(ctx context.Context, d *database, _ *slog.Logger) error {
		status, err := migrate.GetStatus(ctx, d.direct)
		switch {
		case err != nil:
			return err
		case status.Foreign:
			return migrate.ErrForeign
		case stateOf(status) == behind:
			return errors.New("the schema is behind this berth; run 'berth db sync' first")
		}
		return printDataMigrations(p.stdout)
	})
	command.RunE = func(c *cobra.Command, arguments []string) error {
		if c.Flags().Changed("max-count") {
			if count, err := strconv.ParseInt(*most, 10, 64); err != nil || count < 1 {
				return &codedError{exitWrongCount, fmt.Errorf("max-count: %q (flag --max-count) is no whole number above 0; write digits only", *most)}
			}
		} else {
			fmt.Fprintln(p.stdout, "Running batches of 50 until complete")
		}
		err := run(c, arguments)
		if err == nil || errors.As(err, new(mistakes)) {
			return err
		}
		return &codedError{exitMigrationFailed, err}
	}
	return command
}

// printDataMigrations draws the table with lines that scripts look for.
func printDataMigrations(out io.Writer) error {
	rows := [][]string{{"Migration", "Total Found", "Completed"}}
	for _, name := range dataMigrations {
		rows = append(rows, []string{name, "0", "0"})
	}
	_, err := io.WriteString(out, framed(rows, centred))
	return err
}

// framed draws a table inside of lines, with one below its heading.
func framed(rows [][]string, align func(cell string, width int) string) string {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], len(cell))
		}
	}
	rule := "+"
	for _, width := range widths {
		rule += strings.Repeat("-", width+2) + "+"
	}
	var text strings.Builder
	for i, row := range rows {
		if i < 2 {
			text.WriteString(rule + "\n")
		}
		text.WriteString("|")
		for j, cell := range row {
			text.WriteString(" " + align(cell, widths[j]) + " |")
		}
		text.WriteString("\n")
	}
	return text.String() + rule + "\n"
}

func centred(cell string, width int) string {
	left := (width - len(cell)) / 2
	return strings.Repeat(" ", left) + cell + strings.Repeat(" ", width-len(cell)-left)
}
