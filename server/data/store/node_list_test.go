package store_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/data/store"
)

// fleet creates six nodes that differ in every filter.
func (b *bundle) fleet() {
	b.t.Helper()
	for i, edit := range []func(*store.Node){
		func(n *store.Node) { n.ResourceClass, n.Owner, n.ConductorGroup = new("x"), new("o"), "g" },
		func(n *store.Node) {
			n.InstanceUUID, n.Lessee, n.Fault = new(named("f one")), new("l"), new("power failure")
		},
		func(n *store.Node) { n.Maintenance, n.Driver, n.ResourceClass = true, "ipmi", new("x") },
		func(n *store.Node) { n.ProvisionState, n.Retired, n.ResourceClass = "active", true, new("y") },
		func(n *store.Node) {
			n.Details = map[string]json.RawMessage{"description": json.RawMessage(`"rack 7_a"`), "shard": json.RawMessage(`"s1"`)}
		},
		func(n *store.Node) {
			n.Details = map[string]json.RawMessage{
				"chassis_uuid": json.RawMessage(`"` + named("c chassis").String() + `"`), "shard": json.RawMessage(`"s2"`)}
			n.Name = nil
		},
	} {
		wanted := bareNode(fmt.Sprintf("%x node", 9-i), "available")
		edit(&wanted)
		_, err := b.NodeCreate(b.t.Context(), wanted)
		b.must(err)
	}
	b.conductor("me")
	_, _, err := b.NodeTransition(b.t.Context(), "6 node", store.Transition{To: "active", Conductor: new("me")})
	b.must(err)
}

// listed returns the first digits of the nodes' UUIDs.
func (b *bundle) listed(filter store.NodeFilter, page store.Page) string {
	b.t.Helper()
	nodes, err := b.NodeList(b.t.Context(), filter, page)
	b.must(err)
	var digits string
	for _, one := range nodes {
		digits += one.UUID.String()[:1]
	}
	return digits
}

func TestNode_ListFilters_ApplyInEveryOrder(t *testing.T) {
	t.Parallel()
	b := setup(t, 1)
	b.fleet()
	for name, c := range map[string]struct {
		filter store.NodeFilter
		want   string
	}{
		"none":                     {store.NodeFilter{}, "987654"},
		"provision_state":          {store.NodeFilter{ProvisionState: new("active")}, "6"},
		"resource_class":           {store.NodeFilter{ResourceClass: new("x")}, "97"},
		"associated":               {store.NodeFilter{Associated: new(true)}, "8"},
		"not associated":           {store.NodeFilter{Associated: new(false)}, "97654"},
		"maintenance":              {store.NodeFilter{Maintenance: new(true)}, "7"},
		"not maintenance":          {store.NodeFilter{Maintenance: new(false)}, "98654"},
		"instance_uuid":            {store.NodeFilter{InstanceUUID: new(named("f one"))}, "8"},
		"instance_uuid of none":    {store.NodeFilter{InstanceUUID: new(named("f two"))}, ""},
		"driver":                   {store.NodeFilter{Driver: new("ipmi")}, "7"},
		"owner":                    {store.NodeFilter{Owner: new("o")}, "9"},
		"lessee":                   {store.NodeFilter{Lessee: new("l")}, "8"},
		"conductor_group":          {store.NodeFilter{ConductorGroup: new("g")}, "9"},
		"fault":                    {store.NodeFilter{Fault: new("power failure")}, "8"},
		"retired":                  {store.NodeFilter{Retired: new(true)}, "6"},
		"not retired":              {store.NodeFilter{Retired: new(false)}, "98754"},
		"conductor":                {store.NodeFilter{Conductor: new("me")}, "6"},
		"conductor of none":        {store.NodeFilter{Conductor: new("you")}, ""},
		"description_contains":     {store.NodeFilter{DescriptionContains: new("7_")}, "5"},
		"a wildcard is none":       {store.NodeFilter{DescriptionContains: new("7%")}, ""},
		"chassis_uuid":             {store.NodeFilter{ChassisUUID: new(named("c chassis"))}, "4"},
		"shard":                    {store.NodeFilter{Shards: []string{"s2", "s3"}}, "4"},
		"shards":                   {store.NodeFilter{Shards: []string{"s2", "s1"}}, "54"},
		"sharded":                  {store.NodeFilter{Sharded: new(true)}, "54"},
		"not sharded":              {store.NodeFilter{Sharded: new(false)}, "9876"},
		"two that no node matches": {store.NodeFilter{Owner: new("o"), Driver: new("ipmi")}, ""},
		"allocatable, of a class": {store.NodeFilter{
			ResourceClass: new("x"), ProvisionState: new("available"), Associated: new(false), Maintenance: new(false)}, "9"},
		"allocatable, of a class and a driver": {store.NodeFilter{
			ResourceClass: new("x"), ProvisionState: new("available"), Associated: new(false), Maintenance: new(false), Driver: new("ipmi")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b.t = t
			backwards := []byte(c.want)
			slices.Reverse(backwards)
			for page, want := range map[store.Page]string{
				{Limit: 10}: c.want,
				{Limit: 10, SortKey: "id", SortDir: "asc"}:         c.want,
				{Limit: 10, SortDir: "desc"}:                       string(backwards),
				{Limit: 10, SortKey: "uuid", SortDir: "asc"}:       string(backwards),
				{Limit: 10, SortKey: "created_at"}:                 c.want,
				{Limit: 10, SortKey: "uuid", SortDir: "desc"}:      c.want,
				{Limit: 10, SortKey: "console", SortDir: "desc"}:   string(backwards),
				{Limit: 10, SortKey: "last_error", SortDir: "asc"}: c.want,
			} {
				if got := b.listed(c.filter, page); got != want {
					t.Errorf("%+v: got %q, want %q", page, got, want)
				}
			}
		})
	}
}

