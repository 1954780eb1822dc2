package host

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
)

// move is inventory that stands where the wanted tree does not have it, and that
// the wanted tree has elsewhere or under another class.
type move struct {
	class string
	// from is the provider that has it now.
	from client.Node
	// to are the places and classes that what is allocated of it may go to.
	to []destination
}

type destination struct {
	at    *place
	class string
}

// moves depends on the tree alone. Inventory without a destination is no move: it is gone from the machine, and the
// service rejects its deletion while a consumer uses it. Inventory of devices never moves, since a device keeps its
// provider.
func (e *editor) moves() []move {
	var found []move
	for _, node := range e.before {
		kind, ours := e.previousKind(node)
		if !ours || kind == kindDevice {
			continue
		}
		wanted := e.wanted.find(node.Name)
		for class := range node.Inventories {
			if class == classDisk || !e.wanted.manages(kind, class) || e.wanted.notDiscovered(class) {
				continue
			}
			stays := false
			if wanted != nil {
				_, stays = wanted.inventories[class]
			}
			if to := e.destinations(class); len(to) > 0 && (!stays || e.divides(class)) {
				found = append(found, move{class: class, from: node, to: to})
			}
		}
	}
	slices.SortFunc(found, func(a, b move) int {
		return strings.Compare(a.from.Name+" "+a.class, b.from.Name+" "+b.class)
	})
	return found
}

// divides tells whether the first CPUs become dedicated while others stay shared:
// guests that are pinned to the former have VCPU and must get PCPU.
func (e *editor) divides(class string) bool {
	if class != classVCPU || len(e.wanted.providersOf(classPCPU)) == 0 {
		return false
	}
	return !slices.ContainsFunc(e.before, func(node client.Node) bool {
		_, ours := e.previousKind(node)
		_, has := node.Inventories[classPCPU]
		return ours && has
	})
}

// destinations are where allocations of a class may go. Where one kind of CPU is
// wanted nowhere any longer, the other one takes its place.
func (e *editor) destinations(class string) []destination {
	classes := []string{class}
	other, isCPU := otherCPU(class)
	switch {
	case !isCPU:
	case len(e.wanted.providersOf(class)) == 0:
		classes = []string{other}
	case e.divides(class):
		classes = append(classes, other)
	}
	var all []destination
	for _, one := range e.wanted.providersOf(classes...) {
		for _, class := range classes {
			if _, has := one.inventories[class]; has {
				all = append(all, destination{at: one, class: class})
			}
		}
	}
	return all
}

func otherCPU(class string) (string, bool) {
	switch class {
	case classVCPU:
		return classPCPU, true
	case classPCPU:
		return classVCPU, true
	}
	return "", false
}

// describe says what moves, for a log.
func describe(moves []move) string {
	var sentences []string
	for _, one := range moves {
		var to []string
		for _, destination := range one.to {
			text := destination.at.name
			if destination.class != one.class {
				text += " as " + destination.class
			}
			to = append(to, text)
		}
		sentences = append(sentences, fmt.Sprintf("%s of %s has to go to %s", one.class, one.from.Name, strings.Join(to, ", ")))
	}
	return strings.Join(sentences, "; ")
}

// find is the move of a class from a provider.
func findMove(moves []move, from uuid.UUID, class string) (move, bool) {
	at := slices.IndexFunc(moves, func(one move) bool { return one.from.UUID == from && one.class == class })
	if at < 0 {
		return move{}, false
	}
	return moves[at], true
}
