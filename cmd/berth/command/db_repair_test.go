package command

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/berthd/berth/cmd/berth/admin"
	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/server/data/audit"
)

// consistentRows are a provider with a sharing child, another provider, a consumer and a node.
const consistentRows = `
	INSERT INTO resource_classes (id, name) VALUES (20000, 'CUSTOM_SEAT');
	INSERT INTO traits (id, name) VALUES (30000, 'MISC_SHARES_VIA_AGGREGATE');
	INSERT INTO aggregates (id, uuid) VALUES (40, 'a0000000-0000-4000-8000-000000000040');
	INSERT INTO resource_providers (id, uuid, name, root_id, parent_id) OVERRIDING SYSTEM VALUE VALUES
		(1, 'a0000000-0000-4000-8000-000000000001', 'ship', 1, NULL),
		(2, 'a0000000-0000-4000-8000-000000000002', 'deck', 1, 1),
		(3, 'a0000000-0000-4000-8000-000000000003', 'boat', 3, NULL);
	INSERT INTO provider_generations (provider_id, generation) VALUES (1, 5), (2, 7), (3, 6);
	INSERT INTO provider_traits (provider_id, trait_id) VALUES (2, 30000);
	INSERT INTO provider_aggregates (provider_id, aggregate_id) VALUES (2, 40), (3, 40);
	INSERT INTO inventories (provider_id, class_id, root_id, total, reserved, min_unit, max_unit, step_size, allocation_ratio, used)
	VALUES (2, 20000, 1, 10, 0, 1, 10, 1, 1, 4);
	INSERT INTO projects (external_id) VALUES ('crew');
	INSERT INTO users (external_id) VALUES ('cook');
	INSERT INTO consumers (uuid, generation, project_id, user_id) VALUES ('c0000000-0000-4000-8000-000000000001', 3, 1, 1);
	INSERT INTO allocations (consumer_id, provider_id, class_id, used) VALUES (1, 2, 20000, 4);
	INSERT INTO nodes (uuid, driver, provision_state, instance_uuid) VALUES
		('e0000000-0000-4000-8000-000000000001', 'oars', 'active', 'f0000000-0000-4000-8000-000000000001');
	INSERT INTO node_allocations (uuid, node_id, state, resource_class)
	VALUES ('f0000000-0000-4000-8000-000000000001', 1, 'active', 'boat');`

// corruption is a change of the tables that bypasses constraints and triggers.
type corruption struct {
	statements string
	// found are the sentences of the findings by check; several checks may find the same row.
	found map[string][]string
	// changed is the difference between the repaired and the consistent rows. The check after the repair
	// covers columns that are not in a snapshot.
	changed []string
	// isPermanent is true for a corruption that cannot be repaired.
	isPermanent bool
}

