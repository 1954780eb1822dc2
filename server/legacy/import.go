package legacy

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

// What an import can end as.
const (
	Imported = "imported"
	Verified = "verified" // it had been imported before; nothing was changed
	DryRun   = "dry run"
	Refused  = "refused"
)

// Report says what an import or export found and did. The names are an interface.
type Report struct {
	Source   string        `json:"source"`
	Target   string        `json:"target,omitempty"`
	Revision string        `json:"revision"`
	Outcome  string        `json:"outcome"`
	Oddities []Oddity      `json:"oddities"`
	Tables   []TableReport `json:"tables"`
	Seconds  float64       `json:"seconds"`
}

// TableReport compares one table, or the sums of what is used.
type TableReport struct {
	Table string `json:"table"`
	// Rows are those the source has in all, Expected those that should be here.
	Rows     int64 `json:"source_rows"`
	Expected int64 `json:"expected_rows"`
	Found    int64 `json:"rows"`
	// Hashes of both sides; Hash is empty where nothing was written.
	SourceHash string `json:"source_hash"`
	Hash       string `json:"hash"`
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

func (i *importing) run(ctx context.Context) error {
	locked, err := queries.LegacyLock(ctx, i.conn)
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
		return refuse("the target has data of its own in %s; import into a database that no service has used", strings.Join(occupied, ", "))
	}
	return nil
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

// errRehearsed rolls a dry run back.
var errRehearsed = errors.New("this was a dry run")

// rehearse copies and judges in a transaction that is rolled back.
func (i *importing) rehearse(ctx context.Context) error {
	err := pgx.BeginFunc(ctx, i.conn, func(tx pgx.Tx) error {
		if _, err := i.mayReplace(ctx, tx); err != nil {
			return err
		}
		if err := queries.LegacyStagingClear(ctx, tx); err != nil {
			return err
		}
		if err := i.source.stage(ctx, tx, nil, i.Progress); err != nil {
			return err
		}
		if err := queries.LegacyStagingAnalyze(ctx, tx); err != nil {
			return err
		}
		if err := i.judge(ctx, tx); err != nil {
			return err
		}
		i.tables(nil)
		i.report.Outcome = DryRun
		return errRehearsed
	})
	if errors.Is(err, errRehearsed) {
		return nil
	}
	return err
}

// tables puts both sides beside each other; found is nil where nothing was written.
func (i *importing) tables(found digests) {
	i.report.Tables = nil
	for _, name := range digestNames {
		expected := i.survey.expected.of(name)
		line := TableReport{Table: name, Rows: i.source.counts[oldName(name)], Expected: expected.rows, SourceHash: expected.String()}
		if found != nil {
			line.Found, line.Hash = found.of(name).rows, found.of(name).String()
		}
		i.report.Tables = append(i.report.Tables, line)
	}
}

// oldName is what the old schema calls one of our tables.
func oldName(table string) string {
	switch table {
	case "aggregates":
		return "placement_aggregates"
	case "provider_traits", "provider_aggregates":
		return "resource_" + table
	}
	return table
}

// judge finds what is odd and brings the copy in order, then refuses what must be.
func (i *importing) judge(ctx context.Context, tx pgx.Tx) (err error) {
	steps := []func(context.Context, db.DBTX) error{
		queries.LegacyOddityClear,
		queries.LegacyJudgeClasses, queries.LegacyJudgeTraits, queries.LegacyJudgeAggregates,
		queries.LegacyParents, queries.LegacyCircles, queries.LegacyRoots, queries.LegacyJudgeProviders,
		queries.LegacyJudgeInventories, queries.LegacyJudgeAllocations, queries.LegacyJudgeDuplicates,
		queries.LegacyJudgeOvercommitted, queries.LegacyJudgeConsumers, queries.LegacyJudgeOwners, queries.LegacyJudgeTimes,
	}
	for n, step := range steps {
		i.Progress("judging", int64(n), int64(len(steps)))
		if err := step(ctx, tx); err != nil {
			return fmt.Errorf("judge the source: %w", err)
		}
	}
	if i.report.Oddities, err = readOddities(ctx, tx, i.Oddities); err != nil {
		return err
	}
	var lost []string
	for _, one := range i.report.Oddities {
		if one.Refused {
			return refuse("%s (%s, %d times): %s", one.What, one.Kind, one.Count, one.Done)
		}
		if one.Loses {
			lost = append(lost, fmt.Sprintf("%s (%d)", one.Kind, one.Count))
		}
	}
	if i.Strict && len(lost) > 0 {
		return refuse("these would lose data: %s; see the report for each, mend them in the source, or import without --strict", strings.Join(lost, ", "))
	}
	return nil
}
