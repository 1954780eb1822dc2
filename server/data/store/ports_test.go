package store_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/data/store"
)

// port creates a port of a node; the number is its address.
func (b *bundle) port(name, node string, number int) store.Port {
	b.t.Helper()
	made, err := b.PortCreate(b.t.Context(), store.Port{UUID: named(name), NodeUUID: named(node), Address: address(number)})
	b.must(err)
	return made
}

func address(number int) string { return fmt.Sprintf("00:00:00:00:00:%02x", number) }

func TestPort_Create_ShownUnchanged(t *testing.T) {
	t.Parallel()
	b := setup(t, 1)
	b.node("a node", "enroll")
	wanted := store.Port{
		UUID: named("b port"), NodeUUID: named("a node"), Address: address(1),
		Details: map[string]json.RawMessage{"extra": json.RawMessage(`{"k": 1}`)},
	}
	made, err := b.PortCreate(t.Context(), wanted)
	b.must(err)
	shown, err := b.PortShow(t.Context(), wanted.UUID)
	b.must(err)
	wanted.ID, wanted.CreatedAt = 1, made.CreatedAt
	for _, got := range []store.Port{made, shown} {
		if !reflect.DeepEqual(got, wanted) {
			t.Errorf("got %+v, want %+v", got, wanted)
		}
	}
}

func TestPort_CreateConflict_Rejected(t *testing.T) {
	t.Parallel()
	b := setup(t, 1)
	b.node("a node", "enroll")
	b.port("b port", "a node", 1)
	for rule, wanted := range map[store.Rule]store.Port{
		store.PortUUIDTaken:    {UUID: named("b port"), NodeUUID: named("a node"), Address: address(2)},
		store.PortAddressTaken: {UUID: named("c port"), NodeUUID: named("a node"), Address: address(1)},
		store.NodeNotFound:     {UUID: named("c port"), NodeUUID: named("d node"), Address: address(2)},
	} {
		lines(t, b.changed(func() {
			if _, err := b.PortCreate(t.Context(), wanted); outcome(err) != rule {
				t.Errorf("got %v, want %s", err, rule)
			}
		}))
	}
	unknown := uuid.New()
	_, err := b.PortShow(t.Context(), unknown)
	refuses(t, err, store.PortNotFound, store.Values{Port: unknown.String()})
	_, err = b.PortUpdate(t.Context(), unknown, func(*store.Port) error { return nil })
	refuses(t, err, store.PortNotFound, store.Values{Port: unknown.String()})
	refuses(t, b.PortDelete(t.Context(), unknown), store.PortNotFound, store.Values{Port: unknown.String()})
}

func TestPort_UpdateMoveDelete_Applied(t *testing.T) {
	t.Parallel()
	b := setup(t, 1)
	b.node("a node", "enroll")
	b.node("b node", "enroll")
	b.port("c port", "a node", 1)
	b.port("d port", "a node", 2)
	edit := func(change func(*store.Port)) (store.Port, error) {
		return b.PortUpdate(t.Context(), named("c port"), func(p *store.Port) error { change(p); return nil })
	}
	lines(t, b.changed(func() {
		got, err := edit(func(p *store.Port) {
			p.NodeUUID, p.Address, p.Details["pxe_enabled"] = named("b node"), address(3), json.RawMessage("true")
		})
		b.must(err)
		shown, err := b.PortShow(t.Context(), named("c port"))
		b.must(err)
		if !reflect.DeepEqual(got, shown) {
			t.Errorf("returned %+v, shown %+v", got, shown)
		}
	}), `~ ports{id: 1} node_id: 1 -> 2, address: 00:00:00:00:00:01 -> 00:00:00:00:00:03, revision: 0 -> 1, `+
		`details: "{}" -> "{\"pxe_enabled\": true}", updated_at: null -> set`)
	_, err := edit(func(p *store.Port) { p.Address = address(2) })
	refuses(t, err, store.PortAddressTaken, store.Values{})
	_, err = edit(func(p *store.Port) { p.NodeUUID = named("e node") })
	if outcome(err) != store.NodeNotFound {
		t.Errorf("got %v", err)
	}
	lines(t, b.changed(func() { b.must(b.PortDelete(t.Context(), named("d port"))) }),
		fmt.Sprintf("- ports{id: 2, uuid: %s, node_id: 1, address: 00:00:00:00:00:02, revision: 0, details: \"{}\", created_at: set, updated_at: null}",
			named("d port")))
}

