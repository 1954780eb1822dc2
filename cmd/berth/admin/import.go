package admin

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/cmd/berth/config"
	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/cmd/berth/open"
	"github.com/berthd/berth/cmd/berth/setting"
	"github.com/berthd/berth/server/data/migrate"
	"github.com/berthd/berth/server/data/placementdb"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/data/store"
)

// importFlags holds the flags of `berth import`.
type importFlags struct {
	dryRun, strict bool
	report         string
	project, user  string
	format         *string
}

func importCommand(f *frame.Frame) *cobra.Command {
	var flags importFlags
	command := &cobra.Command{
		Use:   "import address",
		Short: "Import a database of OpenStack Placement",
		Long: `Import a database of OpenStack Placement, named like its [placement_database]
connection, into the empty database of this berth. The command migrates the schema
first. It only reads the source, in one snapshot.

The report counts the anomalies of the source with the action taken; --report writes
every case to a file. The import is one transaction, which compares both sides table by
table before the commit. An interrupted import resumes when the command runs again.
After a completed import the command compares both sides and changes nothing. If the
source has changed, it imports again, unless a server has written to the database.

Exit codes: 0 imported or identical, 1 the import failed or the data differs, 2 the
command line or a setting is invalid.`,
		Example: `  berth import sqlite:////var/lib/placement/placement.db --dry-run
  berth import mysql+pymysql://placement:secret@db.example.org/placement --report odd.jsonl
  berth import postgresql://placement:secret@db.example.org/placement --strict --output json`,
		Args: cobra.ExactArgs(1),
	}
	set := command.Flags()
	set.BoolVar(&flags.dryRun, "dry-run", false, "validate the source and print the report without writing; only a new embedded PostgreSQL gets the schema")
	set.BoolVar(&flags.strict, "strict", false, "fail if the source has anomalies that lose data")
	set.StringVar(&flags.report, "report", "", "`file` for all anomalies, one JSON object per line")
	set.StringVar(&flags.project, "incomplete-consumer-project-id", "", "`project` ID of consumers without a project [BERTH_INCOMPLETE_CONSUMER_PROJECT_ID]")
	set.StringVar(&flags.user, "incomplete-consumer-user-id", "", "`user` ID of consumers without a user [BERTH_INCOMPLETE_CONSUMER_USER_ID]")
	flags.format = frame.ReportFlag(command)
	config.AddFlags(set, config.ForDatabase)
	command.RunE = func(c *cobra.Command, arguments []string) error {
		source, err := legacyAddress(arguments[0])
		if err != nil {
			return err
		}
		owners, err := flags.owners(f.Environ)
		if err != nil {
			return err
		}
		return open.OnDatabase(f, false, func(ctx context.Context, d *open.Database, log *slog.Logger) error {
			return runImport(ctx, f, d, log, flags, placementdb.ImportOptions{
				Source: source, Target: d.Direct, InsertNames: store.InsertStandardNames,
				Owners: owners, DryRun: flags.dryRun, Strict: flags.strict,
			})
		})(c, nil)
	}
	return command
}

// legacyAddress parses the argument of an import or export.
func legacyAddress(text string) (placementdb.Address, error) {
	address, err := placementdb.ParseAddress(text)
	if err != nil {
		return placementdb.Address{}, frame.InputErrors{fmt.Errorf("address: %w", err)}
	}
	return address, nil
}

// owners returns the project and user for incomplete consumers, from flags or the environment
// variables of the server's settings.
func (f importFlags) owners(environ []string) (owners placementdb.Owners, err error) {
	variables := frame.Environment(environ)
	var wrong frame.InputErrors
	for _, item := range []struct {
		to         *string
		flag, name string
	}{
		{&owners.Project, f.project, "incomplete-consumer-project-id"},
		{&owners.User, f.user, "incomplete-consumer-user-id"},
	} {
		row := setting.Setting{Name: item.name, Value: config.ExternalID(item.to), Origin: "flag --" + item.name}
		row.Text = cmp.Or(item.flag, variables[row.Env()], config.ZeroUUID)
		if broken := row.Value.Read(row.Text); broken != nil {
			wrong = append(wrong, &frame.InputError{Setting: row.Name, Value: row.Text, Origin: row.Origin, Rule: *broken})
		}
	}
	if len(wrong) > 0 {
		return owners, wrong
	}
	return owners, nil
}

