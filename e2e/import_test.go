//go:build client

package e2e

import (
	"cmp"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/berthd/berth/internal/test/dbtest"
)

// fillPython makes a small cloud as clients of all ages do, over HTTP.
func fillPython(t *testing.T, at string) {
	t.Helper()
	uuid := func(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }
	for n, parent := range []int{0, 1, 1, 0, 0} { // a host with two NUMA nodes, a shared disk, another host
		body := fmt.Sprintf(`{"name": "provider %d", "uuid": %q}`, n+1, uuid(n+1))
		if parent > 0 {
			body = fmt.Sprintf(`{"name": "provider %d", "uuid": %q, "parent_provider_uuid": %q}`, n+1, uuid(n+1), uuid(parent))
		}
		writeTo(t, at, "1.20", "POST", "/resource_providers", body)
	}
	writeTo(t, at, "1.7", "PUT", "/resource_classes/CUSTOM_GOLD", "")
	writeTo(t, at, "1.7", "PUT", "/resource_classes/CUSTOM_SILVER", "")
	for _, trait := range []string{"CUSTOM_FAST", "CUSTOM_ALONE"} {
		writeTo(t, at, "1.6", "PUT", "/traits/"+trait, "")
	}
	stock := func(n int, inventories string) {
		writeTo(t, at, "1.20", "PUT", "/resource_providers/"+uuid(n)+"/inventories", `{"resource_provider_generation": 0, "inventories": {`+inventories+`}}`)
	}
	stock(1, `"DISK_GB": {"total": 1000, "reserved": 7, "allocation_ratio": 1.1}`)
	stock(2, `"VCPU": {"total": 16, "allocation_ratio": 16.0}, "MEMORY_MB": {"total": 4096, "step_size": 16, "min_unit": 16}`)
	stock(3, `"VCPU": {"total": 16, "max_unit": 4}, "CUSTOM_GOLD": {"total": 3}`)
	stock(4, `"DISK_GB": {"total": 100000}`)
	stock(5, `"VCPU": {"total": 8, "allocation_ratio": 0.333}, "CUSTOM_SILVER": {"total": 9}`)
	writeTo(t, at, "1.20", "PUT", "/resource_providers/"+uuid(4)+"/traits", `{"resource_provider_generation": 1, "traits": ["MISC_SHARES_VIA_AGGREGATE", "CUSTOM_FAST"]}`)
	writeTo(t, at, "1.20", "PUT", "/resource_providers/"+uuid(2)+"/traits", `{"resource_provider_generation": 1, "traits": ["HW_CPU_X86_AVX"]}`)
	for _, n := range []int{1, 4} {
		writeTo(t, at, "1.1", "PUT", "/resource_providers/"+uuid(n)+"/aggregates", `["a9900000-0000-4000-8000-000000000001"]`)
	}
	writeTo(t, at, "1.1", "PUT", "/resource_providers/"+uuid(5)+"/aggregates", `["A9900000-0000-4000-8000-00000000000B"]`)
	consumer := func(n int) string { return "/allocations/" + oldConsumer(n) }
	writeTo(t, at, "1.0", "PUT", consumer(1), `{"allocations": [{"resource_provider": {"uuid": "`+uuid(2)+`"}, "resources": {"VCPU": 2, "MEMORY_MB": 64}}]}`)
	writeTo(t, at, "1.8", "PUT", consumer(2), `{"allocations": [{"resource_provider": {"uuid": "`+uuid(3)+`"}, "resources": {"CUSTOM_GOLD": 1}}], "project_id": "lab", "user_id": "ada"}`)
	writeTo(t, at, "1.12", "PUT", consumer(3), `{"allocations": {"`+uuid(5)+`": {"resources": {"VCPU": 1, "CUSTOM_SILVER": 4}}}, "project_id": "lab", "user_id": "bob"}`)
	writeTo(t, at, "1.28", "PUT", consumer(4), `{"allocations": {"`+uuid(1)+`": {"resources": {"DISK_GB": 10}}, "`+uuid(2)+`": {"resources": {"VCPU": 3}}}, "project_id": "lab", "user_id": "ada", "consumer_generation": null}`)
	writeTo(t, at, "1.28", "PUT", consumer(4), `{"allocations": {"`+uuid(4)+`": {"resources": {"DISK_GB": 10}}, "`+uuid(2)+`": {"resources": {"VCPU": 3}}}, "project_id": "lab", "user_id": "ada", "consumer_generation": 1}`)
	for n, kind := range map[int]string{5: "INSTANCE", 6: "MIGRATION"} {
		writeTo(t, at, "1.38", "PUT", consumer(n), `{"allocations": {"`+uuid(4)+`": {"resources": {"DISK_GB": 33}}}, "project_id": "other", "user_id": "cy", "consumer_generation": null, "consumer_type": "`+kind+`"}`)
	}
	writeTo(t, at, "1.38", "PUT", consumer(7), `{"allocations": {"`+uuid(4)+`": {"resources": {"DISK_GB": 1}}}, "project_id": "gone", "user_id": "cy", "consumer_generation": null, "consumer_type": "GONE"}`)
	writeTo(t, at, "1.38", "DELETE", consumer(7), "")
}

