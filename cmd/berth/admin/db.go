package admin

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/cmd/berth/config"
	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/cmd/berth/open"
	"github.com/berthd/berth/server/data/migrate"
)

func dbCommand(f *frame.Frame) *cobra.Command {
	return frame.Family(&cobra.Command{
		Use:   "db",
		Short: "Migrate, check and repair the database",
		Long: `Migrate, check and repair the database. Without a database URL these commands use the
embedded PostgreSQL of 'berth serve' and start it while they run. While 'berth serve'
uses it, commands that only read connect to the running PostgreSQL; 'berth db migrate'
fails.

There is no 'stamp' command, because it would record a schema version that the database
may not have. Commands do not change a database that a newer berth has migrated.`,
		Example: `  berth db migrate --database-url postgres://berth:secret@db.example.org/berth
  berth db sync --config-file /etc/placement/placement.conf
  berth db status --output json`,
	}, migrateCommand(f), dbVersionCommand(f), statusCommand(f), checkCommand(f), repairCommand(f), rolesCommand(f),
		onlineDataMigrationsCommand(f))
}

func migrateCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:     "migrate",
		Aliases: []string{"sync"},
		Short:   "Migrate the schema to the version of this berth",
		Long: `Apply the migrations and SQL functions of this berth that the database lacks. The
command is idempotent and safe to run concurrently. It does not change a database that
a newer berth has migrated. By default 'berth serve' does the same on startup
(--migrate).

Exit codes: 0 the schema is up to date, 1 a migration failed, 2 a setting is invalid.`,
		Example: `  berth db migrate
  berth db sync      # the same`,
		Args: cobra.NoArgs,
	}
	config.AddFlags(command.Flags(), config.ForDatabase)
	command.RunE = open.OnDatabase(f, false, func(ctx context.Context, d *open.Database, log *slog.Logger) error {
		report, err := migrate.Install(ctx, d.Direct, d.Waits, log)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(f.Stdout, describeReport(report))
		return err
	})
	return command
}

// describeReport returns a one-line summary of a migration.
func describeReport(report migrate.Report) string {
	switch {
	case report.DatabaseNewer:
		return fmt.Sprintf("The database is at version %d, which is newer than this berth; nothing was changed.", report.From)
	case len(report.Applied) == 0 && !report.FunctionsApplied:
		return fmt.Sprintf("The database is at version %d already; nothing was changed.", report.To)
	case len(report.Applied) == 0:
		return fmt.Sprintf("The database stays at version %d; its SQL functions were replaced.", report.To)
	default:
		return fmt.Sprintf("The database was migrated from version %d to version %d.", report.From, report.To)
	}
}

func dbVersionCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "version",
		Short: "Print the schema version of the database",
		Long: `Print the number of the newest migration in the database; 0 if the database is empty.
Berth numbers its migrations from 1; they are not revisions of OpenStack Placement.
The command only reads.

Exit codes: 0 printed, 1 the database cannot be read, 2 a setting is invalid.`,
		Example: `  berth db version
  berth db version --output json`,
		Args: cobra.NoArgs,
	}
	format := frame.OutputFlag(command)
	config.AddFlags(command.Flags(), config.ForDatabase)
	command.RunE = open.OnDatabase(f, true, func(ctx context.Context, d *open.Database, _ *slog.Logger) error {
		version, err := migrate.Version(ctx, d.Direct)
		if err != nil {
			return err
		}
		return frame.PrintAs(f.Stdout, *format, map[string]int64{"version": version}, [][]string{{fmt.Sprint(version)}})
	})
	return command
}

// StatusDocument is the output of `berth db status --output json`. The member names are stable,
// because scripts read them.
type StatusDocument struct {
	Database           string   `json:"database"`
	State              string   `json:"state"`
	Version            int64    `json:"version"`
	Latest             int64    `json:"latest"`
	Pending            []string `json:"pending"`
	InstalledFunctions int      `json:"installed_functions"`
	KnownFunctions     int      `json:"known_functions"`
}

func statusCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "status",
		Short: "Compare the database schema with this berth",
		Long: `Show the schema version of the database and of this berth, the pending migrations, and
the versions of both sets of SQL functions. The command only reads. The state is "up
to date", "outdated" (run 'berth db migrate'), "newer" (migrated by a newer berth) or
"openstack_placement" (the schema of OpenStack Placement).

Exit codes: 0 printed in any state, 1 the database cannot be read, 2 a setting is
invalid.`,
		Example: `  berth db status
  berth db status --output json | jq -r .state`,
		Args: cobra.NoArgs,
	}
	format := frame.OutputFlag(command)
	config.AddFlags(command.Flags(), config.ForDatabase)
	command.RunE = open.OnDatabase(f, true, func(ctx context.Context, d *open.Database, _ *slog.Logger) error {
		status, err := migrate.GetStatus(ctx, d.Direct)
		if err != nil {
			return err
		}
		document := StatusDocument{
			Database: d.Description, State: string(status.State()), Version: status.Version, Latest: status.Latest,
			Pending:            append([]string{}, status.Pending...),
			InstalledFunctions: status.Installed.Number, KnownFunctions: status.Known.Number,
		}
		return frame.PrintAs(f.Stdout, *format, document, [][]string{
			{"", "DATABASE", "THIS BERTH"},
			{"state", document.State, ""},
			{"version", fmt.Sprint(document.Version), fmt.Sprint(document.Latest)},
			{"functions", fmt.Sprint(document.InstalledFunctions), fmt.Sprint(document.KnownFunctions)},
			{"pending", frame.OrDash(strings.Join(document.Pending, ", ")), ""},
		})
	})
	return command
}