var corruptions = map[string]corruption{
	"a sum that is wrong": {
		statements: "UPDATE inventories SET used = 5",
		found:      map[string][]string{"wrong_used": {"inventory of class 20000 on provider 2 has used 5, but its allocations sum to 4"}},
	},
	"a root that is not the topmost": {
		statements: "UPDATE resource_providers SET root_id = 3 WHERE id = 2",
		found:      map[string][]string{"wrong_roots": {"provider 2 has root 3, not 1"}},
	},
	"a child that moved without its inventories": {
		statements: "UPDATE resource_providers SET root_id = 3, parent_id = 3 WHERE id = 2",
		found: map[string][]string{
			"wrong_inventory_roots": {"inventory of class 20000 on provider 2 has root 1, not 3"},
			"wrong_trait_roots":     {"aggregate 40 of provider 2 has root 1, not 3", "trait 30000 of provider 2 has root 1, not 3"},
		},
		changed: []string{
			"~ inventories{provider_id: 2, class_id: 20000} root_id: 1 -> 3",
			"~ provider_aggregates{provider_id: 2, aggregate_id: 40} root_id: 1 -> 3",
			"~ provider_traits{provider_id: 2, trait_id: 30000} root_id: 1 -> 3",
			"~ resource_providers{id: 2} root_id: 1 -> 3, parent_id: 1 -> 3",
		},
	},
	"counts of a tree that are wrong": {
		statements: `UPDATE tree_classes SET providers = 2;
			INSERT INTO tree_classes VALUES (3, 20000, 1);`,
		found: map[string][]string{"wrong_tree_classes": {
			"tree 1 has 2 providers with inventory of class 20000 in tree_classes, but 1 in inventories",
			"tree 3 has 1 providers with inventory of class 20000 in tree_classes, but 0 in inventories",
		}},
	},
	"counts of a tree that are gone": {
		statements: "DELETE FROM tree_classes",
		found: map[string][]string{"wrong_tree_classes": {
			"tree 1 has 0 providers with inventory of class 20000 in tree_classes, but 1 in inventories",
		}},
	},
	"copies that differ": {
		statements: "UPDATE resource_providers SET trait_ids = '{}', aggregate_ids = '{41}' WHERE id = 2",
		found:      map[string][]string{"stale_copies": {"provider 2 has copies of traits {} and aggregates {41} that differ from the original rows"}},
	},
	"a mark of sharing that lies": {
		statements: "UPDATE provider_aggregates SET sharing = NOT sharing",
		found: map[string][]string{"wrong_sharing": {
			"provider 2 is in aggregate 40 with sharing f", "provider 3 is in aggregate 40 with sharing t",
		}},
	},
	"a provider without generation": {
		statements: "DELETE FROM provider_generations WHERE provider_id = 3",
		found:      map[string][]string{"missing_generations": {"provider 3 has no generation"}},
		changed:    []string{"~ provider_generations{provider_id: 3} generation: 6 -> 8, updated_at: null -> set"},
	},
	"rows of providers that are gone": {
		statements: `INSERT INTO provider_generations (provider_id) VALUES (9);
			INSERT INTO provider_traits VALUES (9, 30000, 9), (3, 30009, 3);
			INSERT INTO provider_aggregates VALUES (9, 40, false, 9);
			INSERT INTO inventories (provider_id, class_id, root_id, total, reserved, min_unit, max_unit, step_size, allocation_ratio)
			VALUES (9, 20000, 9, 10, 0, 1, 10, 1, 1)`,
		found: map[string][]string{
			"orphaned_rows": {
				"provider 3 has trait 30009, and one of them does not exist",
				"provider 9 has a generation and does not exist",
				"provider 9 has inventory of class 20000 and does not exist",
				"provider 9 has trait 30000, and one of them does not exist",
				"provider 9 is in aggregate 40, and one of them does not exist",
			},
			"wrong_tree_classes": {
				"tree 9 has 0 providers with inventory of class 20000 in tree_classes, but 1 in inventories",
			},
			"wrong_sharing": {"provider 9 is in aggregate 40 with sharing f"},
			"stale_copies":  {"provider 3 has copies of traits {} and aggregates {40} that differ from the original rows"},
		},
	},
	"a consumer that uses nothing": {
		statements: "INSERT INTO consumers (uuid, generation, project_id, user_id) VALUES ('c0000000-0000-4000-8000-000000000002', 1, 1, 1)",
		found:      map[string][]string{"idle_consumers": {"consumer 2 has no allocations"}},
	},
	"allocations that are gone": {
		statements: "DELETE FROM allocations",
		found: map[string][]string{
			"wrong_used":     {"inventory of class 20000 on provider 2 has used 4, but its allocations sum to 0"},
			"idle_consumers": {"consumer 1 has no allocations"},
		},
		changed: []string{
			"- allocations{consumer_id: 1, provider_id: 2, class_id: 20000, id: 1, used: 4, created_at: set}",
			"- consumers{id: 1, uuid: c0000000-0000-4000-8000-000000000001, generation: 3, project_id: 1, user_id: 1, " +
				"consumer_type_id: null, created_at: set, updated_at: null, leased: false}",
			"~ inventories{provider_id: 2, class_id: 20000} used: 4 -> 0",
		},
	},
	"a consumer that was never written": {
		statements: "UPDATE consumers SET generation = 0",
		found:      map[string][]string{"consumer_generations": {"consumer 1 has generation 0"}},
		changed:    []string{"~ consumers{id: 1} generation: 3 -> 1"},
	},
	"leases without consumers, and a consumer without its lease": {
		statements: "INSERT INTO leases (consumer_id, seconds, expires_at, due) VALUES (9, 60, now(), now()); UPDATE consumers SET leased = true",
		found: map[string][]string{
			"wrong_leases": {"consumer 1 has no lease, and leased is t", "lease of consumer 9, which does not exist"},
		},
	},
	"a parent that is gone": {
		statements:  "UPDATE resource_providers SET parent_id = 9 WHERE id = 2",
		found:       map[string][]string{"missing_parents": {"provider 2 has parent 9, which does not exist"}},
		isPermanent: true,
	},
	"a loop": {
		statements:  "UPDATE resource_providers SET root_id = 3, parent_id = 2 WHERE id = 1",
		found:       map[string][]string{"parent_cycles": {"provider 1 is its own ancestor", "provider 2 is its own ancestor"}},
		isPermanent: true,
	},
	"an inventory that is gone": {
		statements:  "DELETE FROM inventories; DELETE FROM tree_classes",
		found:       map[string][]string{"allocations_inventory": {"consumer 1 has an allocation of class 20000 on provider 2, which has no inventory of it"}},
		isPermanent: true,
	},
	"a provider that is gone": {
		statements: "DELETE FROM resource_providers WHERE id = 2; DELETE FROM provider_generations WHERE provider_id = 2;" +
			"DELETE FROM provider_traits WHERE provider_id = 2; DELETE FROM provider_aggregates WHERE provider_id = 2",
		found:       map[string][]string{"allocations_inventory": {"consumer 1 has an allocation of class 20000 on provider 2, which does not exist"}},
		isPermanent: true,
	},
	"a consumer that is gone": {
		statements:  "DELETE FROM consumers",
		found:       map[string][]string{"allocations_consumer": {"consumer 1 has an allocation of class 20000 on provider 2 and does not exist"}},
		isPermanent: true,
	},
	"a class that is gone": {
		statements:  "DELETE FROM resource_classes WHERE id = 20000",
		found:       map[string][]string{"missing_classes": {"provider 2 has inventory of class 20000, which does not exist"}},
		isPermanent: true,
	},
	"a project that is gone": {
		statements:  "DELETE FROM projects",
		found:       map[string][]string{"missing_owners": {"consumer 1 has project 1, user 1 and type none, and one of them does not exist"}},
		isPermanent: true,
	},
	"a node with another instance": {
		statements:  "UPDATE nodes SET instance_uuid = NULL",
		found:       map[string][]string{"node_instances": {"node 1 has instance none, and allocation f0000000-0000-4000-8000-000000000001"}},
		isPermanent: true,
	},
	"a node with too many traits": {
		statements:  "INSERT INTO node_traits SELECT 1, 'CUSTOM_' || n FROM generate_series(1, 51) AS n",
		found:       map[string][]string{"node_traits": {"node 1 has 51 traits"}},
		isPermanent: true,
	},
}

