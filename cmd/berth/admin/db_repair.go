package admin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"github.com/berthd/berth/cmd/berth/config"
	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/cmd/berth/open"
	"github.com/berthd/berth/server/data/audit"
)

// repairDocument is the output of `berth db repair --output json`. The member names are stable,
// because scripts read them.
type repairDocument struct {
	Database string `json:"database"`
	// Found has the results of the check before the repair, Remaining the number of inconsistent
	// rows after it.
	Found     []audit.Result   `json:"found"`
	Repaired  []audit.Repaired `json:"repaired"`
	Remaining int              `json:"remaining"`
}

func repairCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "repair",
		Short: "Repair inconsistent rows found by 'berth db check'",
		Long: `Show the findings of 'berth db check' with their repairs. The command changes nothing by
default. With --yes it repairs them in one transaction, which takes about three times as
long as a check. Servers continue to read; their writes wait. The command checks again
before the commit, and rolls back if a repairable row is still inconsistent.

The command repairs values that follow from other rows: sums, roots, copies of traits
and aggregates, consumers without allocations. For other rows it prints the manual
action. Create a backup of the database first.

Exit codes: 0 no inconsistent rows remain, 1 inconsistent rows remain or the repair
failed, 2 a setting is invalid.`,
		Example: `  berth db repair          # only prints the repairs
  berth db repair --yes`,
		Args: cobra.NoArgs,
	}
	format := frame.ReportFlag(command)
	most := limitFlag(command)
	yes := command.Flags().BoolP("yes", "y", false, "do it")
	config.AddFlags(command.Flags(), config.ForDatabase)
	command.RunE = open.OnDatabase(f, true, func(ctx context.Context, d *open.Database, _ *slog.Logger) error {
		document := &repairDocument{Database: d.Description, Repaired: []audit.Repaired{}}
		do, options := showRepair(ctx, f, document, *most), pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
		if *yes {
			do, options = repair(ctx, f, document, *most), pgx.TxOptions{IsoLevel: pgx.ReadCommitted}
		}
		if err := inTransaction(ctx, d, options, do); err != nil {
			return err
		}
		if err := document.print(f.Stdout, *format, *yes); err != nil || document.Remaining == 0 {
			return err
		}
		if !*yes {
			return errors.New(countInconsistencies(document.Remaining))
		}
		return fmt.Errorf("%s that cannot be repaired", countInconsistencies(document.Remaining))
	})
	return command
}

// showRepair only finds.
func showRepair(ctx context.Context, f *frame.Frame, into *repairDocument, most int) func(pgx.Tx) error {
	return func(tx pgx.Tx) (err error) {
		into.Found, err = audit.Run(ctx, tx, most, func(number int, next audit.Check) { announce(f, number, next) })
		into.Remaining, _ = audit.Count(into.Found)
		return err
	}
}

// repair checks, repairs and checks again, in one transaction that blocks other writers.
func repair(ctx context.Context, f *frame.Frame, into *repairDocument, most int) func(pgx.Tx) error {
	return func(tx pgx.Tx) (err error) {
		if err := audit.Lock(ctx, tx); err != nil {
			return err
		}
		if into.Found, err = audit.Run(ctx, tx, most, func(number int, next audit.Check) { announce(f, number, next) }); err != nil {
			return err
		}
		if into.Remaining, _ = audit.Count(into.Found); into.Remaining == 0 {
			return nil
		}
		fmt.Fprintln(f.Stderr, "berth: repairing")
		if into.Repaired, err = audit.Repair(ctx, tx); err != nil {
			return err
		}
		left, err := audit.Run(ctx, tx, most, func(number int, next audit.Check) { announce(f, number, next) })
		if err != nil {
			return err
		}
		var repairable int
		into.Remaining, repairable = audit.Count(left)
		if repairable > 0 {
			return fmt.Errorf("%s after the repair; rolled back all changes:\n%s",
				countInconsistencies(repairable), frame.LayOut(checkTable(left)))
		}
		return nil
	}
}

func (d *repairDocument) print(out io.Writer, format string, done bool) error {
	if frame.IsDocument(format) {
		return frame.WriteDocument(out, format, d)
	}
	if err := printRepairs(out, d.Found); err != nil {
		return err
	}
	_, repairable := audit.Count(d.Found)
	switch {
	case done && len(d.Repaired) > 0:
		for _, repaired := range d.Repaired {
			if _, err := fmt.Fprintf(out, "Repaired %s: %d rows.\n", repaired.Check, repaired.Rows); err != nil {
				return err
			}
		}
		return nil
	case repairable > 0:
		_, err := fmt.Fprintln(out, "Nothing was changed. Run 'berth db repair --yes' to repair these rows.")
		return err
	case d.Remaining > 0:
		_, err := fmt.Fprintln(out, "Nothing was changed: none of these rows can be repaired.")
		return err
	}
	_, err := fmt.Fprintf(out, "No inconsistent rows in %d checks.\n", len(d.Found))
	return err
}
