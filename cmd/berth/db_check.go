package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"github.com/berthd/berth/server/audit"
	"github.com/berthd/berth/server/migrate"
)

// checkDocument is what `berth db check --output json` prints. The names are an
// interface: scripts read them.
type checkDocument struct {
	Database string `json:"database"`
	// Count is how many contradictions there are, Repairable how many of them
	// 'berth db repair' can put right.
	Count      int            `json:"count"`
	Repairable int            `json:"repairable"`
	Checks     []audit.Result `json:"checks"`
}

func (p *process) checkCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "check",
		Short: "Look for contradictions in the data",
		Long: `Look for what must never be in the database: sums of allocations that are wrong,
allocations without inventory or consumer, roots of trees that are not the topmost
ancestor, consumers without allocations, and so on. Only reads, all of it in one
snapshot, while services go on writing. Each question is announced on standard error
before it is asked. 100,000 providers with 1,000,000 allocations take about eight
seconds on two cores.

Contradictions do not come from requests. They come from tables that were changed by
hand, from backups that were put together, from broken disks, and from mistakes in
berth, which are worth a report. 'berth db repair' shows what can be put right.

A provider that has less than is used of it is not one: totals may be lowered under
running workloads.

Exit codes: 0 there are none, 1 there are some, or the check failed.`,
		Example: `  berth db check
  berth db check --output json | jq '.checks[] | select(.count > 0)'`,
		Args: cobra.NoArgs,
	}
	format := outputFlag(command)
	most := mostFlag(command)
	addSettingFlags(command.Flags(), forDatabase)
	command.RunE = p.printing(format, func(ctx context.Context, d *database, _ *slog.Logger) error {
		var results []audit.Result
		options := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
		err := inTransaction(ctx, d, options, func(tx pgx.Tx) (err error) {
			results, err = audit.Run(ctx, tx, *most, p.announce)
			return err
		})
		if err != nil {
			return err
		}
		document := checkDocument{Database: d.description, Checks: results}
		document.Count, document.Repairable = audit.Count(results)
		if err := printAs(p.stdout, *format, document, checkTable(results)); err != nil || document.Count == 0 {
			return err
		}
		return fmt.Errorf("%s; 'berth db repair' shows what can be done about %d of them",
			contradictions(document.Count), document.Repairable)
	})
	return command
}

// mostFlag limits how many findings of one kind are shown.
func mostFlag(command *cobra.Command) *int {
	return command.Flags().Int("most", 100, "show at most this `number` of contradictions of each kind; all are counted")
}

// announce says on standard error what is about to be looked at, since that can take
// some time.
func (p *process) announce(number int, next audit.Check) {
	fmt.Fprintf(p.stderr, "berth: %d/%d %s\n", number, len(audit.Checks()), next.Title)
}

// contradictions is their number in words.
func contradictions(count int) string {
	if count == 1 {
		return "there is 1 contradiction"
	}
	return fmt.Sprintf("there are %d contradictions", count)
}

// inTransaction runs something on a database whose schema this berth knows.
func inTransaction(ctx context.Context, d *database, options pgx.TxOptions, do func(pgx.Tx) error) error {
	status, err := migrate.GetStatus(ctx, d.direct)
	if err != nil {
		return err
	}
	if !status.UpToDate() && !status.Newer() {
		return fmt.Errorf("the schema is at version %d, this berth needs version %d with SQL functions %d; run 'berth db migrate' first",
			status.Version, status.Latest, status.Known.Number)
	}
	conn, err := pgx.Connect(ctx, d.direct)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	return pgx.BeginTxFunc(ctx, conn, options, do)
}

// checkTable is one line for each contradiction, and one for those that are left out.
func checkTable(results []audit.Result) [][]string {
	table := [][]string{{"CHECK", "UUID", "CONTRADICTION"}}
	for _, result := range results {
		for _, found := range result.Findings {
			table = append(table, []string{result.Name, orDash(found.UUID), found.Sentence})
		}
		if rest := result.Count - len(result.Findings); rest > 0 {
			table = append(table, []string{result.Name, "-", fmt.Sprintf("and %d more", rest)})
		}
	}
	if len(table) == 1 {
		return [][]string{{fmt.Sprintf("No contradictions in %d checks.", len(results))}}
	}
	return table
}

// printRemedies shows what a repair does about each kind of contradiction.
func printRemedies(out io.Writer, results []audit.Result) error {
	for _, result := range results {
		if result.Count == 0 {
			continue
		}
		remedy := result.Remedy
		if remedy == "" {
			remedy = "cannot be repaired: " + result.Obstacle
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

// indented is a table below a heading, without its first column.
func indented(table [][]string) string {
	for i, row := range table {
		table[i] = append([]string{" "}, row[1:]...)
	}
	return layOut(table)
}