func oldConsumer(n int) string { return fmt.Sprintf("c0000000-0000-4000-8000-%012d", n) }

// everyPath are all resources that can be asked for.
func everyPath() []string {
	paths := []string{
		"/resource_providers", "/resource_providers?in_tree=00000000-0000-4000-8000-000000000003", "/resource_classes", "/traits?associated=true", "/traits?name=startswith:CUSTOM_",
		"/resource_classes/CUSTOM_GOLD", "/traits/CUSTOM_FAST", "/resource_providers?member_of=a9900000-0000-4000-8000-000000000001",
		"/resource_providers?resources=DISK_GB:5", "/usages?project_id=lab", "/usages?project_id=other&user_id=cy", "/usages?project_id=lab&consumer_type=all",
		"/usages?project_id=00000000-0000-0000-0000-000000000000", "/allocation_candidates?resources=VCPU:1,DISK_GB:10", "/allocation_candidates?resources=VCPU:5&required=HW_CPU_X86_AVX",
	}
	for n := range 6 {
		one := fmt.Sprintf("/resource_providers/00000000-0000-4000-8000-%012d", n+1)
		paths = append(paths, one, one+"/inventories", one+"/usages", one+"/aggregates", one+"/traits", one+"/allocations", one+"/inventories/VCPU")
	}
	for n := range 8 {
		paths = append(paths, "/allocations/"+oldConsumer(n+1))
	}
	return paths
}

// compareServices asks both for everything, in the versions in which forms differ.
func compareServices(t *testing.T, before, after string) {
	t.Helper()
	differing := 0
	for _, path := range everyPath() {
		for _, version := range []string{"1.0", "1.12", "1.19", "1.29", "1.38", "1.39"} {
			asked := time.Now()
			old, now := askService(t, before, version, "GET", path, ""), askService(t, after, version, "GET", path, "")
			// On PostgreSQL, Debian's service fails with a sum by consumer types of its own.
			if old.status == http.StatusInternalServerError && strings.HasPrefix(path, "/usages") && now.status == http.StatusOK {
				continue
			}
			if old.status >= 400 {
				old.body, now.body = "", "" // in other words; a test of its own compares errors
			}
			// The one uuid that was spelled in another way.
			old.body = strings.ReplaceAll(old.body, "A9900000-0000-4000-8000-00000000000B", "a9900000-0000-4000-8000-00000000000b")
			old.body, now.body = inOrder(old.body), inOrder(now.body)
			if isNow(old.newest, asked) && isNow(now.newest, asked) {
				old.newest, now.newest = "", ""
			}
			if old != now {
				if differing++; differing < 12 {
					t.Errorf("%s at %s:\n%d %s %s\n%d %s %s", path, version, old.status, old.newest, old.body, now.status, now.newest, now.body)
				}
			}
		}
	}
	if differing > 0 {
		t.Errorf("%d answers differ", differing)
	}
}

// isNow: where there is no row, the time of the answer stands for that of the newest.
func isNow(newest string, asked time.Time) bool {
	at, err := http.ParseTime(newest)
	return err == nil && at.After(asked.Add(-2*time.Second))
}

// inOrder writes JSON with the elements of arrays sorted: most of Placement's have no
// order.
func inOrder(text string) string {
	var value any
	if json.Unmarshal([]byte(text), &value) != nil {
		return text
	}
	var sorted func(any) any
	sorted = func(value any) any {
		switch v := value.(type) {
		case map[string]any:
			for key := range v {
				v[key] = sorted(v[key])
			}
		case []any:
			for i := range v {
				v[i] = sorted(v[i])
			}
			slices.SortFunc(v, func(a, b any) int {
				x, _ := json.Marshal(a)
				y, _ := json.Marshal(b)
				return cmp.Compare(string(x), string(y))
			})
		}
		return value
	}
	written, _ := json.Marshal(sorted(value))
	return string(written)
}

// TestImport_PythonPlacement_RoundTripsThroughBerth fills a real Placement, imports its database, and
// compares every answer; then exports, and compares those of a real Placement on that.
func TestImport_PythonPlacement_RoundTripsThroughBerth(t *testing.T) {
	t.Parallel()
	for name, makeDatabase := range oldEngines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, driver, source := makeDatabase(t)
			old := startPython(t, address, true)
			fillPython(t, old.url)
			ours := dbtest.NewEmpty(t)
			// A new embedded PostgreSQL has no schema before the dry run. Its account may not be that of the test.
			home := t.TempDir()
			if err := os.Chmod(filepath.Dir(home), 0o755); err != nil {
				t.Fatal(err)
			}
			berth(t, "import", address, "--dry-run", "--data-dir", filepath.Join(home, "new"))
			berth(t, "import", address, "--database-url", ours.URL, "--strict")
			again := berth(t, "import", address, "--database-url", ours.URL)
			if !strings.Contains(again, "\nverified after ") {
				t.Errorf("the second time: %s", again)
			}
			compareServices(t, old.url, serveOn(t, ours.URL, "--allow-insecure-noauth2").url)

			back := emptyBeside(t, name, address)
			berth(t, "export", back, "--database-url", ours.URL)
			compareServices(t, old.url, startPython(t, back, false).url)

			old.stop()
			importAnomalies(t, address, driver, source)
		})
	}
}

