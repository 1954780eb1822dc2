package placementdb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/data/postgres"
)

// ImportOptions contains the source, the target and the mode of an import.
type ImportOptions struct {
	Source Address
	// Target is the connection string of Berth's database, which is migrated and has its standard names.
	Target string
	// InsertNames, unless nil, inserts missing standard names in the transaction of a dry run, which is rolled back: the
	// target of a dry run may lack them.
	InsertNames func(ctx context.Context, to db.DBTX) error
	// Owners are the project and user of consumers without owner.
	Owners Owners
	// DryRun validates everything and writes nothing.
	DryRun bool
	// Strict rejects anomalies that lose data.
	Strict bool
	// Anomalies, unless nil, receives every anomaly as a line of JSON.
	Anomalies io.Writer
	Progress  Progress
}

// importRun is the state of one import.
type importRun struct {
	ImportOptions
	source *Source
	conn   *pgx.Conn
	survey *SourceSummary
	report *Report
	books  *db.ImportStateShowRow // nil: there was no import before
}

// Import imports a database of OpenStack Placement into Berth. The report is also returned with a
// RejectedError or MismatchError.
func Import(ctx context.Context, options ImportOptions) (report *Report, err error) {
	began := time.Now()
	i := &importRun{ImportOptions: options, report: &Report{
		Source: options.Source.String(), Outcome: Refused, Anomalies: []Anomaly{}, Tables: []TableReport{},
	}}
	defer func() { i.report.Seconds = time.Since(began).Round(time.Millisecond).Seconds() }()
	if i.source, err = OpenSource(ctx, options.Source); err != nil {
		return i.report, err
	}
	defer func() { err = errors.Join(err, i.source.Close()) }()
	i.report.Revision = i.source.Revision
	if i.conn, err = connectTarget(ctx, options.Target); err != nil {
		return i.report, err
	}
	defer func() { err = errors.Join(err, i.conn.Close(context.WithoutCancel(ctx))) }()
	if err := findStaging(ctx, i.conn); err != nil {
		return i.report, err
	}
	return i.report, i.run(ctx)
}

var queries = db.New()

// lockTimeout is the maximum wait for a lock: PostgreSQL needs a moment to detect that an earlier import
// was killed.
const lockTimeout = 5 * time.Second

