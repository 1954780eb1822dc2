package combine

import "slices"

// roots records which trees give resources, and through which provider, for requests with OneOfATree.
type roots struct {
	// matter is true if some tree has two providers.
	matter bool
	// of maps the index of a provider to that of one provider of its tree, the same for all. The following slices use
	// the latter index.
	of []int32
	// takers counts the requirements that use a tree; owner is the provider that they use.
	takers, owner []int32

	sorted []int32
}

// reset groups the providers by tree.
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

// admits reports whether no other provider of the same tree gives resources.
func (r *roots) admits(place int32) bool {
	root := r.of[place]
	return r.takers[root] == 0 || r.owner[root] == place
}

// enter records that a requirement uses resources of a provider.
func (r *roots) enter(place int32) {
	root := r.of[place]
	r.takers[root]++
	r.owner[root] = place
}

// leave undoes enter.
func (r *roots) leave(place int32) { r.takers[r.of[place]]-- }
