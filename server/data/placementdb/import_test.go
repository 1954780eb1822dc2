package placementdb_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/server/data/placementdb"
	"github.com/berthd/berth/server/data/store"
)

func refusedWith(t *testing.T, err error, words string) {
	t.Helper()
	refused, ok := errors.AsType[*placementdb.RejectedError](err)
	if !ok || !strings.Contains(refused.Reason, words) {
		t.Errorf("err = %v, want a RejectedError with %q", err, words)
	}
}

func TestImport_SecondRun_VerifiesWithoutChange(t *testing.T) {
	t.Parallel()
	source := makeSource(t, plain)
	target := moved(t, source)
	before := dbtest.Snapshot(t, target)
	report, err := placementdb.Import(t.Context(), options(source, target))
	if err != nil || report.Outcome != placementdb.Verified {
		t.Fatalf("%s: %v", report.Outcome, err)
	}
	if changes := before.Diff(dbtest.Snapshot(t, target)); changes != nil {
		t.Errorf("changes: %q", changes)
	}
}

// TestImport_RecordOn_EndsWithEvent imports into a database whose changes are recorded.
func TestImport_RecordOn_EndsWithEvent(t *testing.T) {
	t.Parallel()
	source, target := makeSource(t, plain), dbtest.New(t)
	dbtest.TurnRecordOn(t, target)
	report, err := placementdb.Import(t.Context(), options(source, target))
	if err != nil || report.Outcome != placementdb.Imported || !report.HistoryEnded {
		t.Fatalf("%+v: %v", report, err)
	}
	var record string
	err = target.Pool.QueryRow(t.Context(), `SELECT format('%s, %s, %s events, the last by %s: %s %s, %s notes', state.state, history_is_switched(),
		state.newest, last.caller ->> 'process', last.before ->> 'state', last.after ->> 'log' = state.log::text AND last.before ->> 'log' <> state.log::text,
		(SELECT count(*) FROM outbox))
		FROM history_state AS state JOIN history AS last ON last.index = state.newest`).Scan(&record)
	if want := "off, t, 2 events, the last by berth import: on t, 0 notes"; err != nil || record != want {
		t.Errorf("record: %s, %v, want %s", record, err, want)
	}
}

func TestImport_SourceChanged_ReplacesUntouchedTarget(t *testing.T) {
	t.Parallel()
	source := makeSource(t, plain)
	target := moved(t, source)
	later := []string{
		"DELETE FROM allocations WHERE id = 5", "UPDATE resource_providers SET generation = 8 WHERE id = 1",
		"INSERT INTO traits (id, name) VALUES (9, 'CUSTOM_NEW')", "DELETE FROM resource_provider_traits WHERE trait_id = 3", "DELETE FROM traits WHERE id = 3",
	}
	change(t, source, later...)
	report, err := placementdb.Import(t.Context(), options(source, target))
	if err != nil || report.Outcome != placementdb.Imported {
		t.Fatalf("%s: %v", report.Outcome, err)
	}
	dbtest.Audit(t, target)
	fresh := moved(t, source)
	got := dbtest.Snapshot(t, fresh).Diff(dbtest.Snapshot(t, target))
	// Sequences never reuse ids.
	for _, line := range without(got, "import_state", "traits") {
		t.Errorf("differs from a first import: %s", line)
	}
}

func TestImport_SourceAndTargetChanged_Rejected(t *testing.T) {
	t.Parallel()
	source := makeSource(t, plain)
	target := moved(t, source)
	if _, err := target.Pool.Exec(t.Context(), "UPDATE provider_generations SET generation = 8 WHERE provider_id = 1"); err != nil {
		t.Fatal(err)
	}
	before := dbtest.Snapshot(t, target)
	_, err := placementdb.Import(t.Context(), options(source, target))
	if differing, ok := errors.AsType[*placementdb.MismatchError](err); !ok || !slices.Equal(differing.Tables, []string{"resource_providers"}) {
		t.Errorf("the same source: %v", err)
	}
	change(t, source, "DELETE FROM allocations WHERE id = 5")
	_, err = placementdb.Import(t.Context(), options(source, target))
	refusedWith(t, err, "the target have changed")
	if changes := before.Diff(dbtest.Snapshot(t, target)); changes != nil {
		t.Errorf("changes: %q", changes)
	}
}

