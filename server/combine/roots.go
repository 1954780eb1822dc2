package combine

import "slices"

// roots keeps track of which trees give resources, and through which provider, when
// each may do so through one only.
type roots struct {
	// matter: some tree has two providers.
	matter bool
	// of a provider: the place of one provider, the same for all of a tree. What
	// follows is by that place.
	of []int32
	// takers counts the wants that take from a tree, owner is who gives.
	takers, owner []int32

	sorted []int32
}

// reset finds the trees of these providers.
func (r *roots) reset(providers []Provider, oneOfATree bool) {
	r.matter = false
	if !oneOfATree || len(providers) < 2 {
		return
	}
	r.sorted = r.sorted[:0]
	for i := range providers {
		r.sorted = append(r.sorted, int32(i))
	}
	slices.SortFunc(r.sorted, func(a, b int32) int {
		switch x, y := providers[a].Root, providers[b].Root; {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	r.of, r.takers, r.owner = sized(r.of, len(providers)), sized(r.takers, len(providers)), sized(r.owner, len(providers))
	clear(r.takers)
	first := r.sorted[0]
	for i, place := range r.sorted {
		if i > 0 && providers[place].Root == providers[first].Root {
			r.matter = true
		} else {
			first = place
		}
		r.of[place] = first
	}
}

// admits tells whether no other provider of the same tree gives resources.
func (r *roots) admits(place int32) bool {
	root := r.of[place]
	return r.takers[root] == 0 || r.owner[root] == place
}

// enter notes that a want takes resources from a provider.
func (r *roots) enter(place int32) {
	root := r.of[place]
	r.takers[root]++
	r.owner[root] = place
}

// leave undoes enter.
func (r *roots) leave(place int32) { r.takers[r.of[place]]-- }
