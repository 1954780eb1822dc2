package history

import (
	"fmt"
	"net/http"
	"strings"
)

// node is a provider of PUT /resource_providers/{provider}/tree.
type node struct {
	at     int
	parent int   // none for the root
	given  int64 // none: it is new
	// offers and traits are the new ones; nil: not in the request.
	offers *[len(classes)]Inventory
	traits *uint8
}

// replaceTree is PUT /resource_providers/{provider}/tree of one or two providers. Its embedded provider is that of the path.
type replaceTree struct {
	inTree
	nodes []node
}

// treeChange is what the response says of a provider.
type treeChange struct {
	// change is the change with its parts, such as "updated parent traits"; empty: not in the response.
	change     string
	generation int64
}

const unchanged = "unchanged"

func (w replaceTree) request(d *Partition) request {
	listed := []any{}
	for _, one := range w.nodes {
		made := map[string]any{
			"uuid": d.providers[one.at].String(), "name": inTree{at(one.at)}.name(d), "parent_provider_uuid": nil, "generation": nil,
		}
		if one.parent != none {
			made["parent_provider_uuid"] = d.providers[one.parent].String()
		}
		if one.given != none {
			made["generation"] = one.given
		}
		if one.offers != nil {
			made["inventories"] = records(*one.offers)
		}
		if one.traits != nil {
			made["traits"] = traitNames(*one.traits)
		}
		listed = append(listed, made)
	}
	return request{
		method: http.MethodPut, path: w.path(d, "/tree"), body: map[string]any{"resource_providers": listed}, extended: true,
	}
}

func (w replaceTree) read(d *Partition, raw []byte, seen *Observed) error {
	read, err := body[struct {
		Providers map[string]struct {
			Change     string
			Changed    []string
			Generation *int64
		} `json:"resource_providers"`
	}](raw)
	if err == nil && len(read.Providers) != len(w.nodes) {
		err = fmt.Errorf("%d providers, want %d, in %s", len(read.Providers), len(w.nodes), raw)
	}
	for id, of := range read.Providers {
		p := d.number(id)
		if w.node(p) == nil {
			return fmt.Errorf("unexpected provider %s", id)
		}
		seen.Tree[p] = treeChange{strings.Join(append([]string{of.Change}, of.Changed...), " "), none}
		if of.Generation != nil {
			seen.Tree[p].generation = *of.Generation
		}
	}
	return err
}

// node returns the node of a provider; nil for one that the request does not list.
func (w replaceTree) node(p int) *node {
	for i := range w.nodes {
		if w.nodes[i].at == p {
			return &w.nodes[i]
		}
	}
	return nil
}

// apply returns a provider after the request, and the change of it in the form of treeChange. It compares no generation.
func (n *node) apply(now Provider) (after Provider, change string) {
	after = now
	var changed []string
	if !now.Exists {
		after = Provider{Exists: true, Children: now.Children}
	} else if now.Parent != n.parent {
		changed = append(changed, "parent")
	}
	after.Parent = n.parent
	if n.offers != nil && after.Inventories != *n.offers {
		after.Inventories = *n.offers
		changed = append(changed, "inventories")
	}
	if n.traits != nil && after.Traits != *n.traits {
		after.Traits = *n.traits
		changed = append(changed, "traits")
	}
	if after.Inventories != now.Inventories || after.Traits != now.Traits {
		after.Generation++
	}
	switch {
	case !now.Exists:
		return after, "created"
	case changed == nil:
		return after, unchanged
	}
	return after, strings.Join(append([]string{"updated"}, changed...), " ")
}

// isCurrent reports whether the generation in the request is that of the provider.
func (n *node) isCurrent(now *Provider) bool {
	if !now.Exists {
		return n.given == none
	}
	return n.given == now.Generation
}