func TestImport_TargetHasOtherData_Rejected(t *testing.T) {
	t.Parallel()
	target := dbtest.New(t)
	if _, err := target.Pool.Exec(t.Context(), "INSERT INTO projects (external_id) VALUES ('mine')"); err != nil {
		t.Fatal(err)
	}
	before := dbtest.Snapshot(t, target)
	_, err := placementdb.Import(t.Context(), options(makeSource(t, plain), target))
	refusedWith(t, err, "is not empty: projects")
	if changes := before.Diff(dbtest.Snapshot(t, target)); changes != nil {
		t.Errorf("changes: %q", changes)
	}
}

func TestImport_DryRun_WritesNothing(t *testing.T) {
	t.Parallel()
	source := makeSource(t, plain, "UPDATE resource_providers SET name = NULL WHERE id = 2")
	target := dbtest.New(t)
	before := dbtest.Snapshot(t, target)
	dry := options(source, target)
	dry.DryRun = true
	report, err := placementdb.Import(t.Context(), dry)
	if err != nil || report.Outcome != placementdb.DryRun || len(report.Anomalies) != 1 || report.Anomalies[0].Kind != "provider-name-missing" {
		t.Errorf("%v: %+v", err, report)
	}
	for _, table := range report.Tables {
		if table.Table == "allocations" && (table.Rows != 3 || table.Expected != 3 || table.Hash != "") {
			t.Errorf("allocations: %+v", table)
		}
	}
	if changes := before.Diff(dbtest.Snapshot(t, target)); changes != nil {
		t.Errorf("changes: %q", changes)
	}
}

// TestImport_DryRunWithoutStandardNames_ReportsOnlyUnknownNames: 'berth db migrate' makes a database without standard names.
func TestImport_DryRunWithoutStandardNames_ReportsOnlyUnknownNames(t *testing.T) {
	t.Parallel()
	target := dbtest.New(t)
	execute(t, target, "DELETE FROM traits", "DELETE FROM resource_classes")
	before := dbtest.Snapshot(t, target)
	dry := options(makeSource(t, plain), target)
	dry.DryRun, dry.InsertNames = true, store.InsertStandardNames
	report, err := placementdb.Import(t.Context(), dry)
	if err != nil || len(report.Anomalies) != 0 {
		t.Errorf("%v: %+v", err, report)
	}
	if changes := before.Diff(dbtest.Snapshot(t, target)); changes != nil {
		t.Errorf("changes: %q", changes)
	}
}

func TestImport_Strict_RejectsDataLoss(t *testing.T) {
	t.Parallel()
	lossy := makeSource(t, plain, "UPDATE resource_providers SET parent_provider_id = 77, name = NULL WHERE id = 2")
	target := dbtest.New(t)
	before := dbtest.Snapshot(t, target)
	strict := options(lossy, target)
	strict.Strict = true
	report, err := placementdb.Import(t.Context(), strict)
	refusedWith(t, err, "provider-parent-missing (1)")
	if report.Outcome != placementdb.Refused || len(report.Anomalies) != 3 {
		t.Errorf("%+v", report)
	}
	if changes := before.Diff(dbtest.Snapshot(t, target)); changes != nil {
		t.Errorf("changes: %q", changes)
	}
	// Without that anomaly the import succeeds; the rejected attempt has no effect.
	strict.Source = makeSource(t, plain, "UPDATE resource_providers SET name = NULL WHERE id = 2")
	if report, err = placementdb.Import(t.Context(), strict); err != nil || report.Outcome != placementdb.Imported {
		t.Errorf("%v: %+v", err, report)
	}
}

func TestImport_DuplicateProviderUUID_Rejected(t *testing.T) {
	t.Parallel()
	source := makeSource(t, plain, "UPDATE resource_providers SET uuid = '00000000000040008000000000000001' WHERE id = 2")
	_, err := placementdb.Import(t.Context(), options(source, dbtest.New(t)))
	refusedWith(t, err, "provider-uuid-twice, 1 times")
}

func TestImport_ReportFile_ListsEveryAnomaly(t *testing.T) {
	t.Parallel()
	statements := make([]string, 8)
	for n := range statements {
		statements[n] = fmt.Sprintf("INSERT INTO consumers (id, uuid, project_id, user_id, generation) "+
			"VALUES (%d, 'c0000000-0000-4000-8000-0000000001%02d', 1, 1, 5)", 100+n, n)
	}
	var file bytes.Buffer
	all := options(makeSource(t, append([]string{plain}, statements...)...), dbtest.New(t))
	all.Anomalies = &file
	report, err := placementdb.Import(t.Context(), all)
	if err != nil {
		t.Fatal(err)
	}
	for _, anomaly := range report.Anomalies {
		if anomaly.Kind == "consumer-idle" && (anomaly.Count != 8 || len(anomaly.Examples) != 3) {
			t.Errorf("%+v", anomaly)
		}
	}
	// json.Encoder writes the members of a map in the order of their names.
	line := `{"action":"skipped: Berth deletes a consumer together with its last allocation","kind":"consumer-idle","row":{`
	if got := strings.Count(file.String(), line); got != 8 {
		t.Errorf("%d lines in\n%s", got, &file)
	}
}

