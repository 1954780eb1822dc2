package placementdb

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// ExportOptions contains the source and the target of an export.
type ExportOptions struct {
	// Source is the connection string of Berth's database.
	Source string
	// Target is a database without tables of OpenStack Placement; an SQLite file need not exist.
	Target   Address
	Progress Progress
}

// Exported is the outcome of an export.
const Exported = "exported"

// Export writes the data of Berth to an empty database with the schema of OpenStack Placement, and reads
// it back to compare. It reports data that this schema cannot store.
func Export(ctx context.Context, options ExportOptions) (report *Report, err error) {
	began := time.Now()
	report = &Report{Target: options.Target.String(), Revision: Head, Outcome: Refused, Anomalies: []Anomaly{}, Tables: []TableReport{}}
	defer func() { report.Seconds = time.Since(began).Round(time.Millisecond).Seconds() }()
	conn, err := connectTarget(ctx, options.Source)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	snapshot := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	return report, pgx.BeginTxFunc(ctx, conn, snapshot, func(tx pgx.Tx) error {
		if err := report.reportUnsupported(ctx, tx); err != nil {
			return err
		}
		if err := options.write(ctx, tx); err != nil {
			return err
		}
		return options.compare(ctx, tx, report)
	})
}

// reportUnsupported reports the rows for which OpenStack Placement has no table.
func (r *Report) reportUnsupported(ctx context.Context, tx pgx.Tx) error {
	counted, err := queries.ExportUnsupported(ctx, tx)
	for _, row := range counted {
		what := "rows of the Bare Metal API, for which OpenStack Placement has no table"
		if row.Name == "leases" {
			what = "leases, for which OpenStack Placement has no table: it never removes their consumers"
		}
		r.Anomalies = append(r.Anomalies, Anomaly{
			Kind: row.Name, Count: row.Number, Loses: true, Examples: []json.RawMessage{},
			Description: what, Action: "skipped",
		})
	}
	return err
}

// write creates the tables and fills them. The revision comes last: without it OpenStack Placement does
// not accept the database.
func (o ExportOptions) write(ctx context.Context, ours pgx.Tx) (err error) {
	pool, err := o.Target.open(false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	for _, t := range tables(true) {
		var any int
		switch err := pool.QueryRowContext(ctx, "SELECT 1 FROM "+t.name).Scan(&any); {
		case err == nil, errors.Is(err, sql.ErrNoRows):
			return refuse("%s has a table %s already; export into an empty database", o.Target, t.name)
		case !isAbsent(err):
			return fmt.Errorf("open %s: %w", o.Target, withoutPassword(err, o.Target))
		}
	}
	tx, err := pool.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	// MySQL commits these statements implicitly: after a later error the tables remain, without revision.
	for _, statement := range o.Target.engine.statements() {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("create the tables in %s: %w", o.Target, err)
		}
	}
	e := &exportRun{ExportOptions: o, ours: ours, tx: tx, folded: map[string]bool{}}
	if err := e.rows(ctx); err != nil {
		return fmt.Errorf("write to %s, which must be dropped now: %w", o.Target, err)
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO alembic_version (version_num) VALUES ('"+Head+"')"); err != nil {
		return err
	}
	return tx.Commit()
}

// compare reads back the target, and reports values that became less exact.
func (o ExportOptions) compare(ctx context.Context, tx pgx.Tx, report *Report) error {
	written, err := OpenSource(ctx, o.Target)
	if err != nil {
		return err
	}
	defer written.Close()
	survey, err := written.Summarize(ctx, Owners{}, o.Progress)
	if err != nil {
		return err
	}
	ours := &targetDigester{digests: digests{}, coarse: o.Target.engine == mariadb}
	if err := ours.read(ctx, tx, nil, nil); err != nil {
		return err
	}
	for _, name := range digestNames {
		here, there := ours.digests.of(name), survey.expected.of(name)
		report.Tables = append(report.Tables, TableReport{
			Table: name, Rows: here.rows, Expected: here.rows, Found: there.rows, SourceHash: here.String(), Hash: there.String(),
		})
	}
	if ours.coarse {
		report.Anomalies = append(report.Anomalies, Anomaly{
			Kind: "precision", Examples: []json.RawMessage{},
			Description: "MySQL stores whole seconds and single-precision ratios", Action: "times truncated, ratios rounded",
		})
	}
	if differing := ours.digests.differences(survey.expected); len(differing) > 0 {
		return &MismatchError{differing, "the export was written but does not match the source"}
	}
	report.Outcome = Exported
	return nil
}
