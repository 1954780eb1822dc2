package planfile

import (
	"maps"
	"reflect"
	"slices"

	"github.com/google/uuid"
	"go.yaml.in/yaml/v3"
)

// host reads a document and checks what its parts say of each other.
func (r *reader) host(node *yaml.Node) *Host {
	node = resolve(node)
	before := len(r.wrong)
	found := r.fields(node, "a plan", "root", "moves", "providers", "remove")
	host := &Host{Root: r.name(found["root"])}
	if found["root"] == nil && len(r.wrong) == before {
		r.refuse(node, "has no root; write root: and the name or uuid of the host's provider")
	}
	if root := found["root"]; root != nil {
		if first := r.used[host.Root]; first > 0 {
			r.refuse(root, "has a plan already, in line %d; write one document for each host", first)
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
	if len(r.wrong) > before {
		return host // what the parts say of each other would only confuse
	}
	if len(host.Moves)+len(host.Providers)+len(host.Remove) == 0 {
		r.refuse(node, "does nothing; write moves, providers or remove")
	}
	r.checkMoves(host, moves)
	r.checkProviders(host, found["providers"])
	r.checkRemoved(host, removed)
	return host
}

func (r *reader) move(node *yaml.Node, root string) *Move {
	before := len(r.wrong)
	found := r.fields(node, "a move", "class", "as", "from", "keep", "to", "consumers")
	if found["class"] == nil && len(r.wrong) == before {
		r.refuse(node, "has no class; write which resource class moves")
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
		for _, one := range r.entries(found["to"], "a mapping of providers to inventory records") {
			move.To[r.name(one.key)] = r.record(one.value)
		}
	} else {
		move.To[move.From] = nil
	}
	if found["consumers"] != nil {
		move.Consumers = r.consumers(found["consumers"])
	}
	if len(r.wrong) == before {
		r.checkMove(move, node, found)
	}
	return move
}

// consumers reads one of the four forms.
func (r *reader) consumers(node *yaml.Node) (found Consumers) {
	switch {
	case node.Kind == yaml.ScalarNode:
		found.All, found.Spread = node.Value == "all", node.Value == "spread"
		if !found.All && !found.Spread {
			r.refuse(node, "does not say where consumers go; write all, spread, a list of uuids, or a table")
		}
	case node.Kind == yaml.SequenceNode:
		found.Only = r.uuids(node, "a consumer")
	default:
		found.Each = map[uuid.UUID]map[string]int64{}
		for _, one := range r.entries(node, "a table of consumers") {
			consumer := r.uuid(one.key, "a consumer")
			if found.Each[consumer] != nil && consumer != uuid.Nil {
				r.refuse(one.key, "is in the table already, spelled differently; write it once")
			}
			shares := map[string]int64{}
			for _, share := range r.entries(one.value, "what a consumer has at each destination") {
				shares[r.name(share.key)] = int64(r.integer(share.value, 1))
			}
			if len(shares) == 0 && one.value.Kind == yaml.MappingNode {
				r.refuse(one.value, "is empty; write a destination and an amount, or leave the consumer out")
			}
			found.Each[consumer] = shares
		}
	}
	return found
}

// checkMove checks what the keys of one move say of each other.
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
		r.refuse(where("to"), "has no destination; write at least one provider")
	case inPlace && move.As == move.Class:
		r.refuse(where("to"), "moves %s from %s to itself; name another provider, or another class with as", move.Class, move.From)
	case found["to"] == nil && move.Keep != nil:
		r.refuse(where("keep"), "keeps a part, so what becomes of the rest is not known; write to")
	}
	if one := move.Consumers; (one.All || len(one.Only) > 0) && len(move.To) > 1 {
		r.refuse(where("consumers"), "does not say to which of %d destinations; write a table, or spread", len(move.To))
	}
	if where("consumers").Kind != yaml.MappingNode || found["consumers"] == nil {
		return
	}
	for pair := range slices.Chunk(found["consumers"].Content, 2) {
		for share := range slices.Chunk(resolve(pair[1]).Content, 2) {
			if _, known := move.To[share[0].Value]; !known {
				r.refuse(share[0], "is not a destination of this move; write one of those below to, spelled as there")
			}
		}
	}
}

// place is where a class is.
type place struct{ provider, class string }

// checkMoves checks what moves say of each other: a plan is carried out at once,
// so nothing moves twice.
func (r *reader) checkMoves(host *Host, nodes []*yaml.Node) {
	sources, destinations := map[place]int{}, map[place]*Move{}
	for i, move := range host.Moves {
		from := place{move.From, move.Class}
		if first := sources[from]; first > 0 {
			r.refuse(nodes[i], "moves %s of %s, which the move in line %d does already; write them as one", move.Class, move.From, first)
		}
		sources[from] = nodes[i].Line
	}
	for i, move := range host.Moves {
		for name, record := range move.To {
			to := place{name, move.As}
			if line := sources[to]; line > 0 {
				r.refuse(nodes[i], "moves %s to %s, from where the move in line %d takes it; say in one move where it goes", move.As, name, line)
			}
			other := destinations[to]
			switch {
			case other == nil:
				destinations[to] = move
			case other.Class != move.Class:
				r.refuse(nodes[i], "makes %s of %s out of %s, and another move out of %s; such a merge cannot be undone", move.As, name, move.Class, other.Class)
			case !reflect.DeepEqual(other.To[name], record):
				r.refuse(nodes[i], "gives %s another inventory of %s than another move; write the same in both", name, move.As)
			}
		}
	}
}

// providers reads what providers need beside a name.
func (r *reader) providers(node *yaml.Node) map[string]*Provider {
	all := map[string]*Provider{}
	for _, one := range r.entries(node, "a mapping of providers") {
		found := r.fields(one.value, "a provider", "parent", "uuid", "traits", "without_traits", "aggregates", "without_aggregates")
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
				r.refuse(item, "is among the traits and taken away; decide on one")
			}
			provider.WithoutTraits = append(provider.WithoutTraits, trait)
		}
		all[r.name(one.key)] = provider
	}
	return all
}

// checkProviders finds parents that stand below themselves.
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
			r.refuse(node, "has %s below itself; correct the parents", name)
			return
		}
	}
}

// checkRemoved finds providers that are to be there and not to be there.
func (r *reader) checkRemoved(host *Host, nodes []*yaml.Node) {
	for i, name := range host.Remove {
		wanted := slices.ContainsFunc(host.Moves, func(move *Move) bool {
			_, destination := move.To[name]
			return destination || move.From == name && move.Keep != nil
		})
		switch {
		case name == host.Root:
			r.refuse(nodes[i], "is the host itself, which a plan never removes")
		case wanted || host.Providers[name] != nil:
			r.refuse(nodes[i], "is needed by another part of the plan; leave it out of one of them")
		case slices.Index(host.Remove, name) < i:
			r.refuse(nodes[i], "is in the list twice; write it once")
		}
	}
}
