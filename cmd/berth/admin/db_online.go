package admin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/cmd/berth/config"
	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/cmd/berth/open"
	"github.com/berthd/berth/server/data/migrate"
)

// Exit codes of 'berth db online-data-migrations' besides 0 (nothing to migrate). The 1 of
// placement-manage (some rows were migrated, more may remain) does not occur.
const (
	exitMigrationFailed = 2
	exitWrongCount      = 127
)

// dataMigrations are the data migrations of OpenStack Placement. Both fix rows that Berth's
// schema prevents: resource_providers.root_id is NOT NULL, and an allocation references its
// consumer by a foreign key.
var dataMigrations = []string{"set_root_provider_ids", "create_incomplete_consumers"}

func onlineDataMigrationsCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:     "online-data-migrations",
		Aliases: []string{"online_data_migrations"},
		Short:   "Report that no data migrations are pending",
		Long: `Print the table of data migrations that scripts for placement-manage expect, with zero
rows found and migrated. Constraints of Berth's schema prevent the rows that those
migrations fix: every provider has a root and every allocation a consumer. 'berth
import' fixes and reports such rows in a database of OpenStack Placement.

The command changes nothing, but checks the schema of the database.

Exit codes: 0 no rows to migrate, 2 the database is unreachable or its schema is
outdated, 127 --max-count is not a number above 0.`,
		Example: `  berth db online-data-migrations
  berth db online_data_migrations --max-count 50`,
		Args: cobra.NoArgs,
	}
	most := command.Flags().String("max-count", "", "ignored number of `rows`; accepted for compatibility with placement-manage")
	config.AddFlags(command.Flags(), config.ForDatabase)
	run := open.OnDatabase(f, true, func(ctx context.Context, d *open.Database, _ *slog.Logger) error {
		status, err := migrate.GetStatus(ctx, d.Direct)
		switch {
		case err != nil:
			return err
		case status.Foreign:
			return migrate.ErrForeign
		case status.State() == migrate.StateOutdated:
			return errors.New("the database schema is older than this berth requires; run 'berth db sync' first")
		}
		return printDataMigrations(f.Stdout)
	})
	command.RunE = func(c *cobra.Command, arguments []string) error {
		if c.Flags().Changed("max-count") {
			if count, err := strconv.ParseInt(*most, 10, 64); err != nil || count < 1 {
				return &frame.CodedError{Code: exitWrongCount, Cause: fmt.Errorf("max-count: %q (flag --max-count) is not a whole number above 0; write digits only", *most)}
			}
		} else {
			fmt.Fprintln(f.Stdout, "Running batches of 50 until complete")
		}
		err := run(c, arguments)
		if err == nil || errors.As(err, new(frame.InputErrors)) {
			return err
		}
		return &frame.CodedError{Code: exitMigrationFailed, Cause: err}
	}
	return command
}

// printDataMigrations prints the table in the format that scripts parse.
func printDataMigrations(out io.Writer) error {
	rows := [][]string{{"Migration", "Total Found", "Completed"}}
	for _, name := range dataMigrations {
		rows = append(rows, []string{name, "0", "0"})
	}
	_, err := io.WriteString(out, framed(rows, centered))
	return err
}

// framed returns a table with borders.
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

func centered(cell string, width int) string {
	left := (width - len(cell)) / 2
	return strings.Repeat(" ", left) + cell + strings.Repeat(" ", width-len(cell)-left)
}
