package store_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/berthd/berth/server/data/store"
)

// nodeMachine runs the same operations on nodes and node allocations in the database and in memory. The model does not
// predict which of several matching nodes a node allocation gets: it checks the result against all of them, and adopts
// it.
type nodeMachine struct {
	*bundle
	tally                          *worldTally
	names, classes, traits, titles []string
	nodes                          map[string]*modelNode // by name
	asked                          map[uuid.UUID]*modelAsked
	number, count                  int
}

type modelNode struct {
	class       string
	traits      map[string]bool
	maintenance bool
	holder      uuid.UUID // the instance_uuid; zero: none
}

type modelAsked struct {
	title, class string
	traits       []string
	candidates   []string
	state        string // allocating, active or error
}

func newNodeMachine(b *bundle, number int, tally *worldTally) *nodeMachine {
	m := &nodeMachine{
		bundle: b, tally: tally, number: number, nodes: map[string]*modelNode{}, asked: map[uuid.UUID]*modelAsked{},
		traits: []string{"CUSTOM_A", "CUSTOM_B"},
	}
	for i := range 5 {
		m.names = append(m.names, fmt.Sprintf("%x-node-%d", i, number))
	}
	for i := range 2 {
		m.classes = append(m.classes, fmt.Sprintf("class-%d-%d", i, number))
		m.titles = append(m.titles, fmt.Sprintf("title-%d-%d", i, number))
	}
	m.titles = append(m.titles, m.names[0]) // a node of this name is preferred
	return m
}

func (m *nodeMachine) agree(t *rapid.T, operation string, got error, want store.Rule) {
	t.Helper()
	same(t, got, want)
	m.tally.note(operation, want)
}

// fits reports whether a node matches a node allocation.
func (m *nodeMachine) fits(name string, asked *modelAsked) bool {
	of := m.nodes[name]
	return of != nil && of.holder == uuid.Nil && !of.maintenance && of.class == asked.class &&
		(len(asked.candidates) == 0 || slices.Contains(asked.candidates, name)) &&
		!slices.ContainsFunc(asked.traits, func(trait string) bool { return !of.traits[trait] })
}

func (m *nodeMachine) name(t *rapid.T) string {
	return anyOf(t, slices.Sorted(maps.Keys(m.nodes)), m.names, "node")
}

func (m *nodeMachine) someTraits(t *rapid.T) []string {
	return m.traits[:rapid.IntRange(0, len(m.traits)).Draw(t, "traits")]
}

// class returns the first class, except in rare cases.
func (m *nodeMachine) class(t *rapid.T) string {
	if rarely(t, "another class") {
		return m.classes[1]
	}
	return m.classes[0]
}

// enrol creates an allocatable node.
func (m *nodeMachine) enrol(ctx context.Context, name, class string) error {
	wanted := bareNode(name, "available")
	wanted.ResourceClass, wanted.PowerState = &class, new("power off")
	_, err := m.NodeCreate(ctx, wanted)
	if err == nil {
		m.nodes[name] = &modelNode{class: class, traits: map[string]bool{}}
	}
	return err
}

// one draws an existing node allocation, or one that does not exist.
func (m *nodeMachine) one(t *rapid.T) uuid.UUID {
	return anyOf(t, slices.SortedFunc(maps.Keys(m.asked), compareUUIDs), []uuid.UUID{named(fmt.Sprintf("f unknown %d", m.number))}, "allocation")
}

func (m *nodeMachine) actions(ctx context.Context) map[string]func(*rapid.T) {
	all := m.nodeActions(ctx)
	maps.Copy(all, m.allocationActions(ctx))
	return all
}

func (m *nodeMachine) nodeActions(ctx context.Context) map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"enrol": func(t *rapid.T) {
			name := rapid.SampledFrom(m.names).Draw(t, "name")
			there := m.nodes[name] != nil
			err := m.enrol(ctx, name, m.class(t))
			if there {
				if rule := outcome(err); rule != store.NodeNameTaken && rule != store.NodeUUIDTaken {
					t.Fatalf("enrolled a node twice: %v", err)
				}
				m.tally.note("enrol", store.NodeNameTaken)
				return
			}
			m.agree(t, "enrol", err, "")
		},
		"node traits": func(t *rapid.T) {
			name, traits := m.name(t), m.someTraits(t)
			want := store.NodeNotFound
			if of := m.nodes[name]; of != nil {
				want, of.traits = "", map[string]bool{}
				for _, trait := range traits {
					of.traits[trait] = true
				}
			}
			m.agree(t, "node traits", m.NodeTraitReplace(ctx, name, traits), want)
		},
		"maintenance": func(t *rapid.T) {
			name, on := m.name(t), rapid.Bool().Draw(t, "on")
			want := store.NodeNotFound
			if of := m.nodes[name]; of != nil {
				want, of.maintenance = "", on
			}
			m.agree(t, "maintenance", m.NodeMaintenance(ctx, name, on, nil), want)
		},
		"delete node": func(t *rapid.T) {
			name := m.name(t)
			of, want := m.nodes[name], store.Rule("")
			switch {
			case of == nil:
				want = store.NodeNotFound
			case of.holder != uuid.Nil && !of.maintenance:
				want = store.NodeAssociated
			default:
				delete(m.asked, of.holder)
				delete(m.nodes, name)
			}
			m.agree(t, "delete node", m.NodeDelete(ctx, name), want)
		},
	}
}