func TestImport_UnknownSchemaRevision_Rejected(t *testing.T) {
	t.Parallel()
	target := dbtest.New(t)
	for words, statement := range map[string]string{
		"which this berth does not support":    "UPDATE alembic_version SET version_num = 'fedcba987654'",
		"has no schema of OpenStack Placement": "DELETE FROM alembic_version",
		"alembic_version is missing":           "DROP TABLE alembic_version",
	} {
		_, err := placementdb.Import(t.Context(), options(makeSource(t, plain, statement), target))
		refusedWith(t, err, words)
	}
}

func TestImport_RevisionBeforeConsumerTypes_Imported(t *testing.T) {
	t.Parallel()
	for _, revision := range []string{"b4ed3a175331", "611cd6dffd7b", "b5c396305c25"} {
		source := makeSource(t, plain, "DROP INDEX consumers_consumer_type_id_idx", "CREATE TABLE old_consumers AS SELECT "+
			"created_at, updated_at, id, uuid, project_id, user_id, generation FROM consumers", "DROP TABLE consumers",
			"ALTER TABLE old_consumers RENAME TO consumers", "DROP TABLE consumer_types", "UPDATE alembic_version SET version_num = '"+revision+"'")
		target := moved(t, source)
		rows := dbtest.Snapshot(t, target).Rows("consumers")
		if len(rows) != 2 || !strings.Contains(rows[0], "consumer_type_id: null") {
			t.Errorf("%s: %q", revision, rows)
		}
	}
}

func TestImport_Timestamps_PreservedAndSequencesContinue(t *testing.T) {
	t.Parallel()
	target := moved(t, makeSource(t, plain))
	for question, want := range map[string]string{
		"SELECT created_at::text FROM traits WHERE name = 'CUSTOM_FAST'":                                        "2020-01-02 00:00:00+00",
		"SELECT updated_at::text FROM provider_generations WHERE provider_id = 1":                               "2021-01-01 00:00:00.123456+00",
		"INSERT INTO resource_classes (name) VALUES ('CUSTOM_X') RETURNING id::text":                            "10001",
		"INSERT INTO projects (external_id) VALUES ('new') RETURNING id::text":                                  "2",
		"INSERT INTO aggregates (uuid) VALUES (gen_random_uuid()) RETURNING id::text":                           "2",
		"SELECT (last_value + is_called::int)::text FROM allocations_id_seq":                                    "6",
		"SELECT (last_value + is_called::int)::text FROM consumers_id_seq":                                      "3",
		"SELECT (last_value + is_called::int)::text FROM resource_providers_id_seq":                             "3",
		"SELECT string_agg(sharing::text, ' ') FROM provider_aggregates":                                        "true",
		"SELECT count(*)::text FROM pg_namespace WHERE nspname = 'berth_import'":                                "0",
		"SELECT count(*)::text FROM pg_class WHERE relname IN ('allocations', 'inventories') AND reltuples > 0": "2",
		"SELECT free::text FROM inventories WHERE provider_id = 1":                                              "1000",
		"SELECT created_at::text FROM allocations WHERE id = 5":                                                 "2020-01-04 00:00:00+00",
		"SELECT coalesce(updated_at::text, 'never') || created_at::text FROM inventories WHERE provider_id = 1": "never2020-01-03 00:00:00+00",
	} {
		var got string
		_ = target.Pool.QueryRow(t.Context(), question).Scan(&got)
		if got != want {
			t.Errorf("%s: %q, want %q", question, got, want)
		}
	}
}

