package admin

import (
	"context"
	"errors"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/cmd/berth/config"
	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/cmd/berth/open"
	"github.com/berthd/berth/server/data/placementdb"
)

func exportCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "export address",
		Short: "Export the data to a database of OpenStack Placement",
		Long: `Export the data to an empty database of OpenStack Placement, to roll back to it. The
command creates the tables of schema revision
` + placementdb.Head + `, writes all rows and reads them again to compare both sides. It only reads Berth's
database. It reports rows that the target cannot store: those of the Bare Metal API, and
leases.
Stop the servers first, because later writes are not exported. Exit codes: 0 exported
and compared, 1 the export failed or the data differs, 2 the command line or a setting
is invalid.`,
		Example: `  berth export sqlite:////var/lib/placement/placement.db
  berth export mysql+pymysql://placement:secret@db.example.org/placement
  berth export postgresql://placement:secret@db.example.org/placement --output json`,
		Args: cobra.ExactArgs(1),
	}
	format := frame.ReportFlag(command)
	config.AddFlags(command.Flags(), config.ForDatabase)
	command.RunE = func(c *cobra.Command, arguments []string) error {
		target, err := legacyAddress(arguments[0])
		if err != nil {
			return err
		}
		return open.OnDatabase(f, true, func(ctx context.Context, d *open.Database, _ *slog.Logger) error {
			progress := newImportProgress(f.Stderr)
			report, failed := placementdb.Export(ctx, placementdb.ExportOptions{Source: d.Direct, Target: target, Progress: progress.tell})
			progress.done()
			report.Source = d.Description
			return errors.Join(failed, printMove(f, *format, report))
		})(c, nil)
	}
	return command
}
