package draw

import (
	"cmp"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
)

// Forest is what is drawn: any number of trees. Its nodes may come in any order;
// children are drawn below their parents, sorted by name, numbers within names by
// value. A node whose parent is not there is drawn as a root.
type Forest struct {
	Nodes []client.Node
	// Usages are what consumers have, by provider. A provider that is missing here
	// is drawn without.
	Usages map[uuid.UUID]client.Resources
	// Allocations are used by Compare only, and may be nil.
	Allocations client.Allocations
}

// treeNode is one node with what stands below it.
type treeNode struct {
	client.Node
	// usages is nil where they are not known.
	usages   client.Resources
	children []*treeNode
	// cut: its parent is not in the picture.
	cut bool
}

// trees arranges the nodes. Every node is in exactly one place of the result, also
// if parents are missing or form a parent cycle, which no server returns.
func (f Forest) trees() []*treeNode {
	all := make(map[uuid.UUID]*treeNode, len(f.Nodes))
	for _, node := range f.Nodes {
		all[node.UUID] = &treeNode{Node: node, usages: f.Usages[node.UUID]}
	}
	sorted := make([]*treeNode, 0, len(all))
	for _, b := range all {
		sorted = append(sorted, b)
	}
	slices.SortFunc(sorted, func(x, y *treeNode) int {
		return cmp.Or(CompareNames(x.Name, y.Name), slices.Compare(x.UUID[:], y.UUID[:]))
	})
	below := make(map[uuid.UUID][]*treeNode, len(all))
	var roots []*treeNode
	for _, b := range sorted {
		if _, known := all[b.Parent]; known && b.Parent != b.UUID {
			below[b.Parent] = append(below[b.Parent], b)
			continue
		}
		b.cut = b.Parent != uuid.Nil
		roots = append(roots, b)
	}
	placed := make(map[*treeNode]bool, len(all))
	for _, root := range roots {
		place(root, below, placed)
	}
	for _, b := range sorted {
		if !placed[b] {
			b.cut = true
			roots = append(roots, b)
			place(b, below, placed)
		}
	}
	return roots
}

func place(b *treeNode, below map[uuid.UUID][]*treeNode, placed map[*treeNode]bool) {
	placed[b] = true
	for _, child := range below[b.UUID] {
		if !placed[child] {
			b.children = append(b.children, child)
			place(child, below, placed)
		}
	}
}

// walk visits top-down.
func (b *treeNode) walk(depth int, visit func(b *treeNode, depth int)) {
	visit(b, depth)
	for _, child := range b.children {
		child.walk(depth+1, visit)
	}
}

// shares tells whether the members of its aggregates may use what it has.
func (b *treeNode) shares() bool { return slices.Contains(b.Traits, "MISC_SHARES_VIA_AGGREGATE") }

// CompareNames orders names as people do. It puts numa2 before numa10: runs of digits count by their value.
func CompareNames(x, y string) int {
	all, other := x, y
	for x != "" && y != "" {
		digitsOfX, digitsOfY := leadingDigits(x), leadingDigits(y)
		if digitsOfX != "" && digitsOfY != "" {
			plainX, plainY := strings.TrimLeft(digitsOfX, "0"), strings.TrimLeft(digitsOfY, "0")
			if order := cmp.Or(cmp.Compare(len(plainX), len(plainY)), cmp.Compare(plainX, plainY)); order != 0 {
				return order
			}
			x, y = x[len(digitsOfX):], y[len(digitsOfY):]
			continue
		}
		if x[0] != y[0] {
			return cmp.Compare(x[0], y[0])
		}
		x, y = x[1:], y[1:]
	}
	return cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(all, other))
}

func leadingDigits(text string) string {
	return text[:len(text)-len(strings.TrimLeft(text, "0123456789"))]
}

// sorted returns a sorted copy without repetition, so that pictures do not depend
// on the order in which the caller collected the providers.
func sorted(texts []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(texts)))
}

func sortedIDs(ids []uuid.UUID) []uuid.UUID {
	copied := slices.Clone(ids)
	slices.SortFunc(copied, func(x, y uuid.UUID) int { return slices.Compare(x[:], y[:]) })
	return slices.Compact(copied)
}
