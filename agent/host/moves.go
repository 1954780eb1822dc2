package host

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
)

// move is an inventory that the desired tree has on another provider or as another class.
type move struct {
	class string
	// from is the provider that has it now.
	from client.Node
	// to lists the possible destinations of its allocations.
	to []destination
}

// destination is a provider and class for allocations.
type destination struct {
	at    *desiredProvider
	class string
}

// moves returns the moves from the current to the desired tree, without regard to allocations. Inventory that the host
// no longer has is not a move: the server denies its deletion while a consumer uses it. Inventory of devices never
// moves, because a device keeps its provider.
func (e *editor) moves() []move {
	var found []move
	for _, node := range e.before {
		kind, owned := e.previousKind(node)
		if !owned || kind == kindDevice {
			continue
		}
		wanted := e.wanted.find(node.Name)
		for class := range node.Inventories {
			if class == classDisk || !e.wanted.manages(kind, class) || e.wanted.notDiscovered(class) {
				continue
			}
			kept := false
			if wanted != nil {
				_, kept = wanted.inventories[class]
			}
			if to := e.destinations(class); len(to) > 0 && (!kept || e.addsDedicated(class)) {
				found = append(found, move{class: class, from: node, to: to})
			}
		}
	}
	slices.SortFunc(found, func(a, b move) int {
		return strings.Compare(a.from.Name+" "+a.class, b.from.Name+" "+b.class)
	})
	return found
}

// addsDedicated reports whether the class is VCPU and the first CPUs become dedicated. Guests that are pinned to them
// have allocations of VCPU, which must become PCPU.
func (e *editor) addsDedicated(class string) bool {
	if class != classVCPU || len(e.wanted.providersOf(classPCPU)) == 0 {
		return false
	}
	return !slices.ContainsFunc(e.before, func(node client.Node) bool {
		_, owned := e.previousKind(node)
		_, has := node.Inventories[classPCPU]
		return owned && has
	})
}

// destinations returns the possible destinations of allocations of a class. If the desired tree has only one of VCPU and
// PCPU, that class replaces the other.
func (e *editor) destinations(class string) []destination {
	classes := []string{class}
	other, isCPU := otherCPU(class)
	switch {
	case !isCPU:
	case len(e.wanted.providersOf(class)) == 0:
		classes = []string{other}
	case e.addsDedicated(class):
		classes = append(classes, other)
	}
	var all []destination
	for _, provider := range e.wanted.providersOf(classes...) {
		for _, class := range classes {
			if _, has := provider.inventories[class]; has {
				all = append(all, destination{at: provider, class: class})
			}
		}
	}
	return all
}

// otherCPU returns PCPU for VCPU and VCPU for PCPU; false for other classes.
func otherCPU(class string) (string, bool) {
	switch class {
	case classVCPU:
		return classPCPU, true
	case classPCPU:
		return classVCPU, true
	}
	return "", false
}

// describe returns the moves as text.
func describe(moves []move) string {
	var sentences []string
	for _, move := range moves {
		var to []string
		for _, destination := range move.to {
			text := destination.at.name
			if destination.class != move.class {
				text += " as " + destination.class
			}
			to = append(to, text)
		}
		sentences = append(sentences, fmt.Sprintf("%s of %s must move to %s", move.class, move.from.Name, strings.Join(to, ", ")))
	}
	return strings.Join(sentences, "; ")
}

// findMove returns the move of a class from a provider.
func findMove(moves []move, from uuid.UUID, class string) (move, bool) {
	at := slices.IndexFunc(moves, func(item move) bool { return item.from.UUID == from && item.class == class })
	if at < 0 {
		return move{}, false
	}
	return moves[at], true
}