// execute executes statements, without constraints and triggers if bypass is true.
func execute(t *testing.T, db *dbtest.DB, bypass bool, statements string) {
	t.Helper()
	if bypass {
		statements = "SET LOCAL session_replication_role = replica; " + statements
	}
	if _, err := db.Pool.Exec(t.Context(), statements); err != nil {
		t.Fatal(err)
	}
}

// sentences returns the sentences of the findings by check.
func sentences(results []audit.Result) map[string][]string {
	byCheck := map[string][]string{}
	for _, result := range results {
		for _, found := range result.Findings {
			byCheck[result.Name] = append(byCheck[result.Name], found.Sentence)
		}
	}
	return byCheck
}

func equal(a, b map[string][]string) bool {
	return len(a) == len(b) && !slices.ContainsFunc(slices.Collect(keysOf(a)), func(key string) bool {
		return !slices.Equal(a[key], b[key])
	})
}

func keysOf(of map[string][]string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for key := range of {
			if !yield(key) {
				return
			}
		}
	}
}

func TestCLI_DBCheckAndRepair_FindAndFixCorruptions(t *testing.T) {
	t.Parallel()
	for name, of := range corruptions {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := dbtest.New(t)
			execute(t, db, false, consistentRows)
			consistent := dbtest.Snapshot(t, db)
			execute(t, db, true, of.statements)
			corrupted := dbtest.Snapshot(t, db)

			var checked admin.CheckDocument
			got := runCommand(t, nil, "db", "check", "--output=json", "--database-url", db.URL)
			if err := json.Unmarshal([]byte(got.stdout), &checked); err != nil || got.code != frame.ExitFailed {
				t.Fatalf("exit code %d, %v: %s", got.code, err, got.stderr)
			}
			if found := sentences(checked.Checks); !equal(found, of.found) {
				t.Errorf("got  %q\nwant %q", found, of.found)
			}

			shown := runCommand(t, nil, "db", "repair", "--database-url", db.URL)
			if changes := corrupted.Diff(dbtest.Snapshot(t, db)); changes != nil || shown.code != frame.ExitFailed {
				t.Errorf("changes without --yes = %q, exit code %d: %s", changes, shown.code, shown.stderr)
			}

			repaired := runCommand(t, nil, "db", "repair", "--yes", "--database-url", db.URL)
			again := runCommand(t, nil, "db", "check", "--database-url", db.URL)
			if of.isPermanent {
				if repaired.code != frame.ExitFailed || !strings.Contains(repaired.stdout, "cannot be repaired: ") {
					t.Errorf("exit code %d: %s%s", repaired.code, repaired.stdout, repaired.stderr)
				}
				if changes := corrupted.Diff(dbtest.Snapshot(t, db)); changes != nil {
					t.Errorf("changes of a failed repair = %q, want none", changes)
				}
				return
			}
			if repaired.code != frame.ExitOK || again.code != frame.ExitOK {
				t.Errorf("exit codes %d and %d: %s%s", repaired.code, again.code, repaired.stderr, again.stdout)
			}
			if changes := consistent.Diff(dbtest.Snapshot(t, db)); !slices.Equal(changes, of.changed) {
				t.Errorf("got  %q\nwant %q", changes, of.changed)
			}
		})
	}
}

