package admin

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"github.com/berthd/berth/cmd/berth/config"
	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/cmd/berth/open"
	"github.com/berthd/berth/server/data/audit"
	"github.com/berthd/berth/server/data/migrate"
	"github.com/berthd/berth/server/data/session"
)

// CheckDocument is the output of `berth db check --output json`. The member names are stable,
// because scripts read them.
type CheckDocument struct {
	Database string `json:"database"`
	// Count is the number of inconsistent rows, Repairable the number of those that 'berth db
	// repair' can repair.
	Count      int            `json:"count"`
	Repairable int            `json:"repairable"`
	Checks     []audit.Result `json:"checks"`
}

func checkCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "check",
		Short: "Check the data for inconsistent rows",
		Long: `Check the database for inconsistent rows: wrong sums of allocations, allocations without
inventory or consumer, wrong roots of provider trees, consumers without allocations, and
so on. The command only reads, in one snapshot, while servers continue to write. It
prints the name of each check on standard error. 100,000 providers with 1,000,000
allocations take about eight seconds on two cores.

Requests cannot cause inconsistent rows. Manual changes of tables, mixed backups,
defective disks and bugs in berth can; please report bugs. 'berth db repair' shows which
rows it can repair.

A provider over capacity is consistent, because its inventory may be reduced while
workloads run.

Exit codes: 0 no inconsistent rows, 1 inconsistent rows or the check failed, 2 a
setting is invalid.`,
		Example: `  berth db check
  berth db check --output json | jq '.checks[] | select(.count > 0)'`,
		Args: cobra.NoArgs,
	}
	format := frame.OutputFlag(command)
	most := limitFlag(command)
	config.AddFlags(command.Flags(), config.ForDatabase)
	command.RunE = open.OnDatabase(f, true, func(ctx context.Context, d *open.Database, _ *slog.Logger) error {
		var results []audit.Result
		options := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
		err := inTransaction(ctx, d, options, func(tx pgx.Tx) (err error) {
			results, err = audit.Run(ctx, tx, *most, func(number int, next audit.Check) { announce(f, number, next) })
			return err
		})
		if err != nil {
			return err
		}
		document := CheckDocument{Database: d.Description, Checks: results}
		document.Count, document.Repairable = audit.Count(results)
		if err := frame.PrintAs(f.Stdout, *format, document, checkTable(results)); err != nil || document.Count == 0 {
			return err
		}
		return fmt.Errorf("%s; 'berth db repair' can repair %d of them",
			countInconsistencies(document.Count), document.Repairable)
	})
	return command
}

// limitFlag adds --most, the maximum number of findings per check.
func limitFlag(command *cobra.Command) *int {
	return command.Flags().Int("most", 100, "maximum `number` of inconsistent rows to print per check; all are counted")
}

// announce returns a function that prints the next check on standard error, because a check can
// take some time.
func announce(f *frame.Frame, number int, next audit.Check) {
	fmt.Fprintf(f.Stderr, "berth: %d/%d %s\n", number, len(audit.Checks()), next.Title)
}

// countInconsistencies returns a count of inconsistent rows as text.
func countInconsistencies(count int) string {
	if count == 1 {
		return "found 1 inconsistent row"
	}
	return fmt.Sprintf("found %d inconsistent rows", count)
}

// inTransaction calls a function in a transaction on a database with the schema version of this
// berth.
func inTransaction(ctx context.Context, d *open.Database, options pgx.TxOptions, do func(pgx.Tx) error) error {
	status, err := migrate.GetStatus(ctx, d.Direct)
	if err != nil {
		return err
	}
	if !status.UpToDate() && !status.Newer() {
		return fmt.Errorf("the schema is at version %d, this berth needs version %d with SQL functions %d; run 'berth db migrate' first",
			status.Version, status.Latest, status.Known.Number)
	}
	conn, err := migrate.Connect(ctx, d.Direct)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if options.AccessMode != pgx.ReadOnly {
		if err := session.Check(ctx, conn, true); err != nil {
			return err
		}
	}
	return pgx.BeginTxFunc(ctx, conn, options, do)
}

// checkTable returns one row per inconsistent row, and one for those above the limit.
func checkTable(results []audit.Result) [][]string {
	table := [][]string{{"CHECK", "UUID", "INCONSISTENCY"}}
	for _, result := range results {
		for _, found := range result.Findings {
			table = append(table, []string{result.Name, frame.OrDash(found.UUID), found.Sentence})
		}
		if rest := result.Count - len(result.Findings); rest > 0 {
			table = append(table, []string{result.Name, "-", fmt.Sprintf("and %d more", rest)})
		}
	}
	if len(table) == 1 {
		return [][]string{{fmt.Sprintf("No inconsistent rows in %d checks.", len(results))}}
	}
	return table
}

// printRepairs prints the findings of each check with their repair.
func printRepairs(out io.Writer, results []audit.Result) error {
	for _, result := range results {
		if result.Count == 0 {
			continue
		}
		remedy := result.RepairAction
		if remedy == "" {
			remedy = "cannot be repaired: " + result.ManualAction
		}
		if _, err := fmt.Fprintf(out, "%s (%d): %s\n", result.Name, result.Count, remedy); err != nil {
			return err
		}
		if _, err := io.WriteString(out, indented(checkTable([]audit.Result{result})[1:])); err != nil {
			return err
		}
	}
	return nil
}

// indented returns a table without its first column, indented below a heading.
func indented(table [][]string) string {
	for i, row := range table {
		table[i] = append([]string{" "}, row[1:]...)
	}
	return frame.LayOut(table)
}