func (w replaceTree) place(p int, now Provider, a *Response) (Provider, bool) {
	one := w.node(p)
	switch a.Reason {
	case "":
		return w.replace(p, now, a)
	case ProviderNotFound:
		return now, p != w.at || one == nil && !now.Exists
	case NotRoot:
		return now, p != w.at || now.Exists && now.Parent != none
	case ProviderGenerationConflict:
		return now, p != a.Provider || one != nil && !one.isCurrent(&now)
	case InUse:
		return now, p != a.Provider || one != nil && one.offers != nil && now.inUseBut(*one.offers)
	}
	return now, a.Reason == RetriesExhausted || a.Reason == InOtherTree || a.Reason == NotInTree || a.Reason == Loop
}

// replace is place for a successful request. It need not have compared the generations if nothing differs.
func (w replaceTree) replace(p int, now Provider, a *Response) (Provider, bool) {
	for _, other := range w.nodes {
		switch {
		case other.parent == p && other.at != p:
			now.Children |= 1 << other.at
		default:
			now.Children &^= 1 << other.at
		}
	}
	one := w.node(p)
	if one == nil {
		return now, now.Exists || now.Children == 0
	}
	after, change := one.apply(now)
	if told := a.Observed.Tree[p]; told.change != "" {
		if told.change != change || told.generation != after.Generation {
			return now, false
		}
	}
	isCompared := change != unchanged
	for _, told := range a.Observed.Tree {
		isCompared = isCompared || told.change != "" && told.change != unchanged
	}
	return after, (!isCompared || one.isCurrent(&now)) && !after.inUseBut(after.Inventories)
}

func (w replaceTree) whole(now *State, a *Response) bool {
	if a.Reason == RetriesExhausted {
		return true
	}
	reason, p := w.judge(now)
	return a.Reason == reason && (p == none || a.Provider == p)
}

// judge returns the reason for which a sequential service refuses the request, and the provider that the error names if the
// order of the request determines it.
func (w replaceTree) judge(now *State) (Reason, int) {
	after, differs := *now, false
	for i := range w.nodes {
		one := &w.nodes[i]
		var change string
		after.Places[one.at], change = one.apply(now.Places[one.at])
		differs = differs || change != unchanged
	}
	switch {
	case !differs:
		return "", none
	case w.loops(w.listed()):
		return Loop, none // the server checks the request before the state
	case !now.Places[w.at].Exists && w.node(w.at) == nil:
		return ProviderNotFound, none
	case now.Places[w.at].Exists && now.Places[w.at].Parent != none:
		return NotRoot, none
	}
	for _, one := range w.nodes {
		if now.Places[one.at].Exists && now.root(one.at) != w.at {
			return InOtherTree, none
		}
	}
	for _, one := range w.nodes {
		if one.parent != none && w.node(one.parent) == nil && now.root(one.parent) != w.at {
			return NotInTree, none
		}
	}
	if w.loops(&after) {
		return Loop, none
	}
	for i := range w.nodes {
		if one := &w.nodes[i]; !one.isCurrent(&now.Places[one.at]) {
			return ProviderGenerationConflict, one.at
		}
	}
	for _, one := range w.nodes {
		if after.Places[one.at].inUseBut(after.Places[one.at].Inventories) {
			return InUse, one.at
		}
	}
	return "", none
}

// listed returns a state in which only the listed providers have parents.
func (w replaceTree) listed() *State {
	made := &State{}
	for p := range made.Places {
		made.Places[p] = Provider{Exists: true, Parent: none}
		if one := w.node(p); one != nil {
			made.Places[p].Parent = one.parent
		}
	}
	return made
}

// loops reports whether a listed provider is above itself.
func (w replaceTree) loops(in *State) bool {
	for _, one := range w.nodes {
		if one.parent != none && in.isBelow(one.parent, one.at) {
			return true
		}
	}
	return false
}

func (w replaceTree) String() string {
	text := fmt.Sprintf("replace the tree of place %d:", w.at)
	for _, one := range w.nodes {
		text += fmt.Sprintf(" place %d at %d below %d", one.at, one.given, one.parent)
		if one.offers != nil {
			text += fmt.Sprintf(" offers %v", *one.offers)
		}
		if one.traits != nil {
			text += fmt.Sprintf(" has traits %03b", *one.traits)
		}
	}
	return text
}
