package history

import "fmt"

// inTree is what wishes embed that change the tree: every provider may lose a child
// by them.
type inTree struct{ onPlace }

func (inTree) concerns(int, [consumers]bool) bool { return true }

func (w inTree) name(d *District) string {
	return fmt.Sprintf("district %d place %d", d.Number, w.at)
}

func readProvider(d *District, raw []byte, seen *Seen) error {
	read, err := body[struct {
		Generation int64
		Parent     string `json:"parent_provider_uuid"`
		Root       string `json:"root_provider_uuid"`
	}](raw)
	seen.Generation, seen.Parent, seen.Root = read.Generation, d.number(read.Parent), d.number(read.Root)
	return err
}

// fitsTree says whether the root that was told is that of the state.
func (w inTree) fitsTree(now *State, a *Answer) bool {
	return a.Reason != "" || a.Seen.Generation == nobody || now.root(w.at) == a.Seen.Root
}

// lookPlace is GET /resource_providers/{provider}.
type lookPlace struct{ onPlace }

func (w lookPlace) request(d *District) request { return request{"GET", w.path(d, ""), nil} }

func (w lookPlace) read(d *District, raw []byte, seen *Seen) error { return readProvider(d, raw, seen) }

func (w lookPlace) place(_ int, now Place, a *Answer) (Place, bool) {
	if holds, known := w.refused(&now, nobody, a); known {
		return now, holds
	}
	return now, a.Reason == "" && now.Exists && now.Generation == a.Seen.Generation && now.Parent == a.Seen.Parent
}

func (w lookPlace) whole(now *State, a *Answer) bool { return inTree(w).fitsTree(now, a) }

func (w lookPlace) String() string { return fmt.Sprintf("look at place %d", w.at) }

// found is POST /resource_providers.
type found struct {
	inTree
	parent int // nobody: a root
}

func (w found) request(d *District) request {
	made := map[string]any{"uuid": d.places[w.at].String(), "name": w.name(d)}
	if w.parent != nobody {
		made["parent_provider_uuid"] = d.places[w.parent].String()
	}
	return request{"POST", "/resource_providers", made}
}

func (w found) read(d *District, raw []byte, seen *Seen) error { return readProvider(d, raw, seen) }

func (w found) concerns(p int, _ [consumers]bool) bool { return p == w.at || p == w.parent }

func (w found) place(p int, now Place, a *Answer) (Place, bool) {
	switch a.Reason {
	case "":
		if p == w.parent {
			now.Children |= 1 << w.at
			return now, now.Exists
		}
		return Place{Exists: true, Parent: w.parent}, !now.Exists && a.Seen.fits(0)
	case NoParent:
		return now, p != w.parent || !now.Exists
	case Exists:
		return now, now.Exists // the parent is looked at before
	}
	return now, a.Reason == Busy
}

func (w found) whole(now *State, a *Answer) bool {
	// Before and after it is below the same root.
	return a.Reason != "" || a.Seen.Generation == nobody || w.parent == nobody && a.Seen.Root == w.at ||
		w.parent != nobody && now.root(w.parent) == a.Seen.Root
}

func (w found) String() string { return fmt.Sprintf("make place %d below %d", w.at, w.parent) }

// move is PUT /resource_providers/{provider} with a parent.
type move struct {
	inTree
	parent int // nobody: make it a root
}

func (w move) request(d *District) request {
	made := map[string]any{"name": w.name(d), "parent_provider_uuid": nil}
	if w.parent != nobody {
		made["parent_provider_uuid"] = d.places[w.parent].String()
	}
	return request{"PUT", w.path(d, ""), made}
}

func (w move) read(d *District, raw []byte, seen *Seen) error { return readProvider(d, raw, seen) }

func (w move) place(p int, now Place, a *Answer) (Place, bool) {
	switch {
	case a.Reason == Busy || a.Reason == "" && p != w.at && p != w.parent:
		if a.Reason == "" {
			now.Children &^= 1 << w.at
		}
		return now, true
	case a.Reason == "" && p == w.parent:
		now.Children |= 1 << w.at
		return now, now.Exists && p != w.at
	case a.Reason == "":
		isTold := a.Seen.Generation == nobody || a.Seen.Parent == w.parent
		now.Parent = w.parent
		return now, now.Exists && isTold && a.Seen.fits(now.Generation)
	case a.Reason == NoPlace:
		return now, p != w.at || !now.Exists
	case a.Reason == NoParent:
		return now, p == w.at && now.Exists || p == w.parent && !now.Exists || p != w.at && p != w.parent
	}
	return now, a.Reason == Loop && (p != w.at && p != w.parent || now.Exists)
}

func (w move) whole(now *State, a *Answer) bool {
	loops := w.parent != nobody && now.Places[w.at].Parent != w.parent && now.isBelow(w.parent, w.at)
	switch a.Reason {
	case "":
		if loops {
			return false
		}
		if w.parent == nobody {
			return a.Seen.Generation == nobody || a.Seen.Root == w.at
		}
		return a.Seen.Generation == nobody || now.root(w.parent) == a.Seen.Root
	case Loop:
		return loops
	}
	return true
}

func (w move) String() string { return fmt.Sprintf("move place %d below %d", w.at, w.parent) }

// remove is DELETE /resource_providers/{provider}.
type remove struct{ inTree }

func (w remove) request(d *District) request { return request{"DELETE", w.path(d, ""), nil} }

func (w remove) place(p int, now Place, a *Answer) (Place, bool) {
	if p != w.at {
		if a.Reason == "" {
			now.Children &^= 1 << w.at
		}
		return now, true
	}
	switch a.Reason {
	case "":
		return Place{}, now.Exists && now.Children == 0 && !now.inUse()
	case NoPlace:
		return now, !now.Exists
	case HasChildren:
		return now, now.Exists && now.Children != 0
	case HasAllocations:
		return now, now.Exists && now.Children == 0 && now.inUse()
	}
	return now, a.Reason == Busy
}

func (w remove) String() string { return fmt.Sprintf("remove place %d", w.at) }
