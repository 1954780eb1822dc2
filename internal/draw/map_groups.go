package draw

import (
	"fmt"

	"github.com/google/uuid"

	api "github.com/berthd/berth/gen/client"
)

// MapGroup is the trees of an aggregate on a map; of no aggregate if ID is uuid.Nil. Used and Capacity are their sums.
type MapGroup struct {
	ID             uuid.UUID
	Squares        []LinkedSquare
	Used, Capacity float64
}

// MapGroups returns the squares of the sums of trees by the aggregates of their roots. A tree in two aggregates is in both
// groups. href returns the address of a tree.
func MapGroups(sums []api.ClassCapacity, aggregates map[uuid.UUID][]uuid.UUID, href func(root uuid.UUID) string) []*MapGroup {
	groups := map[uuid.UUID]*MapGroup{}
	var all []*MapGroup
	for _, sum := range sums {
		of := aggregates[sum.Tree.UUID]
		if len(of) == 0 {
			of = []uuid.UUID{uuid.Nil}
		}
		for _, id := range of {
			if groups[id] == nil {
				groups[id] = &MapGroup{ID: id}
				all = append(all, groups[id])
			}
			group := groups[id]
			group.Squares = append(group.Squares, squareOf(sum, href(sum.Tree.UUID)))
			group.Used, group.Capacity = group.Used+sum.Used, group.Capacity+sum.Capacity
		}
	}
	return all
}

// Fragment returns the squares as an SVG fragment, as links or, for many trees, as pictures alone.
func (g *MapGroup) Fragment(columns int, linked bool) string {
	if linked {
		return LinkedMap(g.Squares, columns)
	}
	plain := make([]Square, len(g.Squares))
	for i, square := range g.Squares {
		plain[i] = square.Square
	}
	return Map(plain, columns, "")
}

// squareOf returns the square of the sum of a tree. A tree with a provider over its capacity is over capacity.
func squareOf(sum api.ClassCapacity, href string) LinkedSquare {
	square := LinkedSquare{Square: NoInventory, Href: href, Title: sum.Tree.Name + ": no capacity"}
	if sum.Capacity > 0 {
		square.Square, square.Title = Square(sum.Used/sum.Capacity), fmt.Sprintf("%s: %.1f %%", sum.Tree.Name, sum.Used/sum.Capacity*100)
	}
	if sum.OverCapacity > 0 {
		square.Square, square.Title = 2, square.Title+", over capacity"
	}
	return square
}
