package store_test

import (
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/internal/test/dbtest"
)

// hall is 10,000 nodes with two ports and three traits each. One in five is allocatable, and as many have an instance.
const hall = `
INSERT INTO conductors (hostname, drivers) VALUES ('me', '{fake-hardware}');
INSERT INTO nodes (uuid, name, driver, resource_class, provision_state, instance_uuid, conductor_id, details)
SELECT ('ab000000-0000-4000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 'n' || n, 'fake-hardware', 'class-' || n % 50,
    CASE WHEN n % 5 < 3 THEN 'manageable' WHEN n % 5 = 3 THEN 'available' ELSE 'active' END,
    CASE WHEN n % 5 = 4 THEN ('ac000000-0000-4000-8000-' || lpad(to_hex(n), 12, '0'))::uuid END,
    CASE WHEN n % 1000 = 0 THEN 1 END, jsonb_build_object('description', 'rack ' || n, 'properties', '{"cpus": 8}'::jsonb)
FROM generate_series(1, 10000) AS n;
INSERT INTO node_traits SELECT node.id, 'CUSTOM_' || n FROM nodes AS node, generate_series(1, 3) AS n;
INSERT INTO ports (uuid, node_id, address)
SELECT gen_random_uuid(), node.id, node.id || '-' || n FROM nodes AS node, generate_series(1, 2) AS n;
INSERT INTO node_allocations (uuid, node_id, state, resource_class)
SELECT instance_uuid, id, 'active', resource_class FROM nodes WHERE instance_uuid IS NOT NULL;
ANALYZE;`

func newHall(t *testing.T) *dbtest.DB {
	t.Helper()
	return dbtest.NewLoaded(t, hall)
}

// arguments are those of a generated query, in its order: those in given by the names of their fields, the others null.
func arguments[P any](given map[string]string) []string {
	var all []string
	for field := range reflect.TypeFor[P]().Fields() {
		value := "NULL"
		if one, named := given[field.Name]; named {
			value = "'" + one + "'"
		}
		all = append(all, value)
	}
	return all
}

// reads is a list's query, the index that it must use first, and the maximum number of rows of nodes or ports that it
// may read.
type reads struct {
	query     string
	arguments []string
	index     string
	most      float64
}

func TestNode_List_UsesIndex(t *testing.T) {
	t.Parallel()
	nodes := func(lead string, more ...string) []string {
		given := map[string]string{"LeadingFilter": lead, "Page": "20"}
		for i := 0; i < len(more); i += 2 {
			given[more[i]] = more[i+1]
		}
		return arguments[db.NodeListParams](given)
	}
	ports := func(lead, field, value string) []string {
		return arguments[db.PortListParams](map[string]string{"LeadingFilter": lead, field: value, "Page": "20"})
	}
	marker := dbtest.NumberedUUID("ab", 5000).String()
	cases := map[string]reads{
		"nodes":           {db.NodeList, nodes("none"), "nodes_pkey", 21},
		"a later page":    {db.NodeList, nodes("none", "Marker", marker), "nodes_pkey", 21},
		"of a class":      {db.NodeList, nodes("none", "ResourceClass", "class-7"), "nodes_pkey", 1001},
		"of an instance":  {db.NodeList, nodes("instance", "Instance", dbtest.NumberedUUID("ac", 4).String()), "nodes_instance_uuid_key", 1},
		"of a conductor":  {db.NodeList, nodes("conductor", "Conductor", "me"), "nodes_conductor_id_idx", 10},
		"free of a class": {db.NodeList, nodes("free", "ResourceClass", "class-8"), "nodes_free_idx", 200},
		"ports":           {db.PortList, ports("none", "Lead", "none"), "ports_pkey", 21},
		"ports of a node": {db.PortList, ports("node", "Node", marker), "ports_node_id_idx", 2},
		"ports of a name": {db.PortList, ports("node", "NodeName", "n7"), "ports_node_id_idx", 2},
		"a port by MAC":   {db.PortList, ports("address", "Address", "7-1"), "ports_address_key", 1},
		"a node by uuid":  {db.NodeShow, []string{"'" + marker + "'", "NULL"}, "nodes_uuid_key", 1},
		"a node by name":  {db.NodeShow, []string{"NULL", "'n7'"}, "nodes_name_key", 1},
	}
	hall := newHall(t)
	for name, c := range cases {
		for _, mode := range []string{"force_generic_plan", "force_custom_plan"} {
			t.Run(name+" with "+mode, func(t *testing.T) {
				t.Parallel()
				c.check(t, hall, mode)
			})
		}
	}
}

func (r reads) check(t *testing.T, hall *dbtest.DB, mode string) {
	t.Helper()
	conn, err := hall.Pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	indexes, scanned, most := map[string]bool{}, map[string]bool{}, 0.0
	dbtest.Explain(t, conn.Conn(), mode, r.query, r.arguments...).Walk(func(n *dbtest.PlanNode) {
		if n.Index != "" {
			indexes[n.Index] = true
		}
		if n.Type == "Seq Scan" && n.Relation != "conductors" {
			scanned[n.Relation] = true
		}
		if n.Relation == "nodes" || n.Relation == "ports" {
			most = max(most, n.Loops)
		}
	})
	if !indexes[r.index] {
		t.Errorf("indexes = %v, want %s", slices.Sorted(maps.Keys(indexes)), r.index)
	}
	if len(scanned) > 0 {
		t.Errorf("sequential scans of %v", slices.Sorted(maps.Keys(scanned)))
	}
	if most > r.most {
		t.Errorf("rows read = %v, want at most %v", most, r.most)
	}
}
