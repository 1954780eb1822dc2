package store_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/data/store"
)

// backends runs a test with both backends: nodes alone, and nodes that are providers too. Node allocations have the
// same results.
func backends(t *testing.T, test func(t *testing.T, b *bundle)) {
	for name, placement := range map[string]bool{"nodes alone": false, "nodes as providers": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, 8)
			b.must(b.SetBaremetalBackend(t.Context(), placement))
			b.must(b.ConductorRegister(t.Context(), "me", []string{"fake-hardware"}))
			t.Cleanup(func() { b.auditNodes() })
			test(t, b)
		})
	}
}

// Inconsistencies between nodes, their node allocations and their providers, one sentence per row. It ignores claims of
// other consumers.
const nodeInconsistencies = `
SELECT format('allocation %s has node %s, which has instance %s', allocation.uuid, node.uuid, node.instance_uuid)
FROM node_allocations AS allocation JOIN nodes AS node ON node.id = allocation.node_id
WHERE node.instance_uuid IS DISTINCT FROM allocation.uuid
UNION ALL
SELECT format('allocation %s is %s and conductor %s has to decide it', uuid, state, conductor_id)
FROM node_allocations WHERE state <> 'allocating' AND conductor_id IS NOT NULL
UNION ALL
SELECT format('allocation %s is %s with last error %s', uuid, state, last_error)
FROM node_allocations WHERE (state = 'error') <> (last_error IS NOT NULL)
UNION ALL
SELECT format('node %s has provider %s with traits %s and units %s', node.uuid, provider.name, has.traits, has.units)
FROM nodes AS node LEFT JOIN resource_providers AS provider ON provider.uuid = node.uuid
CROSS JOIN LATERAL (
	SELECT ARRAY(SELECT trait.name FROM provider_traits AS present JOIN traits AS trait ON trait.id = present.trait_id
			WHERE present.provider_id = provider.id ORDER BY trait.name) AS traits,
		ARRAY(SELECT present.trait FROM node_traits AS present WHERE present.node_id = node.id ORDER BY present.trait) AS wanted_traits,
		ARRAY(SELECT format('%s %s %s', class.name, unit.total, unit.reserved)
			FROM inventories AS unit JOIN resource_classes AS class ON class.id = unit.class_id
			WHERE unit.provider_id = provider.id AND NOT (unit.used > 0 AND class.name <> node_provider_class_name(node.resource_class))
			ORDER BY class.name) AS units,
		CASE WHEN node.resource_class IS NULL THEN '{}' ELSE ARRAY[format('%s 1 %s', node_provider_class_name(node.resource_class),
			CASE WHEN node.provision_state = 'available' AND node.instance_uuid IS NULL AND NOT node.maintenance
				AND node.power_state <> 'error' THEN 0 ELSE 1 END)] END AS wanted_units
) AS has
WHERE (SELECT placement FROM baremetal_backend)
	AND (provider.name IS DISTINCT FROM node.uuid::text OR has.traits <> has.wanted_traits OR has.units <> has.wanted_units)
UNION ALL
SELECT format('allocation %s has node %s and no claim', allocation.uuid, node.uuid)
FROM node_allocations AS allocation JOIN nodes AS node ON node.id = allocation.node_id
WHERE (SELECT placement FROM baremetal_backend) AND NOT EXISTS (
	SELECT FROM consumers AS consumer JOIN allocations AS taken ON taken.consumer_id = consumer.id
	JOIN resource_providers AS provider ON provider.id = taken.provider_id
	WHERE consumer.uuid = allocation.uuid AND provider.uuid = node.uuid)`

func (b *bundle) auditNodes() {
	b.t.Helper()
	for _, sentence := range b.texts(nodeInconsistencies) {
		b.t.Errorf("audit: %s", sentence)
	}
}

// texts returns the rows of one column.
func (b *bundle) texts(query string, arguments ...any) []string {
	b.t.Helper()
	rows, err := b.db.Pool.Query(context.WithoutCancel(b.t.Context()), query, arguments...)
	b.must(err)
	found := []string{}
	for rows.Next() {
		var text string
		b.must(rows.Scan(&text))
		found = append(found, text)
	}
	b.must(rows.Err())
	return found
}

// free creates an allocatable node.
func (b *bundle) free(name, class string, traits ...string) store.Node {
	b.t.Helper()
	return b.freeOf(name, class, nil, traits...)
}