func runImport(ctx context.Context, f *frame.Frame, d *open.Database, log *slog.Logger, flags importFlags, options placementdb.ImportOptions) (err error) {
	if err := prepareTarget(ctx, d, log, options.DryRun); err != nil {
		return err
	}
	if flags.report != "" {
		file, failed := os.Create(flags.report)
		if failed != nil {
			return failed
		}
		buffered := bufio.NewWriter(file)
		defer func() { err = errors.Join(err, buffered.Flush(), file.Close()) }()
		options.Anomalies = buffered
	}
	progress := newImportProgress(f.Stderr)
	options.Progress = progress.tell
	report, failed := placementdb.Import(ctx, options)
	progress.done()
	report.Target = d.Description
	return errors.Join(failed, printMove(f, *flags.format, report))
}

// prepareTarget migrates the schema and adds the standard names. A dry run does so only in an embedded PostgreSQL that
// is new: it has no data that others use, and an import reads the schema of its target.
func prepareTarget(ctx context.Context, d *open.Database, log *slog.Logger, dryRun bool) error {
	if dryRun {
		status, err := migrate.GetStatus(ctx, d.Direct)
		if err != nil {
			return err
		}
		isNew := d.Private != nil && status.Version == 0
		if status.State() == migrate.StateOutdated && !isNew {
			return errors.New("the database does not have the schema of this berth, and a dry run creates none; run 'berth db migrate' first")
		}
		if !isNew {
			return nil
		}
	}
	if _, err := migrate.UpWithin(ctx, d.Direct, d.Waits, log); err != nil {
		return err
	}
	names, err := store.Open(ctx, postgres.Options{URL: config.WithoutLimits(d.Direct), MaxConns: 1})
	if err != nil {
		return err
	}
	defer names.Close()
	return names.SyncStandardNames(ctx)
}

// printMove prints the report of an import or export.
func printMove(f *frame.Frame, format string, report *placementdb.Report) error {
	if frame.IsDocument(format) {
		return frame.WriteDocument(f.Stdout, format, report)
	}
	if len(report.Anomalies) > 0 {
		table := [][]string{{"ANOMALY", "NUMBER", "LOSES DATA", "DESCRIPTION", "ACTION"}}
		for _, anomaly := range report.Anomalies {
			table = append(table, []string{anomaly.Kind, fmt.Sprint(anomaly.Count), yesOrNo(anomaly.Loses), anomaly.Description, anomaly.Action})
		}
		if _, err := io.WriteString(f.Stdout, frame.LayOut(table)+"\n"); err != nil {
			return err
		}
	}
	if len(report.Tables) > 0 {
		table := [][]string{{"TABLE", "SOURCE", "EXPECTED", "WRITTEN", "SOURCE HASH", "WRITTEN HASH"}}
		for _, item := range report.Tables {
			table = append(table, []string{item.Table, fmt.Sprint(item.Rows), fmt.Sprint(item.Expected), fmt.Sprint(item.Found), item.SourceHash, frame.OrDash(item.Hash)})
		}
		if _, err := io.WriteString(f.Stdout, frame.LayOut(table)+"\n"); err != nil {
			return err
		}
	}
	if report.HistoryEnded {
		const text = "The history is off now, because an import is not recorded. Turn it on with 'berth history enable'.\n"
		if _, err := io.WriteString(f.Stdout, text); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(f.Stdout, "%s after %.1f s\n", report.Outcome, report.Seconds)
	return err
}

func yesOrNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}
