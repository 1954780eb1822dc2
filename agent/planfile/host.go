package planfile

import (
	"maps"
	"reflect"
	"slices"

	"github.com/google/uuid"
	"go.yaml.in/yaml/v3"
)

// host reads a document and checks its parts against each other.
func (r *reader) host(node *yaml.Node) *Host {
	node = resolve(node)
	before := len(r.errs)
	found := r.fields(node, "a plan", "root", "moves", "providers", "remove")
	host := &Host{Root: r.name(found["root"])}
	if found["root"] == nil && len(r.errs) == before {
		r.addError(node, "has no root; write root: and the name or UUID of the host's provider")
	}
	if root := found["root"]; root != nil {
		if first := r.used[host.Root]; first > 0 {
			r.addError(root, "already has a plan in line %d; write one document per host", first)
		}
		r.used[host.Root] = root.Line
	}
	moves := r.items(found["moves"], "moves")
	for _, item := range moves {
		host.Moves = append(host.Moves, r.move(item, host.Root))
	}
	if found["providers"] != nil {
		host.Providers = r.providers(found["providers"])
	}
	removed := r.items(found["remove"], "providers")
	for _, item := range removed {
		host.Remove = append(host.Remove, r.name(item))
	}
	if len(r.errs) > before {
		return host // errors between the parts would be misleading
	}
	if len(host.Moves)+len(host.Providers)+len(host.Remove) == 0 {
		r.addError(node, "has no effect; write moves, providers or remove")
	}
	r.checkMoves(host, moves)
	r.checkProviders(host, found["providers"])
	r.checkRemoved(host, removed)
	return host
}

// move reads a move. root is the default of from.
func (r *reader) move(node *yaml.Node, root string) *Move {
	before := len(r.errs)
	found := r.fields(node, "a move", "class", "as", "from", "keep", "to", "consumers")
	if found["class"] == nil && len(r.errs) == before {
		r.addError(node, "has no class; write the resource class that moves")
	}
	move := &Move{
		Class: r.symbol(found["class"], "resource class"), As: r.symbol(found["as"], "resource class"),
		From: r.name(found["from"]), Keep: r.record(found["keep"]), To: map[string]*Record{},
	}
	if move.As == "" {
		move.As = move.Class
	}
	if move.From == "" {
		move.From = root
	}
	if found["to"] != nil {
		for _, entry := range r.entries(found["to"], "a mapping of providers to inventory records") {
			move.To[r.name(entry.key)] = r.record(entry.value)
		}
	} else {
		move.To[move.From] = nil
	}
	if found["consumers"] != nil {
		move.Consumers = r.consumers(found["consumers"])
	}
	if len(r.errs) == before {
		r.checkMove(move, node, found)
	}
	return move
}

// consumers reads one of the four forms of consumers.
func (r *reader) consumers(node *yaml.Node) (found Consumers) {
	switch {
	case node.Kind == yaml.ScalarNode:
		found.All, found.Spread = node.Value == "all", node.Value == "spread"
		if !found.All && !found.Spread {
			r.addError(node, "is not a valid value for consumers; write all, spread, a list of UUIDs, or a table")
		}
	case node.Kind == yaml.SequenceNode:
		found.Only = r.uuids(node, "a consumer")
	default:
		found.Each = map[uuid.UUID]map[string]int64{}
		for _, entry := range r.entries(node, "a table of consumers") {
			consumer := r.uuid(entry.key, "a consumer")
			if found.Each[consumer] != nil && consumer != uuid.Nil {
				r.addError(entry.key, "is already in the table in another spelling; write it once")
			}
			shares := map[string]int64{}
			for _, share := range r.entries(entry.value, "a mapping of destinations to amounts") {
				shares[r.name(share.key)] = int64(r.integer(share.value, 1))
			}
			if len(shares) == 0 && entry.value.Kind == yaml.MappingNode {
				r.addError(entry.value, "is empty; write a destination and an amount, or omit the consumer")
			}
			found.Each[consumer] = shares
		}
	}
	return found
}