func (b *bundle) freeOf(name, class string, owner *string, traits ...string) store.Node {
	b.t.Helper()
	wanted := bareNode(name, "available")
	wanted.ResourceClass, wanted.PowerState, wanted.Owner = &class, new("power off"), owner
	made, err := b.NodeCreate(b.t.Context(), wanted)
	b.must(err)
	if len(traits) > 0 {
		b.must(b.NodeTraitReplace(b.t.Context(), name, traits))
	}
	return made
}

// asked creates a node allocation.
func (b *bundle) asked(request store.NodeAllocationRequest) store.NodeAllocation {
	b.t.Helper()
	made, err := b.NodeAllocationCreate(b.t.Context(), request, "me")
	b.must(err)
	return made
}

// processed decides a node allocation and returns the result.
func (b *bundle) processed(ctx context.Context, id uuid.UUID, conductor string) (store.NodeAllocation, error) {
	if _, err := b.NodeAllocationProcess(ctx, id, conductor); err != nil {
		return store.NodeAllocation{}, err
	}
	return b.NodeAllocationShow(ctx, id.String())
}

// decided creates a node allocation and has it decided.
func (b *bundle) decided(request store.NodeAllocationRequest) store.NodeAllocation {
	b.t.Helper()
	done, err := b.processed(b.t.Context(), b.asked(request).UUID, "me")
	b.must(err)
	return done
}

// gets returns the node of a node allocation, or its error.
func gets(allocation store.NodeAllocation) string {
	switch {
	case allocation.NodeUUID != nil:
		return allocation.NodeUUID.String()
	case allocation.LastError != nil:
		return *allocation.LastError
	default:
		return allocation.State
	}
}

func failed(allocation store.NodeAllocation, reason string) string {
	return fmt.Sprintf("Failed to process allocation %s: %s.", allocation.UUID, reason)
}

func TestNodeAllocation_CreateThenProcess_AssignsNode(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, b *bundle) {
		node := b.free("a node", "gold", "CUSTOM_A", "CUSTOM_B")
		wanted := uuid.New()
		asked := b.asked(store.NodeAllocationRequest{
			UUID: &wanted, Name: new("one"), ResourceClass: "gold", Traits: []string{"CUSTOM_A"},
			CandidateNodes: []string{"a node", node.UUID.String()}, Extra: json.RawMessage(`{"a": 1}`),
		})
		shown, err := b.NodeAllocationShow(t.Context(), "one")
		b.must(err)
		for name, one := range map[string]store.NodeAllocation{"returned": asked, "shown": shown} {
			if one.UUID != wanted || *one.Name != "one" || one.State != "allocating" || one.NodeUUID != nil || one.UpdatedAt != nil ||
				!slices.Equal(one.CandidateNodes, []uuid.UUID{node.UUID, node.UUID}) || *one.Conductor != "me" || string(one.Extra) != `{"a": 1}` {
				t.Errorf("%s: %+v", name, one)
			}
		}
		if again, err := b.processed(t.Context(), wanted, "another"); err != nil || again.State != "allocating" {
			t.Errorf("processed by another conductor: %+v, %v", again, err)
		}
		mine, err := b.NodeAllocationListPending(t.Context(), "me")
		if err != nil || !slices.Equal(mine, []uuid.UUID{wanted}) {
			t.Errorf("pending: %v, %v", mine, err)
		}
		done, err := b.processed(t.Context(), wanted, "me")
		b.must(err)
		if gets(done) != node.UUID.String() || done.State != "active" || done.Conductor != nil || done.UpdatedAt == nil {
			t.Errorf("got %+v", done)
		}
		taken, err := b.NodeShow(t.Context(), "a node")
		b.must(err)
		if *taken.InstanceUUID != wanted || *taken.AllocationUUID != wanted || taken.ProvisionState != "available" ||
			string(taken.Details["instance_info"]) != `{"traits": ["CUSTOM_A"]}` || taken.Revision != node.Revision+1 {
			t.Errorf("got %+v", taken)
		}
		found, err := b.NodeAllocationShowByNode(t.Context(), "a node")
		if err != nil || found.UUID != wanted {
			t.Errorf("by node: %+v, %v", found, err)
		}
	})
}

