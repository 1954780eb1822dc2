package planfile

import (
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
)

// Inverse returns the undo plan of this plan for a host with this tree and these allocations; it changes neither. The
// undo plan has no hosts if the plan changes nothing.
//
// It restores providers (removed ones with their UUIDs), inventories, traits, aggregates, and the allocations of every
// consumer. It also moves consumers that claim from a destination after the reshape, if that has one source. If it has
// several, executing the undo plan reports these consumers, and the operator has to add them to its table.
func (p *Plan) Inverse(nodeName string, tree *client.ProviderTree, allocations client.Allocations) (*Plan, error) {
	if allocations == nil {
		allocations = client.Allocations{}
	}
	after := tree.Clone()
	done, err := p.apply(after, nodeName, allocations.Clone())
	if err != nil {
		return nil, err
	}
	undone := &Host{Root: done.root.Name, Providers: map[string]*Provider{}}
	u := &inverter{work: done, before: tree, host: undone}
	u.moves()
	u.providers()
	if len(undone.Moves)+len(undone.Providers)+len(undone.Remove) == 0 {
		return &Plan{}, nil
	}
	return &Plan{Hosts: []*Host{undone}}, nil
}

// inverter compares the tree before with the one after the work.
type inverter struct {
	work   *work
	before *client.ProviderTree
	host   *Host
}

// arrival is a class that moves brought to a provider.
type arrival struct {
	provider uuid.UUID
	class    string
}

// moves makes one move of each destination, back to all sources it came from.
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
		// With one destination and nothing that stays, all consumers present then move.
		if len(back.To) == 1 && back.Keep == nil {
			back.Consumers = Consumers{All: true}
		}
	}
}

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

// note adds what a consumer has to a table.
func (m *Move) note(consumer uuid.UUID, destination string, amount int64) {
	if m.Consumers.Each[consumer] == nil {
		m.Consumers.Each[consumer] = map[string]int64{}
	}
	m.Consumers.Each[consumer][destination] += amount
}

// providers removes those that came, creates those that went, and gives the others
// back the traits and aggregates they had.
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

func byUUID(tree *client.ProviderTree) map[uuid.UUID]client.Node {
	all := map[uuid.UUID]client.Node{}
	for _, node := range tree.Nodes() {
		all[node.UUID] = node
	}
	return all
}

// missing returns the items of the first list that are not in the second.
func missing[T comparable](wanted, present []T) []T {
	return slices.DeleteFunc(slices.Clone(wanted), func(one T) bool { return slices.Contains(present, one) })
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