func TestCLI_DBCheckList_EachHasCorruptionTest(t *testing.T) {
	t.Parallel()
	for _, check := range audit.Checks() {
		isTested := false
		for _, of := range corruptions {
			isTested = isTested || of.found[check.Name] != nil
		}
		if !isTested {
			t.Errorf("no corruption for %s", check.Name)
		}
		if (check.RepairAction == "") == (check.ManualAction == "") {
			t.Errorf("%s needs exactly one of repair and manual action", check.Name)
		}
	}
}

func TestCLI_DBRepair_PrintsPlanFirst(t *testing.T) {
	t.Parallel()
	db := dbtest.New(t)
	execute(t, db, false, consistentRows)
	clean := runCommand(t, nil, "db", "repair", "--database-url", db.URL)
	if clean.code != frame.ExitOK || clean.stdout != "No inconsistent rows in 20 checks.\n" {
		t.Errorf("exit code %d: %s%s", clean.code, clean.stdout, clean.stderr)
	}
	execute(t, db, true, "UPDATE inventories SET used = 5; DELETE FROM projects;")
	const plan = `wrong_used (1): set used to the sum of the allocations
   a0000000-0000-4000-8000-000000000002  inventory of class 20000 on provider 2 has used 5, but its allocations sum to 4
missing_owners (1): cannot be repaired: the project and user of the consumer are stored nowhere else; the next claim for it sets them
   c0000000-0000-4000-8000-000000000001  consumer 1 has project 1, user 1 and type none, and one of them does not exist
`
	shown := runCommand(t, nil, "db", "repair", "--database-url", db.URL)
	if want := plan + "Nothing was changed. Run 'berth db repair --yes' to repair these rows.\n"; shown.stdout != want {
		t.Errorf("got  %s\nwant %s", shown.stdout, want)
	}
	done := runCommand(t, nil, "db", "repair", "--yes", "--database-url", db.URL)
	if want := plan + "Repaired wrong_used: 1 rows.\n"; done.stdout != want {
		t.Errorf("got  %s\nwant %s", done.stdout, want)
	}
	if want := "berth: found 1 inconsistent row that cannot be repaired\n"; !strings.HasSuffix(done.stderr, want) {
		t.Errorf("standard error %q", done.stderr)
	}
}

func TestCLI_DBCheckWithLimit_ShowsSomeCountsAll(t *testing.T) {
	t.Parallel()
	db := dbtest.New(t)
	execute(t, db, false, consistentRows)
	execute(t, db, false, `INSERT INTO consumers (uuid, generation, project_id, user_id)
		SELECT ('d0000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid, 1, 1, 1 FROM generate_series(1, 250) AS n`)
	got := runCommand(t, nil, "db", "check", "--most=2", "--database-url", db.URL)
	const want = `CHECK           UUID                                  INCONSISTENCY
idle_consumers  d0000000-0000-4000-8000-000000000001  consumer 2 has no allocations
idle_consumers  d0000000-0000-4000-8000-000000000002  consumer 3 has no allocations
idle_consumers  -                                     and 248 more
`
	if got.stdout != want {
		t.Errorf("got  %s\nwant %s", got.stdout, want)
	}
	if !strings.Contains(got.stderr, "berth: 16/20 consumers without allocations\n") ||
		!strings.HasSuffix(got.stderr, "berth: found 250 inconsistent rows; 'berth db repair' can repair 250 of them\n") {
		t.Errorf("standard error %q", got.stderr)
	}
}