func TestNodeAllocation_NoSuitableNode_ErrorNamesReason(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, b *bundle) {
		b.free("0 plain", "gold")
		b.free("1 with traits", "gold", "CUSTOM_A")
		b.freeOf("2 owned", "silver", new("ada"))
		off := b.free("3 off", "bronze")
		b.must(b.NodeMaintenance(t.Context(), "3 off", true, nil))
		for reason, request := range map[string]store.NodeAllocationRequest{
			"no available nodes match the resource class copper":                            {ResourceClass: "copper"},
			"no available nodes match the resource class Gold":                              {ResourceClass: "Gold"},
			"no available nodes match the resource class bronze":                            {ResourceClass: "bronze"},
			"no available nodes match the resource class silver":                            {ResourceClass: "silver", Owner: new("bob")},
			"none of the requested nodes are available and match the resource class bronze": {ResourceClass: "bronze", CandidateNodes: []string{off.UUID.String()}},
			"none of the requested nodes are available and match the resource class gold":   {ResourceClass: "gold", CandidateNodes: []string{"3 off"}},
			"no suitable nodes have the requested traits CUSTOM_A, HW_CPU_X86_AVX":          {ResourceClass: "gold", Traits: []string{"CUSTOM_A", "HW_CPU_X86_AVX"}},
			"no suitable nodes have the requested traits CUSTOM_UNUSED":                     {ResourceClass: "gold", Traits: []string{"CUSTOM_UNUSED"}},
		} {
			done := b.decided(request)
			if got, want := gets(done), failed(done, reason); got != want || done.State != "error" || done.Conductor != nil {
				t.Errorf("got %s, want %s", got, want)
			}
		}
		asked := b.asked(store.NodeAllocationRequest{ResourceClass: "gold", Traits: []string{"CUSTOM_UNUSED"}, Extended: true})
		done, err := b.processed(t.Context(), asked.UUID, "me")
		b.must(err)
		if got, want := gets(done), failed(done, "no suitable nodes have the requested traits CUSTOM_UNUSED (nodes of the class: 2; "+
			"available, powered, without instance and maintenance: 2; of these allowed by owner and candidates: 2; with the traits: 0; "+
			"not claimed through Placement: 0)"); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

func TestNodeAllocation_Constraints_OnlyMatchingNodeAssigned(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, b *bundle) {
		fits := func(name string, request store.NodeAllocationRequest) {
			t.Helper()
			if got, want := gets(b.decided(request)), named(name).String(); got != want {
				t.Errorf("%s: got %s, want %s", name, got, want)
			}
		}
		b.free("0 plain", "gold")
		b.free("1 more traits", "gold", "CUSTOM_A", "CUSTOM_B", "CUSTOM_C")
		b.free("2 one trait", "gold", "CUSTOM_B")
		b.freeOf("3 ada's", "gold", new("ada"))
		b.free("4 candidate", "gold")
		b.free("5 namesake", "gold")
		fits("1 more traits", store.NodeAllocationRequest{ResourceClass: "gold", Traits: []string{"CUSTOM_C", "CUSTOM_A", "CUSTOM_A"}})
		fits("2 one trait", store.NodeAllocationRequest{ResourceClass: "gold", Traits: []string{"CUSTOM_B"}})
		fits("3 ada's", store.NodeAllocationRequest{ResourceClass: "gold", Owner: new("ada")})
		fits("4 candidate", store.NodeAllocationRequest{ResourceClass: "gold", CandidateNodes: []string{"4 candidate", "2 one trait"}})
		fits("5 namesake", store.NodeAllocationRequest{ResourceClass: "gold", Name: new("5 namesake")})
		fits("0 plain", store.NodeAllocationRequest{ResourceClass: "gold", Name: new("2 one trait")})
	})
}

// The free nodes are read in pages, from a random position.
func TestNodeAllocation_OneMatchAmongMany_Found(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, b *bundle) {
		for i := range 80 {
			owner := map[bool]string{true: "ada", false: "bob"}[i == 40]
			b.freeOf(fmt.Sprintf("%x node %d", i%16, i), "gold", &owner)
		}
		for range 4 {
			done := b.decided(store.NodeAllocationRequest{ResourceClass: "gold", Owner: new("ada")})
			if got, want := gets(done), named("8 node 40").String(); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
			b.must(b.NodeAllocationDelete(t.Context(), done.UUID.String()))
		}
	})
}

