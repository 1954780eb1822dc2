package store_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/internal/test/dbtest"
)

// crowd adds 10,500 consumers of one project, which all use the first provider and class 2. Ten are of another user.
const crowd = `
INSERT INTO projects (external_id) VALUES ('crowd');
INSERT INTO consumers (uuid, generation, project_id, user_id)
SELECT ('dd000000-0000-4000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 1, (SELECT id FROM projects WHERE external_id = 'crowd'), 1
FROM generate_series(1, 10500) AS n;
INSERT INTO allocations (consumer_id, provider_id, class_id, used)
SELECT consumer.id, 1, 2, 1 FROM consumers AS consumer WHERE consumer.uuid >= 'dd000000-0000-4000-8000-000000000000';
INSERT INTO users (external_id) VALUES ('rare user');
UPDATE consumers SET user_id = (SELECT id FROM users WHERE external_id = 'rare user')
WHERE uuid BETWEEN 'dd000000-0000-4000-8000-000000000001' AND 'dd000000-0000-4000-8000-00000000000a';
UPDATE consumers SET leased = true WHERE uuid >= 'dd000000-0000-4000-8000-000000000000';
INSERT INTO leases (consumer_id, seconds, expires_at, due)
SELECT consumer.id, 60, '2040-01-01Z'::timestamptz + consumer.id * interval '1 minute', '2040-01-01Z'::timestamptz + consumer.id * interval '1 minute'
FROM consumers AS consumer WHERE consumer.leased;
UPDATE inventories SET used = 10500 WHERE provider_id = 1 AND class_id = 2;
INSERT INTO traits (name) VALUES ('CUSTOM_EVERYWHERE');
INSERT INTO provider_traits SELECT provider.id, (SELECT id FROM traits WHERE name = 'CUSTOM_EVERYWHERE') FROM resource_providers AS provider;
ANALYZE;`

// leads are the indexes that a page of consumers can begin with. consumers_pkey is also the key of the consumers that a
// page looks at.
var leads = []string{"consumers_uuid_key", "allocations_provider_id_idx", "consumers_project_id_idx", "leases_due_idx"}

// largeTables grow with the cloud.
var largeTables = []string{
	"resource_providers", "provider_generations", "inventories", "allocations", "consumers", "provider_traits", "provider_aggregates", "leases",
}

// consumerArguments returns the arguments of db.ConsumerList, in the order of db.ConsumerListParams.
func consumerArguments(changes map[int]string) []string {
	arguments := []string{
		"true", "false", "-9223372036854775807", "NULL", "NULL", "5001",
		"NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "101",
	}
	for place, value := range changes {
		arguments[place] = value
	}
	return arguments
}

// TestUsage_ConsumerPages_UseIndexes executes a page with each leading filter, and with filters that have too many entries
// to lead.
func TestUsage_ConsumerPages_UseIndexes(t *testing.T) {
	t.Parallel()
	cloud := newCloud(t)
	if _, err := cloud.Pool.Exec(t.Context(), crowd); err != nil {
		t.Fatal(err)
	}
	first, second := "'"+dbtest.NumberedUUID("aa", 1).String()+"'", "'"+dbtest.NumberedUUID("aa", 22).String()+"'"
	const (
		low, high, uuids, project, owner, kind = 3, 4, 6, 7, 8, 9
		providers, tree, classes, trait        = 10, 11, 12, 13
		leased, expiresBefore                  = 18, 19
	)
	for name, c := range map[string]struct {
		arguments map[int]string
		// uses are the leading indexes that are executed: one for the count of its entries too.
		uses []string
	}{
		"all":                        {nil, nil},
		"newest first":               {map[int]string{1: "true"}, nil},
		"from a place":               {map[int]string{2: "5000"}, nil},
		"search":                     {map[int]string{low: "'cc000000-0000-0000-0000-000000000000'", high: "'cc000000-0000-4000-8000-0000000000ff'"}, leads[:1]},
		"uuid":                       {map[int]string{uuids: "ARRAY['" + dbtest.NumberedUUID("cc", 77).String() + "'::uuid]"}, leads[:1]},
		"project":                    {map[int]string{project: "'project-7'"}, leads[2:3]},
		"user":                       {map[int]string{owner: "'user'"}, nil},
		"type":                       {map[int]string{kind: "'unknown'"}, nil},
		"class":                      {map[int]string{classes: "'{DISK_GB}'"}, nil},
		"provider":                   {map[int]string{providers: "ARRAY[" + second + "::uuid]", classes: "'{VCPU}'"}, leads[1:2]},
		"tree":                       {map[int]string{tree: second}, leads[1:2]},
		"trait":                      {map[int]string{trait: "'CUSTOM_T7'"}, leads[1:2]},
		"trait and project":          {map[int]string{trait: "'CUSTOM_T7'", project: "'project-7'"}, leads[1:2]},
		"user of a large project":    {map[int]string{project: "'crowd'", owner: "'rare user'"}, leads[2:3]},
		"large project":              {map[int]string{project: "'crowd'"}, leads[2:3]},
		"large provider":             {map[int]string{providers: "ARRAY[" + first + "::uuid]"}, leads[1:2]},
		"large tree":                 {map[int]string{tree: first}, leads[1:2]},
		"frequent trait":             {map[int]string{trait: "'CUSTOM_EVERYWHERE'"}, nil},
		"trait and no match":         {map[int]string{trait: "'CUSTOM_EVERYWHERE'", classes: "'{MEMORY_MB}'"}, nil},
		"large provider and project": {map[int]string{providers: "ARRAY[" + first + "::uuid]", project: "'project-7'"}, leads[1:3]},
		"many leased":                {map[int]string{leased: "true"}, leads[3:]},
		"leases that end soon":       {map[int]string{expiresBefore: "'2040-01-01 02:00Z'"}, leads[3:]},
		"without a lease":            {map[int]string{leased: "false"}, nil},
		"an unknown project":         {map[int]string{project: "'none'"}, nil},
	} {
		for _, mode := range []string{"force_generic_plan", "force_custom_plan"} {
			t.Run(name+" with "+mode, func(t *testing.T) {
				t.Parallel()
				conn, err := cloud.Pool.Acquire(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Release()
				indexes, scanned, entries := map[string]bool{}, map[string]bool{}, 0.0
				dbtest.Explain(t, conn.Conn(), mode, db.ConsumerList, consumerArguments(c.arguments)...).Walk(func(n *dbtest.PlanNode) {
					if slices.Contains(leads, n.Index) {
						indexes[n.Index] = true
						entries = max(entries, n.Rows*n.Loops)
					}
					if n.Type == "Seq Scan" && slices.Contains(largeTables, n.Relation) {
						scanned[n.Relation] = true
					}
				})
				if got := slices.Sorted(maps.Keys(indexes)); !slices.Equal(got, slices.Sorted(slices.Values(c.uses))) {
					t.Errorf("leading indexes = %v, want %v", got, c.uses)
				}
				if len(scanned) > 0 {
					t.Errorf("sequential scans of %v", slices.Sorted(maps.Keys(scanned)))
				}
				if entries > 5001 || name == "user of a large project" && entries != 10 {
					t.Errorf("entries of a leading index = %g, want at most 5001, or those of the user", entries)
				}
			})
		}
	}
}
