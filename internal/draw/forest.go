package draw

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
)

// Forest is a set of provider trees. Nodes may have any order: children are drawn below their parents, in the order of
// CompareNames. A node whose parent is not in the forest is drawn as a root.
type Forest struct {
	Nodes []client.Node
	// Usages maps providers to their usages. A provider without an entry is drawn without usages.
	Usages map[uuid.UUID]client.Resources
	// Consumers maps roots of trees to their consumers. JSON writes them; a root without an entry has no such member.
	Consumers map[uuid.UUID][]Consumer
	// Allocations is read by Compare only, and may be nil.
	Allocations client.Allocations
	// At is the moment of a forest as it was, which JSON writes; nil: now.
	At *Moment
}

// Moment is a moment of the record of changes: the newest event that counts, and its time.
type Moment struct {
	Time  time.Time `json:"time"`
	Index int64     `json:"index"`
}

// Consumer is a consumer of a tree, with all its allocations.
type Consumer struct {
	UUID                    uuid.UUID
	Type, ProjectID, UserID string
	Generation              *int64
	// SharingOnly is true for a consumer that uses only sharing providers of other trees.
	SharingOnly bool
	// Lease is nil for a consumer without one, and if the service shows none.
	Lease       *client.Lease
	Allocations []ConsumerAllocation
}

// ConsumerAllocation is what a consumer has on a provider; Name is empty if the name is unknown.
type ConsumerAllocation struct {
	Provider  uuid.UUID
	Name      string
	Resources client.Resources
}

// treeNode is a node with its children.
type treeNode struct {
	client.Node
	// usages is nil if unknown.
	usages   client.Resources
	children []*treeNode
	// detached is set if the node has a parent that is not drawn above it.
	detached bool
}

// trees returns the roots of the trees. Each node appears exactly once, even if parents are missing or form a parent
// cycle, which no server returns.
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
	childrenOf := make(map[uuid.UUID][]*treeNode, len(all))
	var roots []*treeNode
	for _, b := range sorted {
		if _, known := all[b.Parent]; known && b.Parent != b.UUID {
			childrenOf[b.Parent] = append(childrenOf[b.Parent], b)
			continue
		}
		b.detached = b.Parent != uuid.Nil
		roots = append(roots, b)
	}
	placed := make(map[*treeNode]bool, len(all))
	for _, root := range roots {
		attachChildren(root, childrenOf, placed)
	}
	for _, b := range sorted {
		if !placed[b] {
			b.detached = true
			roots = append(roots, b)
			attachChildren(b, childrenOf, placed)
		}
	}
	return roots
}

// attachChildren adds the descendants of a node that are not placed yet.
func attachChildren(b *treeNode, childrenOf map[uuid.UUID][]*treeNode, placed map[*treeNode]bool) {
	placed[b] = true
	for _, child := range childrenOf[b.UUID] {
		if !placed[child] {
			b.children = append(b.children, child)
			attachChildren(child, childrenOf, placed)
		}
	}
}

// walk calls visit for a node and its descendants, parents before children.
func (b *treeNode) walk(depth int, visit func(b *treeNode, depth int)) {
	visit(b, depth)
	for _, child := range b.children {
		child.walk(depth+1, visit)
	}
}

// isSharing reports whether the node is a sharing provider.
func (b *treeNode) isSharing() bool { return slices.Contains(b.Traits, "MISC_SHARES_VIA_AGGREGATE") }

// CompareNames compares names in natural order: runs of digits are compared by their value, so that numa2 comes before
// numa10.
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

// sorted returns a sorted copy without duplicates, so that the output does not depend on the order of the input.
func sorted(texts []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(texts)))
}

// sortedIDs is like sorted, for UUIDs.
func sortedIDs(ids []uuid.UUID) []uuid.UUID {
	copied := slices.Clone(ids)
	slices.SortFunc(copied, func(x, y uuid.UUID) int { return slices.Compare(x[:], y[:]) })
	return slices.Compact(copied)
}