func TestNodeAllocation_CreateConflict_Rejected(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, b *bundle) {
		other := bareNode("a node", "active")
		other.InstanceUUID = new(named("f instance"))
		_, err := b.NodeCreate(t.Context(), other)
		b.must(err)
		first := b.asked(store.NodeAllocationRequest{Name: new("taken"), ResourceClass: "gold"})
		for rule, request := range map[store.Rule]store.NodeAllocationRequest{
			store.NodeAllocationUUIDTaken:  {UUID: &first.UUID},
			store.NodeAllocationNameTaken:  {Name: new("taken")},
			store.NodeAllocationInstance:   {UUID: other.InstanceUUID},
			store.NodeAllocationCandidates: {CandidateNodes: []string{"a node", "x", named("7").String()}},
		} {
			request.ResourceClass = "gold"
			_, err := b.NodeAllocationCreate(t.Context(), request, "me")
			if got := outcome(err); got != rule {
				t.Errorf("got %s, want %s", got, rule)
			}
			if rule == store.NodeAllocationCandidates && store.AsRuleViolation(err).Values.Node != "x, "+named("7").String() {
				t.Errorf("got %+v", store.AsRuleViolation(err).Values)
			}
		}
		if left := b.texts("SELECT uuid::text FROM node_allocations"); len(left) != 1 {
			t.Errorf("left are %v", left)
		}
	})
}

// The instance is set after the creation of the node allocation, so only the decision detects it.
func TestNodeAllocation_InstanceUUIDSetMeanwhile_EndsInError(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, b *bundle) {
		b.free("a node", "gold")
		b.free("b node", "gold")
		asked := b.asked(store.NodeAllocationRequest{ResourceClass: "gold"})
		_, err := b.NodeUpdate(t.Context(), "a node", func(node *store.Node) error { node.InstanceUUID = &asked.UUID; return nil })
		b.must(err)
		done, err := b.processed(t.Context(), asked.UUID, "me")
		b.must(err)
		want := failed(done, fmt.Sprintf("Unexpected exception during allocation: Instance %s is already associated with a node", asked.UUID))
		if got := gets(done); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if left := b.texts("SELECT uuid::text FROM consumers"); len(left) != 0 {
			t.Errorf("left are consumers %v", left)
		}
	})
}

func TestNodeAllocation_BackfillActiveNode_CreatesAllocation(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, b *bundle) {
		b.free("a node", "gold", "CUSTOM_A")
		instance := uuid.New()
		_, err := b.NodeUpdate(t.Context(), "a node", func(node *store.Node) error { node.InstanceUUID = &instance; return nil })
		b.must(err)
		refused := func(rule store.Rule, request store.NodeAllocationRequest) {
			t.Helper()
			if _, err := b.NodeAllocationCreate(t.Context(), request, "me"); outcome(err) != rule {
				t.Errorf("got %v, want %s", err, rule)
			}
		}
		refused(store.BackfillState, store.NodeAllocationRequest{Node: new("a node")})
		b.execute("UPDATE nodes SET revision = revision + 1, provision_state = 'active'")
		b.free("b node", "gold")
		other := uuid.New()
		refused(store.NodeNotFound, store.NodeAllocationRequest{Node: new("c node")})
		refused(store.NodeAssociated, store.NodeAllocationRequest{Node: new("a node"), UUID: &other})
		refused(store.BackfillClass, store.NodeAllocationRequest{Node: new("a node"), ResourceClass: "silver"})
		refused(store.BackfillTraits, store.NodeAllocationRequest{Node: new("a node"), Traits: []string{"CUSTOM_A", "CUSTOM_B"}})
		refused(store.BackfillCandidates, store.NodeAllocationRequest{Node: new("a node"), CandidateNodes: []string{"b node"}})
		if left := b.texts("SELECT uuid::text FROM node_allocations"); len(left) != 0 {
			t.Errorf("left are %v", left)
		}

		made := b.asked(store.NodeAllocationRequest{Node: new("a node"), Name: new("late"), Traits: []string{"CUSTOM_A"}, Owner: new("ada")})
		if made.UUID != instance || made.State != "active" || gets(made) != named("a node").String() || made.ResourceClass != "gold" {
			t.Errorf("got %+v", made)
		}
		refused(store.NodeAllocationUUIDTaken, store.NodeAllocationRequest{Node: new("a node")})

		b.execute("UPDATE nodes SET revision = revision + 1, provision_state = 'active' WHERE name = 'b node'")
		refused(store.NodeAllocationInstance, store.NodeAllocationRequest{Node: new("b node"), UUID: &instance})
		made = b.asked(store.NodeAllocationRequest{Node: new("b node"), UUID: &other})
		if made.UUID != other || gets(made) != named("b node").String() {
			t.Errorf("got %+v", made)
		}
	})
}

