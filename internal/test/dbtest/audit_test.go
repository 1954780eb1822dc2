package dbtest

import (
	"slices"
	"strings"
	"testing"
)

// consistentRows are a root with a child, an inventory with an allocation, and a node with a node
// allocation.
const consistentRows = `
	INSERT INTO resource_classes (id, name) VALUES (20000, 'CUSTOM_SEAT');
	INSERT INTO resource_providers (id, uuid, name, root_id, parent_id) OVERRIDING SYSTEM VALUE
	VALUES (1, gen_random_uuid(), 'ship', 1, NULL), (2, gen_random_uuid(), 'deck', 1, 1), (3, gen_random_uuid(), 'boat', 3, NULL);
	INSERT INTO provider_generations (provider_id, generation) VALUES (1, 5), (2, 5), (3, 5);
	INSERT INTO inventories (provider_id, class_id, root_id, total, reserved, min_unit, max_unit, step_size, allocation_ratio, used)
	VALUES (2, 20000, 1, 10, 0, 1, 10, 1, 1, 4);
	INSERT INTO projects (external_id) VALUES ('crew');
	INSERT INTO users (external_id) VALUES ('cook');
	INSERT INTO consumers (uuid, generation, project_id, user_id) VALUES (gen_random_uuid(), 3, 1, 1);
	INSERT INTO allocations (consumer_id, provider_id, class_id, used) VALUES (1, 2, 20000, 4);
	INSERT INTO nodes (uuid, driver, provision_state, instance_uuid)
	VALUES (gen_random_uuid(), 'oars', 'active', 'a0000000-0000-4000-8000-000000000001');
	INSERT INTO ports (uuid, node_id, address) VALUES (gen_random_uuid(), 1, '00:00:00:00:00:01');
	INSERT INTO node_allocations (uuid, node_id, state, resource_class)
	VALUES ('a0000000-0000-4000-8000-000000000001', 1, 'active', 'boat');`

// recorder records the errors of an audit instead of failing the test.
type recorder struct {
	testing.TB
	errors []string
}

func (l *recorder) Helper() {}

func (l *recorder) Errorf(_ string, args ...any) {
	for _, arg := range args {
		if text, ok := arg.(string); ok {
			l.errors = append(l.errors, text)
			continue
		}
		l.errors = append(l.errors, "an error")
	}
}

func TestCluster_ConsistencyCheck_NamesEveryInconsistency(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		statements string
		want       []string
	}{
		"none": {"SELECT 1", nil},
		"a wrong sum": {
			"UPDATE inventories SET used = 5",
			[]string{"inventory of class 20000 on provider 2 has used 5, but its allocations sum to 4"},
		},
		"a sum without allocations": {
			"DELETE FROM allocations",
			[]string{
				"inventory of class 20000 on provider 2 has used 4, but its allocations sum to 0",
				"consumer 1 has no allocations",
			},
		},
		"a wrong root": {
			"UPDATE resource_providers SET root_id = 3 WHERE id = 2",
			[]string{"provider 2 has root 3, not 1"},
		},
		"a child with another root than its inventories": {
			"UPDATE resource_providers SET root_id = 3, parent_id = 3 WHERE id = 2",
			[]string{"inventory of class 20000 on provider 2 has root 1, not 3"},
		},
		"a parent cycle": {
			"UPDATE resource_providers SET root_id = 3, parent_id = 2 WHERE id = 1",
			[]string{"provider 1 is its own ancestor", "provider 2 is its own ancestor"},
		},
		"a provider without generation": {
			"DELETE FROM provider_generations WHERE provider_id = 3",
			[]string{"provider 3 has no generation"},
		},
		"leases": {
			`INSERT INTO leases (consumer_id, seconds, expires_at, due) VALUES (7, 1, now(), now()); UPDATE consumers SET leased = true`,
			[]string{"consumer 1 has no lease, and leased is t", "lease of consumer 7, which does not exist"},
		},
		"a consumer without a generation": {
			"UPDATE consumers SET generation = 0",
			[]string{"consumer 1 has generation 0"},
		},
		"a node with another instance than its node allocation": {
			"UPDATE nodes SET instance_uuid = 'b0000000-0000-4000-8000-000000000001'",
			[]string{"node 1 has instance b0000000-0000-4000-8000-000000000001, and allocation a0000000-0000-4000-8000-000000000001"},
		},
		"a node with a missing node allocation": {
			"UPDATE nodes SET instance_uuid = NULL",
			[]string{"node 1 has instance none, and allocation a0000000-0000-4000-8000-000000000001"},
		},
		"a node with too many traits": {
			"INSERT INTO node_traits SELECT 1, 'CUSTOM_' || n FROM generate_series(1, 51) AS n",
			[]string{"node 1 has 51 traits"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := New(t)
			execute(t, db, consistentRows)
			execute(t, db, c.statements)
			recorded := &recorder{TB: t}
			Audit(recorded, db)
			slices.Sort(recorded.errors)
			slices.Sort(c.want)
			if !slices.Equal(recorded.errors, c.want) {
				t.Errorf("got  %q\nwant %q", recorded.errors, c.want)
			}
		})
	}
}

func TestCluster_InvariantTriggers_RejectFallingGeneration(t *testing.T) {
	t.Parallel()
	db := New(t)
	execute(t, db, consistentRows)
	AddInvariantTriggers(t, db)
	for _, statement := range []string{
		"UPDATE provider_generations SET generation = generation + 1",
		"UPDATE provider_generations SET updated_at = now()",
		"UPDATE consumers SET generation = generation + 1",
	} {
		execute(t, db, statement)
	}
	for _, statement := range []string{
		"UPDATE provider_generations SET generation = generation - 1 WHERE provider_id = 1",
		"UPDATE consumers SET generation = generation - 1",
		"UPDATE consumers SET generation = generation",
	} {
		_, err := db.Pool.Exec(t.Context(), statement)
		if err == nil || !strings.Contains(err.Error(), "falls from") {
			t.Errorf("%s: %v", statement, err)
		}
	}
}

func TestCluster_InvariantTriggers_RejectExceededCapacity(t *testing.T) {
	t.Parallel()
	db := New(t)
	execute(t, db, consistentRows)
	AddInvariantTriggers(t, db)
	for _, statement := range []string{
		"UPDATE inventories SET used = 10",
		"UPDATE inventories SET total = 2", // may be less than used
		"UPDATE inventories SET used = 9",
		"UPDATE inventories SET used = 4",
	} {
		execute(t, db, statement)
	}
	for _, statement := range []string{"UPDATE inventories SET used = 5", "UPDATE inventories SET used = 5, total = 4"} {
		_, err := db.Pool.Exec(t.Context(), statement)
		if err == nil || !strings.Contains(err.Error(), "is filled beyond its capacity") {
			t.Errorf("%s: %v", statement, err)
		}
	}
}

func TestCluster_InvariantTriggers_RejectUnchangedRevision(t *testing.T) {
	t.Parallel()
	db := New(t)
	execute(t, db, consistentRows)
	AddInvariantTriggers(t, db)
	for _, table := range []string{"nodes", "ports"} {
		execute(t, db, "UPDATE "+table+" SET revision = revision + 1, updated_at = now()")
		for _, statement := range []string{"SET updated_at = now()", "SET revision = revision", "SET revision = 0"} {
			_, err := db.Pool.Exec(t.Context(), "UPDATE "+table+" "+statement)
			if err == nil || !strings.Contains(err.Error(), "revision in "+table+" stays") {
				t.Errorf("%s %s: %v", table, statement, err)
			}
		}
	}
}