func TestNode_List_SortableByColumns(t *testing.T) {
	t.Parallel()
	b := setup(t, 1)
	b.fleet()
	for key, want := range map[string]string{
		"uuid": "456789", "name": "456789", "driver": "986547", "resource_class": "854976", "provision_state": "698754",
		"target_provision_state": "987654", "provision_updated_at": "987654", "power_state": "987654", "target_power_state": "987654",
		"maintenance": "986547", "maintenance_reason": "987654", "fault": "976548", "instance_uuid": "976548", "owner": "876549",
		"lessee": "976548", "protected": "987654", "retired": "987546", "conductor_group": "876549", "last_error": "987654",
		"created_at": "987654", "updated_at": "987546", "description": "987645", "shard": "987654", "chassis_uuid": "987654",
	} {
		if got := b.listed(store.NodeFilter{}, store.Page{Limit: 10, SortKey: key}); got != want {
			t.Errorf("%s: got %s, want %s", key, got, want)
		}
	}
}

// Pages of two and of three, in any order, with and without a filter, contain each node once.
func TestNode_ListPages_EqualWholeList(t *testing.T) {
	t.Parallel()
	b := setup(t, 1)
	b.fleet()
	for _, filter := range []store.NodeFilter{
		{}, {Associated: new(false)}, {Conductor: new("me")}, {InstanceUUID: new(named("f one"))},
		{ResourceClass: new("x"), ProvisionState: new("available"), Associated: new(false), Maintenance: new(false)},
	} {
		for _, key := range []string{"", "id", "resource_class", "name", "maintenance", "shard"} {
			for _, direction := range []string{"asc", "desc"} {
				whole := b.listed(filter, store.Page{Limit: 10, SortKey: key, SortDir: direction})
				for limit := 1; limit <= 3; limit++ {
					var got string
					page := store.Page{Limit: limit, SortKey: key, SortDir: direction}
					for {
						nodes, err := b.NodeList(t.Context(), filter, page)
						b.must(err)
						for _, one := range nodes {
							got += one.UUID.String()[:1]
							page.Marker = &one.UUID
						}
						if len(nodes) < limit {
							break
						}
					}
					if got != whole {
						t.Errorf("%+v by %q %s in pages of %d: got %s, want %s", filter, key, direction, limit, got, whole)
					}
				}
			}
		}
	}
}

func TestNode_ListMarkerUnknown_ReturnsNotFound(t *testing.T) {
	t.Parallel()
	b := setup(t, 1)
	b.fleet()
	unknown := uuid.New()
	for _, key := range []string{"", "name"} {
		_, err := b.NodeList(t.Context(), store.NodeFilter{}, store.Page{Limit: 1, SortKey: key, Marker: &unknown})
		refuses(t, err, store.NodeNotFound, store.Values{Node: unknown.String()})
		if got := b.listed(store.NodeFilter{}, store.Page{Limit: 1, SortDir: "asc", Marker: new(named("4 node"))}); got != "" {
			t.Errorf("after the last node: got %s", got)
		}
	}
}
