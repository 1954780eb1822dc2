package legacy

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/gen/db"
)

// ImportOptions say what to import where.
type ImportOptions struct {
	Source Address
	// Target is our database, migrated and with its standard names.
	Target string
	// Owners are for consumers that have none.
	Owners Owners
	// DryRun judges everything and writes nothing.
	DryRun bool
	// Strict refuses what loses data.
	Strict bool
	// Oddities, unless nil, gets every oddity as a line of JSON.
	Oddities io.Writer
	Progress Progress
}

// importing is one import on its way.
type importing struct {
	ImportOptions
	source *Source
	conn   *pgx.Conn
	survey *Survey
	report *Report
	books  *db.LegacyImportShowRow // nil: there never was one
}

// Import moves the database of a Python service into ours. The report is also there
// with the errors RefusedError and MismatchError.
func Import(ctx context.Context, options ImportOptions) (report *Report, err error) {
	began := time.Now()
	i := &importing{ImportOptions: options, report: &Report{
		Source: options.Source.String(), Outcome: Refused, Oddities: []Oddity{}, Tables: []TableReport{},
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
	return i.report, i.run(ctx)
}

var queries = db.New()

// lockPatience is how long a lock may be held by somebody else: PostgreSQL takes a moment
// to notice that an import was killed.
const lockPatience = 5 * time.Second

// lock says whether this is the only import into the target.
func (i *importing) lock(ctx context.Context) (bool, error) {
	for deadline := time.Now().Add(lockPatience); ; {
		locked, err := queries.LegacyLock(ctx, i.conn)
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

func (i *importing) run(ctx context.Context) error {
	locked, err := i.lock(ctx)
	if err != nil {
		return err
	}
	if !locked {
		return refuse("another import into this database is running")
	}
	books, err := queries.LegacyImportShow(ctx, i.conn)
	switch {
	case err == nil:
		i.books = &books
	case !errors.Is(err, pgx.ErrNoRows):
		return err
	}
	if i.books == nil || i.DryRun { // the others compare everything later
		if err := i.refuseOccupied(ctx, i.conn); err != nil {
			return err
		}
	}
	if i.survey, err = i.source.Survey(ctx, i.Owners, i.Progress); err != nil {
		return err
	}
	switch {
	case i.finished() && i.books.Fingerprint == i.survey.Fingerprint:
		return i.verify(ctx)
	case i.DryRun:
		return i.rehearse(ctx)
	}
	if i.books != nil {
		// Better now than after copying everything; it is asked again when nobody else
		// can write.
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
	_, isRefused := errors.AsType[*RefusedError](err)
	_, isMismatch := errors.AsType[*MismatchError](err)
	if isRefused || isMismatch {
		return errors.Join(err, i.forget(ctx, before))
	}
	return err
}

// forget leaves no trace of an import that was refused.
func (i *importing) forget(ctx context.Context, before *db.LegacyImportShowRow) error {
	return pgx.BeginFunc(ctx, i.conn, func(tx pgx.Tx) error {
		if err := queries.LegacyStagingClear(ctx, tx); err != nil {
			return err
		}
		if before == nil {
			return queries.LegacyImportForget(ctx, tx)
		}
		return queries.LegacyImportRestore(ctx, tx, db.LegacyImportRestoreParams{
			Source: before.Source, Fingerprint: before.Fingerprint, BeganAt: before.BeganAt, FinishedAt: before.FinishedAt,
		})
	})
}

func (i *importing) finished() bool { return i.books != nil && i.books.FinishedAt != nil }

// refuseOccupied lets pass a target that is empty, or as an earlier import left it.
func (i *importing) refuseOccupied(ctx context.Context, on db.DBTX) error {
	occupied, err := queries.LegacyTargetOccupied(ctx, on)
	if err != nil || len(occupied) == 0 {
		return err
	}
	if i.books == nil {
		return ownData(occupied)
	}
	return nil
}

func ownData(occupied []string) error {
	return refuse("the target has data of its own in %s; import into a database that no service has used", strings.Join(occupied, ", "))
}

// mayReplace decides, when nobody else can write, whether what is in the target may go:
// only if it is exactly what an earlier import wrote.
func (i *importing) mayReplace(ctx context.Context, tx pgx.Tx) (replace bool, err error) {
	if err := i.refuseOccupied(ctx, tx); err != nil {
		return false, err
	}
	occupied, err := queries.LegacyTargetOccupied(ctx, tx)
	if err != nil || len(occupied) == 0 {
		return false, err
	}
	before := map[string]string{}
	if err := json.Unmarshal(i.books.Digests, &before); err != nil {
		return false, err
	}
	if len(before) == 0 { // an import was begun and never written
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
	return false, refuse("the source has changed since it was imported, and so has the target: a service has worked on it. " +
		"Nothing was done. To import again, use an empty database; to keep what the target has, do not import")
}

// copy fills our copy of the source, or goes on where an import of the same source was
// broken off.
func (i *importing) copy(ctx context.Context) error {
	positions, err := queries.LegacyPositionList(ctx, i.conn)
	if err != nil {
		return err
	}
	if i.books == nil || i.finished() || i.books.Fingerprint != i.survey.Fingerprint {
		positions = nil
		err := pgx.BeginFunc(ctx, i.conn, func(tx pgx.Tx) error {
			if err := queries.LegacyStagingClear(ctx, tx); err != nil {
				return err
			}
			return queries.LegacyImportBegin(ctx, tx, i.Source.String(), i.survey.Fingerprint)
		})
		if err != nil {
			return err
		}
	} else if len(positions) == 0 {
		// PostgreSQL crashed meanwhile, and what is unlogged is empty.
		if err := queries.LegacyStagingClear(ctx, i.conn); err != nil {
			return err
		}
	}
	books, err := queries.LegacyImportShow(ctx, i.conn)
	if err != nil {
		return err
	}
	i.books = &books
	return i.source.stage(ctx, i.conn, positions, i.Progress)
}

// write judges the copy and writes it: all of it, or nothing.
func (i *importing) write(ctx context.Context) error {
	if err := queries.LegacyStagingAnalyze(ctx, i.conn); err != nil {
		return err
	}
	err := pgx.BeginFunc(ctx, i.conn, func(tx pgx.Tx) error {
		if err := queries.LegacyTargetLock(ctx, tx); err != nil {
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
		if err := i.judge(ctx, tx); err != nil {
			return err
		}
		return i.fill(ctx, tx)
	})
	if err != nil {
		return err
	}
	i.report.Outcome = Imported
	return errors.Join(queries.LegacyStagingClear(ctx, i.conn), queries.LegacyTargetAnalyze(ctx, i.conn))
}

func (i *importing) clear(ctx context.Context, tx pgx.Tx) error {
	if err := queries.LegacyTargetClear(ctx, tx); err != nil {
		return err
	}
	return queries.LegacyNamesClear(ctx, tx, i.books.ResourceClasses, i.books.Traits)
}

// fill writes the rows and compares them with the survey.
func (i *importing) fill(ctx context.Context, tx pgx.Tx) error {
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
		return &MismatchError{differing, "nothing was imported, for what was to be written is not what the source has"}
	}
	kept, err := json.Marshal(found.texts(i.books.BeganAt))
	if err != nil {
		return err
	}
	return queries.LegacyImportFinish(ctx, tx, kept, traits, classes)
}

// verify compares the target with a source that was imported before.
func (i *importing) verify(ctx context.Context) error {
	options := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	return pgx.BeginTxFunc(ctx, i.conn, options, func(tx pgx.Tx) (err error) {
		if i.report.Oddities, err = readOddities(ctx, tx, i.Oddities); err != nil {
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
				" and nothing was done now; since then a service has worked on the target"}
		}
		i.report.Outcome = Verified
		return nil
	})
}
