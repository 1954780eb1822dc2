package legacy

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// ExportOptions say what to export where.
type ExportOptions struct {
	// Source is our database.
	Source string
	// Target has no tables of the old schema; an SQLite file need not exist.
	Target   Address
	Progress Progress
}

// Exported is the outcome of an export.
const Exported = "exported"

// Export writes what our tables say into an empty database as the Python service has
// it, and reads it back to compare. What that has no place for is reported.
func Export(ctx context.Context, options ExportOptions) (report *Report, err error) {
	began := time.Now()
	report = &Report{Target: options.Target.String(), Revision: Head, Outcome: Refused, Oddities: []Oddity{}, Tables: []TableReport{}}
	defer func() { report.Seconds = time.Since(began).Round(time.Millisecond).Seconds() }()
	conn, err := connectTarget(ctx, options.Source)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	snapshot := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	return report, pgx.BeginTxFunc(ctx, conn, snapshot, func(tx pgx.Tx) error {
		if err := report.inexpressible(ctx, tx); err != nil {
			return err
		}
		if err := options.write(ctx, tx); err != nil {
			return err
		}
		return options.compare(ctx, tx, report)
	})
}

// inexpressible notes the rows for which the old schema has no table.
func (r *Report) inexpressible(ctx context.Context, tx pgx.Tx) error {
	counted, err := queries.LegacyInexpressible(ctx, tx)
	for _, one := range counted {
		r.Oddities = append(r.Oddities, Oddity{
			Kind: one.Name, Count: one.Number, Loses: true, Examples: []json.RawMessage{},
			What: "rows of the Bare Metal API, for which the Python service has no table", Done: "left out",
		})
	}
	return err
}

// write makes the tables and fills them; the revision, which makes them a database of
// the service, comes last.
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
	// In MySQL these commit by themselves: what fails later leaves them, without revision.
	for _, statement := range o.Target.engine.statements() {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("make the tables in %s: %w", o.Target, err)
		}
	}
	e := &exporting{ExportOptions: o, ours: ours, tx: tx, folded: map[string]bool{}}
	if err := e.rows(ctx); err != nil {
		return fmt.Errorf("write to %s, which is to be dropped: %w", o.Target, err)
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO alembic_version (version_num) VALUES ('"+Head+"')"); err != nil {
		return err
	}
	return tx.Commit()
}

// compare reads what was written, and says what became less exact.
func (o ExportOptions) compare(ctx context.Context, tx pgx.Tx, report *Report) error {
	written, err := OpenSource(ctx, o.Target)
	if err != nil {
		return err
	}
	defer written.Close()
	survey, err := written.Survey(ctx, Owners{}, o.Progress)
	if err != nil {
		return err
	}
	ours := &summing{digests: digests{}, coarse: o.Target.engine == mariadb}
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
		report.Oddities = append(report.Oddities, Oddity{
			Kind: "precision", Examples: []json.RawMessage{},
			What: "MySQL has whole seconds and ratios of single precision", Done: "times cut, ratios rounded",
		})
	}
	if differing := ours.digests.differences(survey.expected); len(differing) > 0 {
		return &MismatchError{differing, "the export was written, and it is not what is here"}
	}
	report.Outcome = Exported
	return nil
}