// emptyBeside is an address for the export, of the same kind.
func emptyBeside(t *testing.T, engine, address string) string {
	t.Helper()
	if engine == "MariaDB" {
		return strings.Replace(address, "/placement?", "/back?", 1)
	}
	back, _, _ := oldEngines[engine](t)
	return back
}

// importAnomalies spoils the database in ways that its constraints allow, and looks for them in the report.
func importAnomalies(t *testing.T, address, driver, source string) {
	t.Helper()
	pool, err := sql.Open(driver, source)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	for _, statement := range []string{
		"DELETE FROM consumers WHERE uuid = '" + oldConsumer(2) + "'",
		"UPDATE resource_providers SET root_provider_id = NULL WHERE name = 'provider 3'",
		"UPDATE resource_providers SET generation = NULL, name = NULL WHERE name = 'provider 5'",
		"INSERT INTO allocations (resource_provider_id, consumer_id, resource_class_id, used) SELECT resource_provider_id, consumer_id, resource_class_id, 1 FROM allocations WHERE used = 33",
		"INSERT INTO allocations (resource_provider_id, consumer_id, resource_class_id, used) VALUES (4711, '" + oldConsumer(9) + "', 0, 5)",
		"INSERT INTO inventories (resource_provider_id, resource_class_id, total, reserved, min_unit, max_unit, step_size, allocation_ratio) VALUES (4711, 0, 5, 0, 1, 5, 1, 1.0)",
		"INSERT INTO resource_provider_aggregates (resource_provider_id, aggregate_id) VALUES (4711, 1)",
		"UPDATE placement_aggregates SET uuid = NULL WHERE id = (SELECT id FROM (SELECT max(id) AS id FROM placement_aggregates) AS last)",
		"UPDATE allocations SET consumer_id = 'C0000000-0000-4000-8000-000000000004' WHERE consumer_id = '" + oldConsumer(4) + "' AND used = 3",
		"UPDATE inventories SET total = 1 WHERE total = 9",
	} {
		if _, err := pool.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	ours, odd := dbtest.NewEmpty(t), filepath.Join(t.TempDir(), "odd.jsonl")
	refused := berthCommand(t, "import", address, "--database-url", ours.URL, "--strict")
	if printed, err := refused.CombinedOutput(); refused.ProcessState.ExitCode() != 1 || !strings.Contains(string(printed), "these would lose data") {
		t.Errorf("strict: %v\n%s", err, printed)
	}
	berth(t, "import", address, "--database-url", ours.URL, "--report", odd)
	lines, err := os.ReadFile(odd)
	if err != nil {
		t.Fatal(err)
	}
	for kind, want := range map[string]int{
		"consumer-missing": 1, "provider-root-missing": 1, "provider-generation-missing": 1, "provider-name-missing": 1, "allocation-twice": 2,
		"allocation-orphan": 1, "inventory-orphan": 1, "provider-aggregate-orphan": 2, "aggregate-uuid-missing": 1, "consumer-uuid-spelling": 1, "inventory-overcommitted": 1,
	} {
		if got := strings.Count(string(lines), `"kind":"`+kind+`"`); got != want {
			t.Errorf("%s: %d, not %d", kind, got, want)
		}
	}
	at := serveOn(t, ours.URL).url
	for path, want := range map[string]string{
		"/allocations/" + oldConsumer(2):                                  `"project_id":"00000000-0000-0000-0000-000000000000"`,
		"/allocations/" + oldConsumer(5):                                  `"DISK_GB":34`,
		"/allocations/" + oldConsumer(4):                                  `"VCPU":3`,
		"/resource_providers/00000000-0000-4000-8000-000000000005":        `"name":"00000000-0000-4000-8000-000000000005"`,
		"/resource_providers/00000000-0000-4000-8000-000000000003":        `"root_provider_uuid":"00000000-0000-4000-8000-000000000001"`,
		"/resource_providers/00000000-0000-4000-8000-000000000005/usages": `"CUSTOM_SILVER":4`,
	} {
		if got := askService(t, at, "1.38", "GET", path, ""); !strings.Contains(got.body, want) {
			t.Errorf("%s: %d %s lacks %s", path, got.status, got.body, want)
		}
	}
}
