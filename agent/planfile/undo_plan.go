package planfile

import (
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
)

// Inverse returns the undo plan of this plan for the tree and the allocations of a host, without changing them. It
// returns a plan without hosts if the plan changes nothing.
//
// The undo plan restores providers (removed ones with their UUIDs), inventories, traits, aggregates, and the allocations
// of every consumer. It also moves consumers that claim from a destination after the reshape, if all inventory of this
// destination comes from one source. Otherwise its execution reports these consumers, and the operator adds them to its
// table.
func (p *Plan) Inverse(nodeName string, tree *client.ProviderTree, allocations client.Allocations) (*Plan, error) {
	if allocations == nil {
		allocations = client.Allocations{}
	}
	after := tree.Clone()
	done, err := p.apply(after, nodeName, allocations.Clone())
	if err != nil {
		return nil, err
	}
	undo := &Host{Root: done.root.Name, Providers: map[string]*Provider{}}
	u := &inverter{work: done, before: tree, host: undo}
	u.moves()
	u.providers()
	if len(undo.Moves)+len(undo.Providers)+len(undo.Remove) == 0 {
		return &Plan{}, nil
	}
	return &Plan{Hosts: []*Host{undo}}, nil
}

// inverter computes an undo plan from the trees before and after the work.
type inverter struct {
	work   *work
	before *client.ProviderTree
	host   *Host
}

// arrival identifies an inventory at a destination.
type arrival struct {
	provider uuid.UUID
	class    string
}

// moves adds one move from each destination to all its sources.
func (u *inverter) moves() {
	backwards := map[arrival]*Move{}
	for _, move := range u.work.pending {
		for _, to := range move.destinations {
			at := arrival{to.UUID, move.As}
			back := backwards[at]
			if back == nil {
				back = u.backward(at, to.Name, move.Class)
				backwards[at] = back
				u.host.Moves = append(u.host.Moves, back)
			}
			back.To[move.source.Name] = recordOf(move.source.Inventories[move.Class])
			for _, moved := range move.flows {
				if moved.to == to.UUID {
					back.note(moved.consumer, move.source.Name, moved.amount)
				}
			}
		}
	}
	for _, back := range backwards {
		// With one source and nothing to keep, all consumers of the destination move.
		if len(back.To) == 1 && back.Keep == nil {
			back.Consumers = Consumers{All: true}
		}
	}
}

// backward returns a move from a destination, without sources and consumers yet.
func (u *inverter) backward(at arrival, name, class string) *Move {
	back := &Move{
		Class: at.class, As: class, From: name, To: map[string]*Record{},
		Consumers: Consumers{Each: map[uuid.UUID]map[string]int64{}},
	}
	if was, err := u.before.Provider(at.provider.String()); err == nil {
		if record, had := was.Inventories[at.class]; had {
			back.Keep = recordOf(record)
		}
	}
	return back
}

// note adds an amount of a consumer to the table.
func (m *Move) note(consumer uuid.UUID, destination string, amount int64) {
	if m.Consumers.Each[consumer] == nil {
		m.Consumers.Each[consumer] = map[string]int64{}
	}
	m.Consumers.Each[consumer][destination] += amount
}

// providers adds the removal of created providers, the declarations of removed ones, and the previous traits and
// aggregates of the others.
func (u *inverter) providers() {
	was, is := byUUID(u.before), byUUID(u.work.tree)
	for _, node := range u.work.tree.Nodes() {
		old, existed := was[node.UUID]
		if !existed {
			u.host.Remove = append(u.host.Remove, node.Name)
			continue
		}
		change := &Provider{
			Traits: missing(old.Traits, node.Traits), WithoutTraits: missing(node.Traits, old.Traits),
			Aggregates: missing(old.Aggregates, node.Aggregates), WithoutAggregates: missing(node.Aggregates, old.Aggregates),
		}
		if len(change.Traits)+len(change.WithoutTraits)+len(change.Aggregates)+len(change.WithoutAggregates) > 0 {
			u.host.Providers[node.Name] = change
		}
	}
	for _, node := range u.before.Nodes() {
		if _, stays := is[node.UUID]; !stays {
			u.host.Providers[node.Name] = &Provider{
				Parent: was[node.Parent].Name, UUID: new(node.UUID), Traits: node.Traits, Aggregates: node.Aggregates,
			}
		}
	}
}

// byUUID returns the providers of a tree by UUID.
func byUUID(tree *client.ProviderTree) map[uuid.UUID]client.Node {
	all := map[uuid.UUID]client.Node{}
	for _, node := range tree.Nodes() {
		all[node.UUID] = node
	}
	return all
}

// missing returns the items of the first list that are not in the second.
func missing[T comparable](wanted, present []T) []T {
	return slices.DeleteFunc(slices.Clone(wanted), func(item T) bool { return slices.Contains(present, item) })
}

// Join returns one plan with the plans of several hosts. Two plans for one host are an error.
func Join(plans ...*Plan) (*Plan, error) {
	joined, seen := &Plan{}, map[string]bool{}
	for _, plan := range plans {
		for _, host := range plan.Hosts {
			if seen[host.Root] {
				return nil, fmt.Errorf("two plans are for %s", host.Root)
			}
			seen[host.Root] = true
			joined.Hosts = append(joined.Hosts, host)
		}
	}
	return joined, nil
}