// TestImport_InterruptedAtAnyStep_Resumes interrupts an import at random steps until it completes.
func TestImport_InterruptedAtAnyStep_Resumes(t *testing.T) {
	t.Parallel()
	source := makeSource(t, plain, "UPDATE resource_providers SET name = NULL WHERE id = 2")
	want := dbtest.Snapshot(t, moved(t, source))
	target := dbtest.New(t)
	empty := dbtest.Snapshot(t, target)
	dice := rand.New(rand.NewPCG(1, 2))
	for steps := 1; ; steps += 1 + dice.IntN(8) {
		ctx, stop := context.WithCancel(t.Context())
		left := steps
		broken := options(source, target)
		broken.Progress = func(string, int64, int64) {
			if left--; left == 0 {
				stop()
			}
		}
		report, err := placementdb.Import(ctx, broken)
		stop()
		if err == nil && report.Outcome == placementdb.Imported {
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("after %d steps: %v", steps, err)
		}
		for _, line := range empty.Diff(dbtest.Snapshot(t, target)) {
			if !strings.Contains(line, " import_") {
				t.Errorf("after %d steps the target differs: %s", steps, line)
			}
		}
	}
	// Interrupted imports leave gaps in the ids of traits.
	for _, line := range without(want.Diff(dbtest.Snapshot(t, target)), "import_state", "traits", "provider_traits") {
		t.Errorf("differs from an uninterrupted import: %s", line)
	}
}

func TestImport_SourceChangedWhileInterrupted_ReadAgain(t *testing.T) {
	t.Parallel()
	source, target := makeSource(t, plain), dbtest.New(t)
	interruptImport(t, source, target)
	change(t, source, "UPDATE allocations SET used = 3 WHERE id = 2")
	if _, err := placementdb.Import(t.Context(), options(source, target)); err != nil {
		t.Fatal(err)
	}
	for _, line := range without(dbtest.Snapshot(t, moved(t, source)).Diff(dbtest.Snapshot(t, target)), "import_state") {
		t.Error(line)
	}
}

// TestImport_AnomalyKinds_AllDocumented checks that every kind that the SQL records is explained, that
// some SQL records every explained kind, and that docs/migrating-from-placement.md names it.
func TestImport_AnomalyKinds_AllDocumented(t *testing.T) {
	t.Parallel()
	judging, err := os.ReadFile("../../../sql/queries/import_validate.sql")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../../docs/migrating-from-placement.md")
	if err != nil {
		t.Fatal(err)
	}
	var noted, explained []string
	for _, found := range regexp.MustCompile(`'((?:provider|aggregate|class|trait|inventory|allocation|consumer|owner|time)-[a-z-]+)'`).FindAllStringSubmatch(string(judging), -1) {
		noted = append(noted, found[1])
	}
	for _, kind := range placementdb.AnomalyKinds() {
		explained = append(explained, kind.Kind)
		if !strings.Contains(string(page), "`"+kind.Kind+"`") {
			t.Errorf("docs/migrating-from-placement.md does not name %s", kind.Kind)
		}
	}
	slices.Sort(noted)
	slices.Sort(explained)
	if noted = slices.Compact(noted); !slices.Equal(noted, explained) {
		t.Errorf("noted %q\nexplained %q", noted, explained)
	}
}

func TestImport_MissingSQLiteFile_NotCreated(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "none.db")
	address, err := placementdb.ParseAddress("sqlite:///" + path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := placementdb.Import(t.Context(), options(address, dbtest.New(t))); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("Export created the file")
	}
}

func TestImport_TargetUsedWhileInterrupted_Rejected(t *testing.T) {
	t.Parallel()
	source, target := makeSource(t, plain), dbtest.New(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	broken := options(source, target)
	broken.Progress = func(step string, _, _ int64) {
		if step == "judging" {
			stop()
		}
	}
	if _, err := placementdb.Import(ctx, broken); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if _, err := target.Pool.Exec(t.Context(), "INSERT INTO projects (external_id) VALUES ('lab')"); err != nil {
		t.Fatal(err)
	}
	_, err := placementdb.Import(t.Context(), options(source, target))
	refusedWith(t, err, "is not empty: projects")
}

func TestImport_InvalidUTF8_RejectedNamingRow(t *testing.T) {
	t.Parallel()
	source := makeSource(t, plain, "UPDATE resource_providers SET name = CAST(x'61ff' AS TEXT) WHERE id = 2")
	_, err := placementdb.Import(t.Context(), options(source, dbtest.New(t)))
	refusedWith(t, err, `resource_providers: column name of the row with id 2 is "a\xff", which is not UTF-8`)
}

func TestImport_UsageSums_CountAmounts(t *testing.T) {
	t.Parallel()
	source := makeSource(t, plain, "DELETE FROM inventories WHERE id = 2") // which loses 2 VCPU
	report, err := placementdb.Import(t.Context(), options(source, dbtest.New(t)))
	if err != nil {
		t.Fatal(err)
	}
	sums := report.Tables[len(report.Tables)-1]
	if sums.Table != "usage_sums" || sums.Rows != 24 || sums.Expected != 22 || sums.Found != 22 {
		t.Errorf("usage_sums = %+v, want 24 in the source and 22 expected", sums)
	}
}