func TestPort_List_FilteredAndPaged(t *testing.T) {
	t.Parallel()
	b := setup(t, 1)
	for i, node := range []string{"a node", "b node", "c node"} {
		b.node(node, "enroll")
		for j := range 3 * (1 - i/2) { // the last has none
			b.port(fmt.Sprintf("%x port", 8-3*i-j), node, 3*j+i)
		}
	}
	all := func(filter store.PortFilter, page store.Page) (got string) {
		t.Helper()
		ports, err := b.PortList(t.Context(), filter, page)
		b.must(err)
		for _, one := range ports {
			got += one.UUID.String()[:1]
		}
		return got
	}
	for _, c := range []struct {
		filter store.PortFilter
		page   store.Page
		want   string
	}{
		{store.PortFilter{}, store.Page{}, "876543"},
		{store.PortFilter{}, store.Page{SortDir: "desc"}, "345678"},
		{store.PortFilter{}, store.Page{SortKey: "address"}, "857463"},
		{store.PortFilter{}, store.Page{SortKey: "address", SortDir: "desc"}, "364758"},
		{store.PortFilter{}, store.Page{SortKey: "address", SortDir: "desc", Marker: new(named("4 port"))}, "758"},
		{store.PortFilter{}, store.Page{SortKey: "uuid"}, "345678"},
		{store.PortFilter{}, store.Page{SortKey: "created_at"}, "876543"},
		{store.PortFilter{}, store.Page{SortKey: "updated_at"}, "876543"},
		{store.PortFilter{}, store.Page{SortKey: "physical_network", SortDir: "desc"}, "345678"},
		{store.PortFilter{}, store.Page{Marker: new(named("5 port"))}, "43"},
		{store.PortFilter{Node: new("b node")}, store.Page{}, "543"},
		{store.PortFilter{Node: new(named("b node").String())}, store.Page{Marker: new(named("5 port"))}, "43"},
		{store.PortFilter{Node: new("b node")}, store.Page{SortDir: "desc"}, "345"},
		{store.PortFilter{Node: new("c node")}, store.Page{}, ""},
		{store.PortFilter{Address: new(address(4))}, store.Page{}, "4"},
		{store.PortFilter{Address: new(address(4))}, store.Page{SortDir: "desc"}, "4"},
		{store.PortFilter{Address: new(address(4)), Node: new("a node")}, store.Page{}, ""},
		{store.PortFilter{Address: new(address(99))}, store.Page{}, ""},
	} {
		c.page.Limit = 10
		if got := all(c.filter, c.page); got != c.want {
			t.Errorf("%+v %+v: got %q, want %q", c.filter, c.page, got, c.want)
		}
	}
	if got := all(store.PortFilter{}, store.Page{Limit: 2}); got != "87" {
		t.Errorf("page of two = %q", got)
	}
	for _, key := range []string{"id", "address"} {
		_, err := b.PortList(t.Context(), store.PortFilter{Node: new("unknown")}, store.Page{Limit: 1, SortKey: key})
		refuses(t, err, store.NodeNotFound, store.Values{Node: "unknown"})
		unknown := uuid.New()
		_, err = b.PortList(t.Context(), store.PortFilter{}, store.Page{Limit: 1, SortKey: key, Marker: &unknown})
		refuses(t, err, store.PortNotFound, store.Values{Port: unknown.String()})
	}
}
