package placementdb_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/server/data/placementdb"
)

// exported exports a database of Berth to a new SQLite file.
func exported(t testing.TB, from *dbtest.DB) (placementdb.Address, *placementdb.Report) {
	t.Helper()
	address, err := placementdb.ParseAddress("sqlite:///" + filepath.Join(t.TempDir(), "out.db"))
	if err != nil {
		t.Fatal(err)
	}
	report, err := placementdb.Export(t.Context(), placementdb.ExportOptions{Source: from.URL, Target: address, Progress: quiet})
	if err != nil {
		t.Fatal(err)
	}
	return address, report
}

// TestExport_ImportedAnomalies_RoundTrip checks that import, export and a second import yield the result
// of the first import, for sources with anomalies.
func TestExport_ImportedAnomalies_RoundTrip(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"a source without anomalies", "a provider whose parent does not exist is a root", "names of other characters are kept",
		"several allocations of one class are added up", "a consumer without record is made",
	} {
		first := moved(t, makeSource(t, plain, hazards[name].statements))
		out, _ := exported(t, first)
		second := moved(t, out)
		got := dbtest.Snapshot(t, first).Diff(dbtest.Snapshot(t, second))
		for _, line := range without(got, "import_state", "import_anomalies") {
			t.Errorf("%s: %s", name, line)
		}
	}
}

// TestExport_RandomDeployments_RoundTrip checks the same for generated sources.
func TestExport_RandomDeployments_RoundTrip(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; it runs without -short")
	}
	t.Parallel()
	deployments := rapid.Custom(madeUp)
	for seed := range 12 {
		statements := deployments.Example(seed)
		first := moved(t, makeSource(t, append([]string{plain}, statements...)...))
		out, _ := exported(t, first)
		second := moved(t, out)
		got := dbtest.Snapshot(t, first).Diff(dbtest.Snapshot(t, second))
		for _, line := range without(got, "import_state", "import_anomalies") {
			t.Errorf("seed %d: %s", seed, line)
		}
	}
}

// madeUp generates providers with inventories and allocations, with parents in any order.
func madeUp(dice *rapid.T) []string {
	var statements []string
	many := rapid.IntRange(1, 8).Draw(dice, "providers")
	for n := range many {
		id, parent := 10+n, "NULL"
		if rapid.Bool().Draw(dice, "child") {
			parent = fmt.Sprint(10 + rapid.IntRange(0, many).Draw(dice, "parent")) // itself, a cycle, or a missing provider are possible
		}
		statements = append(statements,
			fmt.Sprintf("INSERT INTO resource_providers (id, uuid, name, generation, root_provider_id, parent_provider_id, created_at) "+
				"VALUES (%d, 'dddddddd-0000-4000-8000-%012d', 'made %d', %d, 1, %s, '2022-02-02 02:02:02.020202')", id, id, id, n, parent),
			fmt.Sprintf("INSERT INTO inventories (resource_provider_id, resource_class_id, total, reserved, min_unit, max_unit, step_size, allocation_ratio, created_at) "+
				"VALUES (%d, %d, %d, 0, 1, 100, 1, %g, '2022-02-02 02:02:02')", id, rapid.SampledFrom([]int{0, 1, 2, 10000, 77}).Draw(dice, "class"),
				rapid.IntRange(-1, 100).Draw(dice, "total"), rapid.Float64Range(0.1, 100).Draw(dice, "ratio")))
	}
	for n := range rapid.IntRange(0, 20).Draw(dice, "allocations") {
		statements = append(statements, fmt.Sprintf(
			"INSERT INTO allocations (id, resource_provider_id, consumer_id, resource_class_id, used, created_at) "+
				"VALUES (%d, %d, 'c0000000-0000-4000-8000-%012d', %d, %d, '2022-02-02 02:02:02')", 100+n, 10+rapid.IntRange(0, many).Draw(dice, "on"),
			rapid.IntRange(1, 6).Draw(dice, "consumer"), rapid.SampledFrom([]int{0, 1, 2, 10000}).Draw(dice, "of"), rapid.IntRange(0, 5).Draw(dice, "used")))
	}
	return statements
}

func TestExport_UnsupportedObjects_Reported(t *testing.T) {
	t.Parallel()
	from := moved(t, makeSource(t, plain))
	if _, err := from.Pool.Exec(t.Context(), `INSERT INTO nodes (uuid, driver, provision_state) VALUES (gen_random_uuid(), 'fake', 'available');
		UPDATE consumers SET leased = true;
		INSERT INTO leases (consumer_id, seconds, expires_at, due) SELECT id, 60, now(), now() FROM consumers`); err != nil {
		t.Fatal(err)
	}
	_, report := exported(t, from)
	if report.Outcome != placementdb.Exported || len(report.Anomalies) != 2 || report.Anomalies[0].Kind != "leases" || report.Anomalies[0].Count == 0 ||
		report.Anomalies[1].Kind != "nodes" || report.Anomalies[1].Count != 1 {
		t.Errorf("%+v", report)
	}
}

func TestExport_TargetNotEmpty_Rejected(t *testing.T) {
	t.Parallel()
	from := moved(t, makeSource(t, plain))
	_, err := placementdb.Export(t.Context(), placementdb.ExportOptions{Source: from.URL, Target: makeSource(t), Progress: quiet})
	refusedWith(t, err, "has a table")
}

func TestExport_ValueTooLarge_Rejected(t *testing.T) {
	t.Parallel()
	for words, statement := range map[string]string{
		"exceeds the range of a column of OpenStack Placement": "UPDATE provider_generations SET generation = 3000000000",
		"has 201 characters": "UPDATE resource_providers SET name = repeat('x', 201) WHERE id = 1",
	} {
		from := moved(t, makeSource(t, plain))
		if _, err := from.Pool.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
		address, err := placementdb.ParseAddress("sqlite:///" + filepath.Join(t.TempDir(), "out.db"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = placementdb.Export(t.Context(), placementdb.ExportOptions{Source: from.URL, Target: address, Progress: quiet})
		refusedWith(t, err, words)
		if _, err := placementdb.OpenSource(t.Context(), address); err == nil {
			t.Error("the failed export left a database with a revision")
		} else if _, refused := errors.AsType[*placementdb.RejectedError](err); !refused {
			t.Error(err)
		}
	}
}
