package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"github.com/berthd/berth/cmd/berth/draw"
	"github.com/berthd/berth/server/audit"
)

// repairDocument is what `berth db repair --output json` prints. The names are an
// interface: scripts read them.
type repairDocument struct {
	Database string `json:"database"`
	// Found is what was there before, Remaining how many of them are there now.
	Found     []audit.Result   `json:"found"`
	Repaired  []audit.Repaired `json:"repaired"`
	Remaining int              `json:"remaining"`
}

func (p *process) repairCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "repair",
		Short: "Put contradictions in the data right",
		Long: `Show what 'berth db check' finds, with what would be done about it, and change nothing.
With --yes the same is done, in one transaction that keeps writers out for as long as
it runs, which is some three times as long as a check: services go on reading, and their
writes wait. It ends with another check, and takes everything back if that still finds
what should have been put right.

What can be put right is what follows from the rest of the database: sums, roots,
copies of traits and aggregates, consumers that use nothing. Where the truth is lost,
the command says so and what people can do. Back the database up before.

Exit codes: 0 there are no contradictions any more, 1 there are some, or the repair
failed.`,
		Example: `  berth db repair          # only shows
  berth db repair --yes`,
		Args: cobra.NoArgs,
	}
	format := outputFlag(command)
	most := mostFlag(command)
	yes := command.Flags().BoolP("yes", "y", false, "do it")
	addSettingFlags(command.Flags(), forDatabase)
	command.RunE = p.printing(format, func(ctx context.Context, d *database, _ *slog.Logger) error {
		document := &repairDocument{Database: d.description, Repaired: []audit.Repaired{}}
		do, options := p.showRepair(ctx, document, *most), pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
		if *yes {
			do, options = p.repair(ctx, document, *most), pgx.TxOptions{IsoLevel: pgx.ReadCommitted}
		}
		if err := inTransaction(ctx, d, options, do); err != nil {
			return err
		}
		if err := document.print(p.stdout, *format, *yes); err != nil || document.Remaining == 0 {
			return err
		}
		if !*yes {
			return errors.New(contradictions(document.Remaining))
		}
		return fmt.Errorf("%s left that cannot be repaired", contradictions(document.Remaining))
	})
	return command
}

// showRepair only finds.
func (p *process) showRepair(ctx context.Context, into *repairDocument, most int) func(pgx.Tx) error {
	return func(tx pgx.Tx) (err error) {
		into.Found, err = audit.Run(ctx, tx, most, p.announce)
		into.Remaining, _ = audit.Count(into.Found)
		return err
	}
}

// repair finds, repairs and looks again, while nobody else writes.
func (p *process) repair(ctx context.Context, into *repairDocument, most int) func(pgx.Tx) error {
	return func(tx pgx.Tx) (err error) {
		if err := audit.Lock(ctx, tx); err != nil {
			return err
		}
		if into.Found, err = audit.Run(ctx, tx, most, p.announce); err != nil {
			return err
		}
		if into.Remaining, _ = audit.Count(into.Found); into.Remaining == 0 {
			return nil
		}
		fmt.Fprintln(p.stderr, "berth: repairing")
		if into.Repaired, err = audit.Repair(ctx, tx); err != nil {
			return err
		}
		left, err := audit.Run(ctx, tx, most, p.announce)
		if err != nil {
			return err
		}
		var repairable int
		into.Remaining, repairable = audit.Count(left)
		if repairable > 0 {
			return fmt.Errorf("%s left that should have been repaired; everything was taken back:\n%s",
				contradictions(repairable), layOut(checkTable(left)))
		}
		return nil
	}
}

func (d *repairDocument) print(out io.Writer, format string, done bool) error {
	if format == "json" {
		return draw.WriteJSON(out, d)
	}
	if err := printRemedies(out, d.Found); err != nil {
		return err
	}
	_, repairable := audit.Count(d.Found)
	switch {
	case done && len(d.Repaired) > 0:
		for _, one := range d.Repaired {
			if _, err := fmt.Fprintf(out, "Repaired %s: %d rows.\n", one.Check, one.Rows); err != nil {
				return err
			}
		}
		return nil
	case repairable > 0:
		_, err := fmt.Fprintln(out, "Nothing was changed. 'berth db repair --yes' does what can be done.")
		return err
	case d.Remaining > 0:
		_, err := fmt.Fprintln(out, "Nothing was changed: none of it can be repaired.")
		return err
	}
	_, err := fmt.Fprintf(out, "No contradictions in %d checks.\n", len(d.Found))
	return err
}