func TestNodeAllocation_Delete_ChecksNodeState(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, b *bundle) {
		for i, c := range []struct {
			state       string
			target      *string
			maintenance bool
			want        store.Rule
		}{
			{state: "available"},
			{state: "active", want: store.NodeAllocationNodeActive},
			{state: "active", maintenance: true},
			{state: "deploying", target: new("active"), want: store.NodeAllocationNodeBusy},
			{state: "deploying", target: new("active"), maintenance: true},
			{state: "deploy failed", target: new("active")},
			{state: "clean failed", target: new("available")},
			{state: "cleaning", target: new("available"), want: store.NodeAllocationNodeBusy},
			{state: "manageable"},
		} {
			name := fmt.Sprintf("%x node", i)
			b.free(name, name)
			done := b.decided(store.NodeAllocationRequest{ResourceClass: name})
			b.execute("UPDATE nodes SET revision = revision + 1, provision_state = $1, target_provision_state = $2, maintenance = $3 WHERE name = $4",
				c.state, c.target, c.maintenance, name)
			var err error
			if i%2 == 0 {
				err = b.NodeAllocationDelete(t.Context(), done.UUID.String())
			} else {
				err = b.NodeAllocationDeleteByNode(t.Context(), name)
			}
			if got := outcome(err); got != c.want {
				t.Errorf("%+v: got %q", c, got)
			}
			if c.want != "" {
				refuses(t, err, c.want, store.Values{Node: named(name).String(), Allocation: done.UUID.String(), State: c.state})
				continue
			}
			node, err := b.NodeShow(t.Context(), name)
			b.must(err)
			if node.InstanceUUID != nil || node.AllocationUUID != nil || string(node.Details["instance_info"]) != `{"traits": []}` {
				t.Errorf("%+v: left is %+v", c, node)
			}
			refuses(t, b.NodeAllocationDelete(t.Context(), done.UUID.String()), store.NodeAllocationNotFound,
				store.Values{Allocation: done.UUID.String()})
			refuses(t, b.NodeAllocationDeleteByNode(t.Context(), name), store.NodeAllocationNotFound,
				store.Values{Node: named(name).String()})
		}
		refuses(t, b.NodeAllocationDeleteByNode(t.Context(), "unknown"), store.NodeNotFound, store.Values{Node: "unknown"})
	})
}

func TestNodeAllocation_DeleteWithoutNode_Succeeds(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, b *bundle) {
		b.asked(store.NodeAllocationRequest{Name: new("waits"), ResourceClass: "gold"})
		done := b.decided(store.NodeAllocationRequest{Name: new("failed"), ResourceClass: "gold"})
		if done.State != "error" {
			t.Fatalf("got %+v", done)
		}
		b.must(b.NodeAllocationDelete(t.Context(), "waits"))
		b.must(b.NodeAllocationDelete(t.Context(), "failed"))
		b.asked(store.NodeAllocationRequest{Name: new("failed"), ResourceClass: "gold"})
	})
}

func TestNodeAllocation_UpdateConflict_CallbackRerun(t *testing.T) {
	t.Parallel()
	b := setup(t, 4)
	b.must(b.ConductorRegister(t.Context(), "me", nil))
	made := b.asked(store.NodeAllocationRequest{Name: new("old"), ResourceClass: "gold"})
	turns := 0
	got, err := b.NodeAllocationUpdate(t.Context(), "old", func(one *store.NodeAllocation) error {
		if turns++; turns == 1 { // another transaction is faster
			_, err := b.processed(t.Context(), made.UUID, "me")
			b.must(err)
		}
		one.Name, one.Extra = new("new"), json.RawMessage(`{"a": "b"}`)
		return nil
	})
	if err != nil || turns != 2 || got.State != "error" || *got.Name != "new" {
		t.Errorf("calls of the change = %d, got %+v, %v", turns, got, err)
	}
	same, err := b.NodeAllocationUpdate(t.Context(), "new", func(*store.NodeAllocation) error { return nil })
	if err != nil || !same.UpdatedAt.Equal(*got.UpdatedAt) || same.Revision != got.Revision {
		t.Errorf("nothing changed, got %+v, %v", same, err)
	}
	b.asked(store.NodeAllocationRequest{Name: new("other"), ResourceClass: "gold"})
	rename := func(name string) func(*store.NodeAllocation) error {
		return func(one *store.NodeAllocation) error { one.Name = &name; return nil }
	}
	if _, err := b.NodeAllocationUpdate(t.Context(), "new", rename("other")); outcome(err) != store.NodeAllocationNameTaken {
		t.Errorf("got %v", err)
	}
	_, err = b.NodeAllocationUpdate(t.Context(), "old", rename("older"))
	refuses(t, err, store.NodeAllocationNotFound, store.Values{Allocation: "old"})
}