// checkMove checks the keys of one move against each other.
func (r *reader) checkMove(move *Move, node *yaml.Node, found map[string]*yaml.Node) {
	where := func(key string) *yaml.Node {
		if found[key] != nil {
			return found[key]
		}
		return node
	}
	_, inPlace := move.To[move.From]
	switch {
	case len(move.To) == 0:
		r.addError(where("to"), "has no destination; write at least one provider")
	case inPlace && move.As == move.Class:
		r.addError(where("to"), "moves %s from %s to itself; name another provider, or another class with as", move.Class, move.From)
	case found["to"] == nil && move.Keep != nil:
		r.addError(where("keep"), "keeps a part, so the rest needs a destination; write to")
	}
	if consumers := move.Consumers; (consumers.All || len(consumers.Only) > 0) && len(move.To) > 1 {
		r.addError(where("consumers"), "is ambiguous for %d destinations; write a table, or spread", len(move.To))
	}
	if where("consumers").Kind != yaml.MappingNode || found["consumers"] == nil {
		return
	}
	for pair := range slices.Chunk(found["consumers"].Content, 2) {
		for share := range slices.Chunk(resolve(pair[1]).Content, 2) {
			if _, known := move.To[share[0].Value]; !known {
				r.addError(share[0], "is not a destination of this move; write a key of to, in the same spelling")
			}
		}
	}
}

// inventoryKey identifies an inventory.
type inventoryKey struct{ provider, class string }

// checkMoves checks the moves against each other: the plan is applied at once, so an inventory can move only once.
func (r *reader) checkMoves(host *Host, nodes []*yaml.Node) {
	sources, destinations := map[inventoryKey]int{}, map[inventoryKey]*Move{}
	for i, move := range host.Moves {
		from := inventoryKey{move.From, move.Class}
		if first := sources[from]; first > 0 {
			r.addError(nodes[i], "moves %s of %s, like the move in line %d; write one move", move.Class, move.From, first)
		}
		sources[from] = nodes[i].Line
	}
	for i, move := range host.Moves {
		for name, record := range move.To {
			to := inventoryKey{name, move.As}
			if line := sources[to]; line > 0 {
				r.addError(nodes[i], "moves %s to %s, which is the source of the move in line %d; write one move to the final destination", move.As, name, line)
			}
			other := destinations[to]
			switch {
			case other == nil:
				destinations[to] = move
			case other.Class != move.Class:
				r.addError(nodes[i], "creates %s of %s from %s, but another move creates it from %s; such a merge cannot be undone", move.As, name, move.Class, other.Class)
			case !reflect.DeepEqual(other.To[name], record):
				r.addError(nodes[i], "sets another inventory on %s for %s than another move; write the same inventory in both", name, move.As)
			}
		}
	}
}

// providers reads the declarations of providers.
func (r *reader) providers(node *yaml.Node) map[string]*Provider {
	all := map[string]*Provider{}
	for _, entry := range r.entries(node, "a mapping of providers") {
		found := r.fields(entry.value, "a provider", "parent", "uuid", "traits", "without_traits", "aggregates", "without_aggregates")
		provider := &Provider{
			Parent:     r.name(found["parent"]),
			Aggregates: r.uuids(found["aggregates"], "an aggregate"), WithoutAggregates: r.uuids(found["without_aggregates"], "an aggregate"),
		}
		if found["uuid"] != nil {
			provider.UUID = new(r.uuid(found["uuid"], "a provider"))
		}
		for _, item := range r.items(found["traits"], "traits") {
			provider.Traits = append(provider.Traits, r.symbol(item, "trait"))
		}
		for _, item := range r.items(found["without_traits"], "traits") {
			trait := r.symbol(item, "trait")
			if slices.Contains(provider.Traits, trait) {
				r.addError(item, "is in both traits and without_traits; remove it from one")
			}
			provider.WithoutTraits = append(provider.WithoutTraits, trait)
		}
		all[r.name(entry.key)] = provider
	}
	return all
}

// checkProviders finds parent cycles.
func (r *reader) checkProviders(host *Host, node *yaml.Node) {
	for _, name := range slices.Sorted(maps.Keys(host.Providers)) {
		at := name
		for range len(host.Providers) + 1 {
			provider := host.Providers[at]
			if provider == nil || provider.Parent == "" {
				at = ""
				break
			}
			at = provider.Parent
		}
		if at != "" {
			r.addError(node, "contains a parent cycle with %s; correct the parents", name)
			return
		}
	}
}

// checkRemoved finds providers in remove that the plan needs.
func (r *reader) checkRemoved(host *Host, nodes []*yaml.Node) {
	for i, name := range host.Remove {
		wanted := slices.ContainsFunc(host.Moves, func(move *Move) bool {
			_, destination := move.To[name]
			return destination || move.From == name && move.Keep != nil
		})
		switch {
		case name == host.Root:
			r.addError(nodes[i], "is the root, which a plan cannot remove")
		case wanted || host.Providers[name] != nil:
			r.addError(nodes[i], "is both in remove and in another part of the plan; remove it from one")
		case slices.Index(host.Remove, name) < i:
			r.addError(nodes[i], "is in the list twice; write it once")
		}
	}
}