// lock reports whether this is the only import into the target.
func (i *importRun) lock(ctx context.Context) (bool, error) {
	for deadline := time.Now().Add(lockTimeout); ; {
		locked, err := queries.ImportLock(ctx, i.conn)
		if err != nil || locked || time.Now().After(deadline) {
			return locked, err
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (i *importRun) run(ctx context.Context) error {
	locked, err := i.lock(ctx)
	if err != nil {
		return err
	}
	if !locked {
		return refuse("another import into this database is in progress")
	}
	books, err := queries.ImportStateShow(ctx, i.conn)
	switch {
	case err == nil:
		i.books = &books
	case !errors.Is(err, pgx.ErrNoRows):
		return err
	}
	if i.books == nil || i.DryRun { // other runs compare everything later
		if err := i.refuseOccupied(ctx, i.conn); err != nil {
			return err
		}
	}
	if i.survey, err = i.source.Summarize(ctx, i.Owners, i.Progress); err != nil {
		return err
	}
	switch {
	case i.finished() && i.books.Fingerprint == i.survey.Fingerprint:
		return i.verify(ctx)
	case i.DryRun:
		return i.runDry(ctx)
	}
	if i.books != nil {
		// This check avoids a useless copy; the import repeats it when it has locked the tables.
		err := pgx.BeginFunc(ctx, i.conn, func(tx pgx.Tx) error {
			_, err := i.mayReplace(ctx, tx)
			return err
		})
		if err != nil {
			return err
		}
	}
	before := i.books
	if err := i.copy(ctx); err != nil {
		return err
	}
	err = i.write(ctx)
	_, isRefused := errors.AsType[*RejectedError](err)
	_, isMismatch := errors.AsType[*MismatchError](err)
	if isRefused || isMismatch {
		return errors.Join(err, i.deleteState(ctx, before))
	}
	return err
}

// deleteState restores the import state after a rejected import.
func (i *importRun) deleteState(ctx context.Context, before *db.ImportStateShowRow) error {
	return pgx.BeginFunc(ctx, i.conn, func(tx pgx.Tx) error {
		if err := dropStaging(ctx, tx); err != nil {
			return err
		}
		if before == nil {
			return queries.ImportStateDelete(ctx, tx)
		}
		return queries.ImportStateRestore(ctx, tx, db.ImportStateRestoreParams{
			Source: before.Source, Fingerprint: before.Fingerprint, BeganAt: before.BeganAt, FinishedAt: before.FinishedAt,
		})
	})
}

func (i *importRun) finished() bool { return i.books != nil && i.books.FinishedAt != nil }

// refuseOccupied accepts a target that is empty, or unchanged since an earlier import.
func (i *importRun) refuseOccupied(ctx context.Context, on db.DBTX) error {
	occupied, err := queries.ImportTargetRows(ctx, on)
	if err != nil || len(occupied) == 0 {
		return err
	}
	if i.books == nil {
		return ownData(occupied)
	}
	return nil
}

func ownData(occupied []string) error {
	return refuse("the target database is not empty: %s; import into a database that no server has used", strings.Join(occupied, ", "))
}

// mayReplace reports, while the tables are locked, whether the import may replace the data in the target:
// only if it is exactly what an earlier import wrote.
func (i *importRun) mayReplace(ctx context.Context, tx pgx.Tx) (replace bool, err error) {
	if err := i.refuseOccupied(ctx, tx); err != nil {
		return false, err
	}
	occupied, err := queries.ImportTargetRows(ctx, tx)
	if err != nil || len(occupied) == 0 {
		return false, err
	}
	before := map[string]string{}
	if err := json.Unmarshal(i.books.Digests, &before); err != nil {
		return false, err
	}
	if len(before) == 0 { // an earlier import started and wrote nothing
		return false, ownData(occupied)
	}
	began, err := time.Parse(time.RFC3339Nano, before["began_at"])
	if err != nil {
		return false, err
	}
	now, err := targetDigests(ctx, tx, began, nil, nil)
	if err != nil {
		return false, err
	}
	if maps.Equal(before, now.texts(began)) {
		return true, nil
	}
	return false, refuse("both the source and the target have changed since the last import. " +
		"Nothing was changed. To import again, use an empty database; to keep the data of the target, do not import")
}

// copy copies the source to the staging tables. It resumes an interrupted import of the same source.
func (i *importRun) copy(ctx context.Context) error {
	positions, err := i.positions(ctx)
	if err != nil {
		return err
	}
	if len(positions) == 0 {
		err := pgx.BeginFunc(ctx, i.conn, func(tx pgx.Tx) error {
			if err := createStaging(ctx, tx); err != nil {
				return err
			}
			if i.resumes() {
				return nil
			}
			return queries.ImportStateBegin(ctx, tx, i.Source.String(), i.survey.Fingerprint)
		})
		if err != nil {
			return err
		}
	}
	books, err := queries.ImportStateShow(ctx, i.conn)
	if err != nil {
		return err
	}
	i.books = &books
	return i.source.stage(ctx, i.conn, positions, i.stagingFingerprint(), i.Progress)
}

// resumes reports whether an import of the same source was interrupted.
func (i *importRun) resumes() bool {
	return i.books != nil && !i.finished() && i.books.Fingerprint == i.survey.Fingerprint
}

// positions returns the positions up to which an interrupted import of the same source has copied its
// tables. It returns none if there was no such import, or if its staging tables, which are unlogged, are
// missing or empty.
func (i *importRun) positions(ctx context.Context) ([]db.ImportPositionListRow, error) {
	staging, err := queries.ImportStagingShow(ctx, i.conn)
	if err != nil || !i.resumes() || !staging.HasTables {
		return nil, err
	}
	return queries.ImportPositionList(ctx, i.conn, i.stagingFingerprint())
}

// write validates the copy and writes it, in one transaction.
func (i *importRun) write(ctx context.Context) error {
	if err := queries.ImportStagingAnalyze(ctx, i.conn); err != nil {
		return err
	}
	if err := i.endHistory(ctx); err != nil {
		return err
	}
	err := pgx.BeginFunc(ctx, i.conn, func(tx pgx.Tx) error {
		if err := queries.ImportTargetLock(ctx, tx); err != nil {
			return err
		}
		replace, err := i.mayReplace(ctx, tx)
		if err != nil {
			return err
		}
		if replace {
			if err := i.clear(ctx, tx); err != nil {
				return err
			}
		}
		if err := i.validate(ctx, tx); err != nil {
			return err
		}
		return i.fill(ctx, tx)
	})
	if err != nil {
		return err
	}
	i.report.Outcome = Imported
	return errors.Join(pgx.BeginFunc(ctx, i.conn, func(tx pgx.Tx) error { return dropStaging(ctx, tx) }), queries.ImportTargetAnalyze(ctx, i.conn))
}

// endHistory turns the record of changes off, which does not have the rows of the import.
func (i *importRun) endHistory(ctx context.Context) error {
	before, err := queries.ImportHistoryEnd(ctx, i.conn)
	if err != nil {
		return err
	}
	i.report.HistoryEnded = before.WasOn
	deadline := time.Now().Add(lockTimeout)
	for more := before.WasOn || !before.IsSwitched; more; {
		more, err = queries.HistorySwitch(ctx, i.conn)
		if postgres.LockTimedOut(err) && time.Now().Before(deadline) {
			more, err = true, nil
		}
		if err != nil {
			return fmt.Errorf("turn the record of changes off: %w", err)
		}
	}
	return nil
}

func (i *importRun) clear(ctx context.Context, tx pgx.Tx) error {
	if err := queries.ImportTargetClear(ctx, tx); err != nil {
		return err
	}
	return queries.ImportNamesClear(ctx, tx, i.books.ResourceClasses, i.books.Traits)
}

// fill writes the rows and compares them with the summary of the source.
func (i *importRun) fill(ctx context.Context, tx pgx.Tx) error {
	traits, classes, err := i.writeAll(ctx, tx)
	if err != nil {
		return err
	}
	i.Progress("comparing", 0, 0)
	found, err := targetDigests(ctx, tx, i.books.BeganAt, i.survey.traits, i.survey.classes)
	if err != nil {
		return err
	}
	i.tables(found)
	if differing := i.survey.expected.differences(found); len(differing) > 0 {
		return &MismatchError{differing, "nothing was imported, because the result would not match the source"}
	}
	kept, err := json.Marshal(found.texts(i.books.BeganAt))
	if err != nil {
		return err
	}
	return queries.ImportStateFinish(ctx, tx, kept, traits, classes)
}

// verify compares the target with a source that was imported before.
func (i *importRun) verify(ctx context.Context) error {
	options := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	return pgx.BeginTxFunc(ctx, i.conn, options, func(tx pgx.Tx) (err error) {
		if i.report.Anomalies, err = readAnomalies(ctx, tx, i.Anomalies); err != nil {
			return err
		}
		i.Progress("comparing", 0, 0)
		found, err := targetDigests(ctx, tx, i.books.BeganAt, i.survey.traits, i.survey.classes)
		if err != nil {
			return err
		}
		i.tables(found)
		if differing := i.survey.expected.differences(found); len(differing) > 0 {
			return &MismatchError{differing, "this source was imported on " + i.books.FinishedAt.UTC().Format(time.DateTime) +
				" and nothing was changed now; the target has changed since then"}
		}
		i.report.Outcome = Verified
		return nil
	})
}