func TestNodeAllocation_List_FilteredAndPagedInAnyOrder(t *testing.T) {
	t.Parallel()
	b := setup(t, 4)
	b.must(b.ConductorRegister(t.Context(), "me", nil))
	b.free("a node", "gold")
	b.asked(store.NodeAllocationRequest{Name: new("c"), ResourceClass: "gold", Owner: new("ada")})
	b.asked(store.NodeAllocationRequest{ResourceClass: "silver"})
	b.asked(store.NodeAllocationRequest{Name: new("a"), ResourceClass: "gold"})
	b.decided(store.NodeAllocationRequest{Name: new("b"), ResourceClass: "gold"})
	b.decided(store.NodeAllocationRequest{Name: new("d"), ResourceClass: "gold"})
	ids := map[string]uuid.UUID{}
	list := func(filter store.NodeAllocationFilter, page store.Page) []string {
		t.Helper()
		page.Limit = max(page.Limit, 1000*(1-min(page.Limit, 1)))
		found, err := b.NodeAllocationList(t.Context(), filter, page)
		b.must(err)
		names := []string{}
		for _, one := range found {
			name := "-"
			if one.Name != nil {
				name = *one.Name
			}
			names = append(names, name)
			ids[name] = one.UUID
		}
		return names
	}
	every := store.NodeAllocationFilter{}
	lines(t, list(every, store.Page{}), "c", "-", "a", "b", "d")
	after := func(name string) *uuid.UUID { return new(ids[name]) }
	lines(t, list(every, store.Page{Limit: 2}), "c", "-")
	lines(t, list(every, store.Page{Limit: 2, Marker: after("-")}), "a", "b")
	lines(t, list(every, store.Page{Marker: after("d")}))
	lines(t, list(every, store.Page{SortKey: "name"}), "-", "a", "b", "c", "d")
	lines(t, list(every, store.Page{SortKey: "name", SortDir: "desc", Marker: after("c"), Limit: 2}), "b", "a")
	lines(t, list(every, store.Page{SortKey: "id", SortDir: "desc"}), "d", "b", "a", "-", "c")
	lines(t, list(every, store.Page{SortKey: "updated_at"}), "c", "-", "a", "b", "d")
	for _, page := range []store.Page{{}, {SortKey: "name"}} {
		lines(t, list(store.NodeAllocationFilter{Node: new("a node"), State: new("active")}, page), "b")
		lines(t, list(store.NodeAllocationFilter{Node: new("a node"), State: new("error")}, page))
		lines(t, list(store.NodeAllocationFilter{State: new("error")}, page), "d")
		lines(t, list(store.NodeAllocationFilter{ResourceClass: new("silver")}, page), "-")
		lines(t, list(store.NodeAllocationFilter{Owner: new("ada")}, page), "c")
	}
	_, err := b.NodeAllocationList(t.Context(), store.NodeAllocationFilter{Node: new("x")}, store.Page{Limit: 1})
	refuses(t, err, store.NodeNotFound, store.Values{Node: "x"})
	_, err = b.NodeAllocationList(t.Context(), every, store.Page{Limit: 1, Marker: new(named("7"))})
	refuses(t, err, store.NodeAllocationNotFound, store.Values{Allocation: named("7").String()})
}

func TestNodeAllocation_Created_NotifiesConductors(t *testing.T) {
	t.Parallel()
	b := setup(t, 4)
	var made store.NodeAllocation
	heard := b.notified("berth_node_allocation_pending", func() {
		made = b.asked(store.NodeAllocationRequest{ResourceClass: "gold"})
	})
	lines(t, heard, made.UUID.String())
	heard = b.notified("berth_node_allocation_pending", func() {
		b.asked(store.NodeAllocationRequest{ResourceClass: "gold", Quiet: true})
	})
	lines(t, heard)
}