func (m *nodeMachine) allocationActions(ctx context.Context) map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"ask":         func(t *rapid.T) { m.ask(ctx, t) },
		"ask again":   func(t *rapid.T) { m.ask(ctx, t) },
		"decide":      func(t *rapid.T) { m.decide(ctx, t) },
		"decide more": func(t *rapid.T) { m.decide(ctx, t) },
		"release": func(t *rapid.T) {
			id := m.one(t)
			want := store.NodeAllocationNotFound
			if m.asked[id] != nil {
				want = ""
				m.forget(id)
			}
			m.agree(t, "release", m.NodeAllocationDelete(ctx, id.String()), want)
		},
		"release node": func(t *rapid.T) {
			name := m.name(t)
			of, want := m.nodes[name], store.Rule("")
			switch {
			case of == nil:
				want = store.NodeNotFound
			case of.holder == uuid.Nil:
				want = store.NodeAllocationNotFound
			default:
				m.forget(of.holder)
			}
			m.agree(t, "release node", m.NodeAllocationDeleteByNode(ctx, name), want)
		},
	}
}

func (m *nodeMachine) forget(id uuid.UUID) {
	delete(m.asked, id)
	for _, of := range m.nodes {
		if of.holder == id {
			of.holder = uuid.Nil
		}
	}
}

// ask creates a node allocation, which is not decided yet.
func (m *nodeMachine) ask(ctx context.Context, t *rapid.T) {
	m.count++
	id, asked := named(fmt.Sprintf("%x asked %d of %d", m.count%16, m.count, m.number)), &modelAsked{
		class: m.class(t), state: "allocating",
	}
	if rapid.IntRange(0, 2).Draw(t, "with traits") == 0 {
		asked.traits = m.someTraits(t)
	}
	request := store.NodeAllocationRequest{UUID: &id, ResourceClass: asked.class, Traits: asked.traits}
	want := store.Rule("")
	if rapid.IntRange(0, 2).Draw(t, "titled") == 0 {
		asked.title = rapid.SampledFrom(m.titles).Draw(t, "title")
		request.Name = &asked.title
		for _, other := range m.asked {
			if other.title == asked.title {
				want = store.NodeAllocationNameTaken
			}
		}
	}
	if rapid.IntRange(0, 2).Draw(t, "choosy") == 0 {
		asked.candidates = []string{m.name(t)}
		if request.CandidateNodes = asked.candidates; m.nodes[asked.candidates[0]] == nil {
			want = store.NodeAllocationCandidates
		}
	}
	_, err := m.NodeAllocationCreate(ctx, request, "me")
	if m.agree(t, "ask", err, want); want == "" {
		m.asked[id] = asked
	}
}

// decide has a node allocation decided, and checks whether the result is possible.
func (m *nodeMachine) decide(ctx context.Context, t *rapid.T) {
	pending := slices.SortedFunc(maps.Keys(m.asked), compareUUIDs)
	pending = slices.DeleteFunc(pending, func(id uuid.UUID) bool { return m.asked[id].state != "allocating" })
	id := anyOf(t, pending, []uuid.UUID{m.one(t)}, "pending")
	asked := m.asked[id]
	_, err := m.NodeAllocationProcess(ctx, id, "me")
	m.must(err)
	if asked == nil || asked.state != "allocating" {
		m.tally.note("decide", "nothing")
		return
	}
	var fit []string
	for name := range m.nodes {
		if m.fits(name, asked) {
			fit = append(fit, name)
		}
	}
	got, err := m.NodeAllocationShow(ctx, id.String())
	m.must(err)
	if got.NodeUUID == nil {
		if got.State != "error" || len(fit) > 0 {
			t.Fatalf("state = %s (%v), with matching nodes %v", got.State, got.LastError, fit)
		}
		asked.state = "error"
		m.tally.note("decide", "none fits")
		return
	}
	at := slices.IndexFunc(fit, func(name string) bool { return named(name) == *got.NodeUUID })
	if at < 0 || slices.Contains(fit, asked.title) && fit[at] != asked.title {
		t.Fatalf("node allocation %q has node %s, with matching nodes %v", asked.title, got.NodeUUID, fit)
	}
	asked.state, m.nodes[fit[at]].holder = "active", id
	m.tally.note("decide", "")
}

// compare reads all nodes and node allocations.
func (m *nodeMachine) compare(ctx context.Context, t *rapid.T) {
	for _, name := range m.names {
		got, err := m.NodeShow(ctx, name)
		of := m.nodes[name]
		if of == nil {
			same(t, err, store.NodeNotFound)
			continue
		}
		m.must(err)
		var holder uuid.UUID
		if got.InstanceUUID != nil {
			holder = *got.InstanceUUID
		}
		if holder != of.holder || got.Maintenance != of.maintenance || !slices.Equal(got.Traits, slices.Sorted(maps.Keys(of.traits))) {
			t.Fatalf("node %s: got %+v, want %+v", name, got, of)
		}
	}
	for id, asked := range m.asked {
		if got, err := m.NodeAllocationShow(ctx, id.String()); err != nil || got.State != asked.state {
			t.Fatalf("allocation %s: got %s, %v, want %s", id, got.State, err, asked.state)
		}
	}
}

// TestModel_RandomNodeOperations_MatchStore does so for nodes and their instances, with both backends.
func TestModel_RandomNodeOperations_MatchStore(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, b *bundle) {
		tally, number := newWorldTally(), 0
		recorded(t, b)
		rapid.Check(t, func(t *rapid.T) {
			number++
			tally.begun()
			m := newNodeMachine(b, number, tally)
			for _, name := range m.names[:3] {
				m.must(m.enrol(b.t.Context(), name, m.classes[0]))
			}
			t.Repeat(m.actions(b.t.Context()))
			m.compare(b.t.Context(), t)
		})
		t.Logf("sequences: %d\naccepted: %v\nrejected: %v", tally.sequences, tally.accepted, tally.refused)
		if tally.sequences >= 100 && tally.accepted["decide"] < tally.sequences/10 {
			t.Error("assigned nodes: too few for this test")
		}
	})
}
