package main

import (
	"context"
	"errors"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/server/legacy"
)

func (p *process) exportCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "export address",
		Short: "Write everything into a database for the Python service",
		Long: `Write what this berth's database says into an empty one for an OpenStack Placement
service: the way back. The tables are made as that service has them at schema revision
` + legacy.Head + `, and read again to be compared. What they have no place for, the Bare
Metal API's rows, is reported. Stop the services first: what is written to this
database afterwards is not exported.`,
		Example: `  berth export sqlite:////var/lib/placement/placement.db
  berth export mysql+pymysql://placement:secret@db.example.org/placement
  berth export postgresql://placement:secret@db.example.org/placement --output json`,
		Args: cobra.ExactArgs(1),
	}
	format := outputFlag(command)
	addSettingFlags(command.Flags(), forDatabase)
	command.RunE = func(c *cobra.Command, arguments []string) error {
		target, err := p.legacyAddress(arguments[0], *format)
		if err != nil {
			return err
		}
		return p.onDatabase(true, func(ctx context.Context, d *database, _ *slog.Logger) error {
			progress := newImportProgress(p.stderr)
			report, failed := legacy.Export(ctx, legacy.ExportOptions{Source: d.direct, Target: target, Progress: progress.tell})
			progress.done()
			report.Source = d.description
			return errors.Join(failed, p.printMove(*format, report))
		})(c, nil)
	}
	return command
}
