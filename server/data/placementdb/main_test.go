package placementdb_test

import (
	"database/sql"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/internal/test/storetest"
	"github.com/berthd/berth/server/data/placementdb"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// plain is a source without anomalies: a host with a NUMA node in an aggregate, and two consumers with
// allocations. Class 2 is DISK_GB, as in Berth; 10000 is a custom class.
const plain = `
INSERT INTO resource_classes (id, name, created_at) VALUES
	(0, 'VCPU', '2020-01-01 00:00:00'), (1, 'MEMORY_MB', '2020-01-01 00:00:00'), (2, 'DISK_GB', '2020-01-01 00:00:00'),
	(10000, 'CUSTOM_SEAT', '2020-01-02 00:00:00');
INSERT INTO traits (id, name, created_at) VALUES
	(1, 'HW_CPU_X86_AVX', '2020-01-01 00:00:00'), (2, 'MISC_SHARES_VIA_AGGREGATE', '2020-01-01 00:00:00'), (3, 'CUSTOM_FAST', '2020-01-02 00:00:00');
INSERT INTO placement_aggregates (id, uuid, created_at) VALUES (1, 'a9900000-0000-4000-8000-000000000001', '2020-01-03 00:00:00');
INSERT INTO projects (id, external_id, created_at) VALUES (1, 'lab', '2020-01-03 00:00:00');
INSERT INTO users (id, external_id, created_at) VALUES (1, 'ada', '2020-01-03 00:00:00');
INSERT INTO consumer_types (id, name, created_at) VALUES (1, 'INSTANCE', '2020-01-03 00:00:00');
INSERT INTO resource_providers (id, uuid, name, generation, root_provider_id, parent_provider_id, created_at, updated_at) VALUES
	(1, '00000000-0000-4000-8000-000000000001', 'host', 7, 1, NULL, '2020-01-03 00:00:00', '2021-01-01 00:00:00.123456'),
	(2, '00000000-0000-4000-8000-000000000002', 'numa', 3, 1, 1, '2020-01-03 00:00:00', NULL);
INSERT INTO resource_provider_traits (resource_provider_id, trait_id) VALUES (1, 2), (2, 1), (2, 3);
INSERT INTO resource_provider_aggregates (resource_provider_id, aggregate_id) VALUES (1, 1);
INSERT INTO inventories (id, resource_provider_id, resource_class_id, total, reserved, min_unit, max_unit, step_size, allocation_ratio, created_at) VALUES
	(1, 1, 2, 1000, 10, 1, 1000, 1, 1.5, '2020-01-03 00:00:00'), (2, 2, 0, 8, 0, 1, 8, 1, 16.0, '2020-01-03 00:00:00'),
	(3, 2, 10000, 4, 0, 1, 4, 2, 1.0, '2020-01-03 00:00:00');
INSERT INTO consumers (id, uuid, project_id, user_id, generation, consumer_type_id, created_at) VALUES
	(1, 'c0000000-0000-4000-8000-000000000001', 1, 1, 1, 1, '2020-01-04 00:00:00'),
	(2, 'c0000000-0000-4000-8000-000000000002', 1, 1, 4, NULL, '2020-01-04 00:00:00');
INSERT INTO allocations (id, resource_provider_id, consumer_id, resource_class_id, used, created_at) VALUES
	(1, 1, 'c0000000-0000-4000-8000-000000000001', 2, 20, '2020-01-04 00:00:00'),
	(2, 2, 'c0000000-0000-4000-8000-000000000001', 0, 2, '2020-01-04 00:00:00'),
	(5, 2, 'c0000000-0000-4000-8000-000000000002', 10000, 2, '2020-01-04 00:00:00');
INSERT INTO alembic_version (version_num) VALUES ('a082b8bb98d0');`

// makeSource creates an SQLite database with the schema of OpenStack Placement.
func makeSource(t testing.TB, statements ...string) placementdb.Address {
	t.Helper()
	path := filepath.Join(t.TempDir(), "placement.db")
	address, err := placementdb.ParseAddress("sqlite:///" + path)
	if err != nil {
		t.Fatal(err)
	}
	change(t, address, append(placementdb.OldSchema(), statements...)...)
	return address
}

func change(t testing.TB, address placementdb.Address, statements ...string) {
	t.Helper()
	source, err := sql.Open("sqlite", address.File())
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	for _, statement := range statements {
		if _, err := source.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

func quiet(string, int64, int64) {}

func options(source placementdb.Address, target *dbtest.DB) placementdb.ImportOptions {
	return placementdb.ImportOptions{
		Source: source, Target: target.URL, Progress: quiet,
		Owners: placementdb.Owners{Project: "owner's", User: "owner"},
	}
}

// moved imports a source into a new database.
func moved(t testing.TB, source placementdb.Address) *dbtest.DB {
	t.Helper()
	target := dbtest.New(t)
	report, err := placementdb.Import(t.Context(), options(source, target))
	if err != nil || report.Outcome != placementdb.Imported {
		t.Fatalf("%s: %v", report.Outcome, err)
	}
	dbtest.Audit(t, target)
	return target
}

// without returns the lines that do not belong to the given tables.
func without(lines []string, tables ...string) []string {
	var kept []string
	for _, line := range lines {
		if !slices.ContainsFunc(tables, func(name string) bool { return strings.Contains(line, " "+name+"{") }) {
			kept = append(kept, line)
		}
	}
	return kept
}
