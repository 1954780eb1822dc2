package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/server/migrate"
)

func (p *process) dbCommand() *cobra.Command {
	return family(&cobra.Command{
		Use:   "db",
		Short: "Bring the database's schema up to date, or look at it",
		Long: `Bring the database's schema up to date, or look at it. Without a database URL these
commands work on the embedded PostgreSQL that 'berth serve' uses, starting it for as
long as they run. While 'berth serve' runs on it, those that only read use its server,
and 'berth db migrate' refuses.

There is no 'stamp': it would claim that the database has a schema that it may not have.
A database that a newer berth has migrated is left alone without it.`,
		Example: `  berth db migrate --database-url postgres://berth:secret@db.example.org/berth
  berth db sync --config-file /etc/placement/placement.conf
  berth db status --output json`,
	}, p.migrateCommand(), p.dbVersionCommand(), p.statusCommand(), p.checkCommand(), p.repairCommand(),
		p.onlineDataMigrationsCommand())
}

func (p *process) migrateCommand() *cobra.Command {
	command := &cobra.Command{
		Use:     "migrate",
		Aliases: []string{"sync"},
		Short:   "Bring the schema up to date",
		Long: `Apply the migrations and SQL functions of this berth that the database lacks. Safe to
run twice and at the same time. A database that a newer berth has migrated is left
alone. 'berth serve' does the same when it starts, unless told not to.`,
		Example: `  berth db migrate
  berth db sync      # the same`,
		Args: cobra.NoArgs,
	}
	addSettingFlags(command.Flags(), forDatabase)
	command.RunE = p.onDatabase(false, func(ctx context.Context, d *database, log *slog.Logger) error {
		report, err := migrate.Up(ctx, d.direct, log)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(p.stdout, describeReport(report))
		return err
	})
	return command
}

// describeReport says in one line what a migration did.
func describeReport(report migrate.Report) string {
	switch {
	case report.DatabaseNewer:
		return fmt.Sprintf("The database is at version %d, which is newer than this berth; nothing was done.", report.From)
	case len(report.Applied) == 0 && !report.FunctionsApplied:
		return fmt.Sprintf("The database is at version %d already; nothing was to be done.", report.To)
	case len(report.Applied) == 0:
		return fmt.Sprintf("The database stays at version %d; its SQL functions were replaced.", report.To)
	default:
		return fmt.Sprintf("The database went from version %d to version %d.", report.From, report.To)
	}
}

func (p *process) dbVersionCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "version",
		Short: "Print the version of the schema",
		Long: `Print the number of the newest migration that the database has; 0 for an empty one. The
numbers are Berth's own, from 1 up, and no revisions of the service before.`,
		Example: `  berth db version
  berth db version --output json`,
		Args: cobra.NoArgs,
	}
	format := outputFlag(command)
	addSettingFlags(command.Flags(), forDatabase)
	command.RunE = p.printing(format, func(ctx context.Context, d *database, _ *slog.Logger) error {
		version, err := migrate.Version(ctx, d.direct)
		if err != nil {
			return err
		}
		return printAs(p.stdout, *format, map[string]int64{"version": version}, [][]string{{fmt.Sprint(version)}})
	})
	return command
}

// statusDocument is what `berth db status --output json` prints. The names are an
// interface: scripts read them.
type statusDocument struct {
	Database           string   `json:"database"`
	State              string   `json:"state"`
	Version            int64    `json:"version"`
	Latest             int64    `json:"latest"`
	Pending            []string `json:"pending"`
	InstalledFunctions int      `json:"installed_functions"`
	KnownFunctions     int      `json:"known_functions"`
}

func (p *process) statusCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "status",
		Short: "Compare the database with this berth",
		Long: `Show the version of the schema in the database beside the one this berth knows, the
migrations that are pending, and the numbers of both sets of SQL functions. Only
reads. The state is "up to date", "behind" (run 'berth db migrate'), "newer" (a newer
berth was here) or "foreign" (the database of another Placement service).`,
		Example: `  berth db status
  berth db status --output json | jq -r .state`,
		Args: cobra.NoArgs,
	}
	format := outputFlag(command)
	addSettingFlags(command.Flags(), forDatabase)
	command.RunE = p.printing(format, func(ctx context.Context, d *database, _ *slog.Logger) error {
		status, err := migrate.GetStatus(ctx, d.direct)
		if err != nil {
			return err
		}
		document := statusDocument{
			Database: d.description, State: stateOf(status), Version: status.Version, Latest: status.Latest,
			Pending:            append([]string{}, status.Pending...),
			InstalledFunctions: status.Installed.Number, KnownFunctions: status.Known.Number,
		}
		return printAs(p.stdout, *format, document, [][]string{
			{"", "DATABASE", "THIS BERTH"},
			{"state", document.State, ""},
			{"version", fmt.Sprint(document.Version), fmt.Sprint(document.Latest)},
			{"functions", fmt.Sprint(document.InstalledFunctions), fmt.Sprint(document.KnownFunctions)},
			{"pending", orDash(strings.Join(document.Pending, ", ")), ""},
		})
	})
	return command
}

// What a database can be, beside the migrations and functions of this berth.
const (
	upToDate = "up to date"
	behind   = "behind"
	newer    = "newer"
	foreign  = "foreign"
)

func stateOf(status migrate.Status) string {
	switch {
	case status.Foreign:
		return foreign
	case status.Newer():
		return newer
	case status.UpToDate():
		return upToDate
	default:
		return behind
	}
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// onDatabase runs something on the database of the settings, and stops an embedded
// one afterwards. A signal cancels the context.
func (p *process) onDatabase(reads bool, do func(context.Context, *database, *slog.Logger) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, _ []string) (err error) {
		settings, err := p.settings(c, forDatabase)
		if err != nil {
			return err
		}
		log := newLogger(settings, p.stderr)
		stop := p.stopOnSignals(c.Context())
		defer stop.done()
		patience, giveUp := patienceOf(stop, supervisorPatience)
		defer giveUp()
		database, err := openDatabase(stop.asked, settings, log, reads)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, database.close(patience)) }()
		return do(stop.asked, database, log)
	}
}

// printing is onDatabase for commands with --output, which only read. The format is
// checked first.
func (p *process) printing(format *string, do func(context.Context, *database, *slog.Logger) error) func(*cobra.Command, []string) error {
	run := p.onDatabase(true, do)
	return func(c *cobra.Command, arguments []string) error {
		if err := checkOutput(*format); err != nil {
			return err
		}
		return run(c, arguments)
	}
}
