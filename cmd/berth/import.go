package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/server/legacy"
	"github.com/berthd/berth/server/migrate"
	"github.com/berthd/berth/server/store"
)

// importFlags are what only `berth import` has.
type importFlags struct {
	dryRun, strict bool
	report         string
	project, user  string
	format         *string
}

func (p *process) importCommand() *cobra.Command {
	var flags importFlags
	command := &cobra.Command{
		Use:   "import address",
		Short: "Move the database of the Python service here",
		Long: `Move the database of an OpenStack Placement service, as its [placement_database]
connection names it, into the database of this berth, which must be empty: its schema
is made first. The source is only read, all its tables as they are at one moment.

What is odd in the source is counted and listed, with what was done about it; --report
keeps every case. Nothing is written unless everything can be: it is one transaction,
at whose end both sides are compared table by table. An import that was broken off goes
on when it is started again. Started again when it is done, it compares and changes
nothing; if the source has changed, it begins anew as long as no service has written to
the database since.

Exit codes: 0 imported, or found to be the same; 1 refused, failed or different; 2 the
command line or a setting is wrong.`,
		Example: `  berth import sqlite:////var/lib/placement/placement.db --dry-run
  berth import mysql+pymysql://placement:secret@db.example.org/placement?charset=utf8 --report odd.jsonl
  berth import postgresql://placement:secret@db.example.org/placement --strict --output json`,
		Args: cobra.ExactArgs(1),
	}
	set := command.Flags()
	set.BoolVar(&flags.dryRun, "dry-run", false, "read and judge everything, print the report, write nothing")
	set.BoolVar(&flags.strict, "strict", false, "refuse a source with oddities that lose data")
	set.StringVar(&flags.report, "report", "", "`file` for every oddity, one JSON object a line")
	set.StringVar(&flags.project, "incomplete-consumer-project-id", "", "`project` of consumers that have none [BERTH_INCOMPLETE_CONSUMER_PROJECT_ID]")
	set.StringVar(&flags.user, "incomplete-consumer-user-id", "", "`user` of consumers that have none [BERTH_INCOMPLETE_CONSUMER_USER_ID]")
	flags.format = outputFlag(command)
	addSettingFlags(set, forDatabase)
	command.RunE = func(c *cobra.Command, arguments []string) error {
		source, err := p.legacyAddress(arguments[0], *flags.format)
		if err != nil {
			return err
		}
		owners, err := flags.owners(p.environ)
		if err != nil {
			return err
		}
		return p.onDatabase(false, func(ctx context.Context, d *database, log *slog.Logger) error {
			return p.runImport(ctx, d, log, flags, legacy.ImportOptions{
				Source: source, Target: d.direct, Owners: owners, DryRun: flags.dryRun, Strict: flags.strict,
			})
		})(c, nil)
	}
	return command
}

// legacyAddress reads the argument of an import or export.
func (p *process) legacyAddress(text, format string) (legacy.Address, error) {
	if err := checkOutput(format); err != nil {
		return legacy.Address{}, err
	}
	address, err := legacy.ParseAddress(text)
	if err != nil {
		return legacy.Address{}, mistakes{fmt.Errorf("address: %w", err)}
	}
	return address, nil
}

// owners are those of the settings of a server, which are not settings of this command.
func (f importFlags) owners(environ []string) (owners legacy.Owners, err error) {
	variables := environment(environ)
	var wrong mistakes
	for _, one := range []struct {
		to         *string
		flag, name string
	}{
		{&owners.Project, f.project, "incomplete-consumer-project-id"},
		{&owners.User, f.user, "incomplete-consumer-user-id"},
	} {
		row := setting{name: one.name, value: externalID(one.to), origin: "flag --" + one.name}
		row.text = cmp.Or(one.flag, variables[row.env()], zeroUUID)
		if broken := row.value.read(row.text); broken != nil {
			wrong = append(wrong, &mistake{row.name, row.text, row.origin, *broken})
		}
	}
	if len(wrong) > 0 {
		return owners, wrong
	}
	return owners, nil
}

func (p *process) runImport(ctx context.Context, d *database, log *slog.Logger, flags importFlags, options legacy.ImportOptions) (err error) {
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
		options.Oddities = buffered
	}
	progress := newImportProgress(p.stderr)
	options.Progress = progress.tell
	report, failed := legacy.Import(ctx, options)
	progress.done()
	report.Target = d.description
	return errors.Join(failed, p.printMove(*flags.format, report))
}

// prepareTarget makes the schema and the standard names; a dry run needs them to be
// there.
func prepareTarget(ctx context.Context, d *database, log *slog.Logger, dryRun bool) error {
	if dryRun {
		status, err := migrate.GetStatus(ctx, d.direct)
		if err != nil {
			return err
		}
		if stateOf(status) == behind {
			return errors.New("a dry run writes nothing, and the database has no schema of this berth yet; run 'berth db migrate' first")
		}
		return nil
	}
	if _, err := migrate.Up(ctx, d.direct, log); err != nil {
		return err
	}
	names, err := store.Open(ctx, store.Options{URL: d.direct, MaxConns: 1})
	if err != nil {
		return err
	}
	defer names.Close()
	return names.SyncStandardNames(ctx)
}

// printMove prints the report of an import or export.
func (p *process) printMove(format string, report *legacy.Report) error {
	if format == "json" {
		encoder := json.NewEncoder(p.stdout)
		encoder.SetIndent("", "  ")
		encoder.SetEscapeHTML(false)
		return encoder.Encode(report)
	}
	if len(report.Oddities) > 0 {
		table := [][]string{{"ODDITY", "NUMBER", "LOSES DATA", "WHAT", "DONE"}}
		for _, one := range report.Oddities {
			table = append(table, []string{one.Kind, fmt.Sprint(one.Count), yesOrNo(one.Loses), one.What, one.Done})
		}
		if _, err := io.WriteString(p.stdout, layOut(table)+"\n"); err != nil {
			return err
		}
	}
	if len(report.Tables) > 0 {
		table := [][]string{{"TABLE", "SOURCE", "EXPECTED", "WRITTEN", "HASH OF THE SOURCE", "HASH OF WHAT WAS WRITTEN"}}
		for _, one := range report.Tables {
			table = append(table, []string{one.Table, fmt.Sprint(one.Rows), fmt.Sprint(one.Expected), fmt.Sprint(one.Found), one.SourceHash, orDash(one.Hash)})
		}
		if _, err := io.WriteString(p.stdout, layOut(table)+"\n"); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(p.stdout, "%s after %.1f s\n", report.Outcome, report.Seconds)
	return err
}

func yesOrNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}
