package history

import "fmt"

// inTree is embedded in operations that change the tree, because every provider may lose a child.
type inTree struct{ onPlace }

func (inTree) concerns(int, [consumers]bool) bool { return true }

func (w inTree) name(d *Partition) string {
	return fmt.Sprintf("district %d place %d", d.Number, w.at)
}

func readProvider(d *Partition, raw []byte, seen *Observed) error {
	read, err := body[struct {
		Generation int64
		Parent     string `json:"parent_provider_uuid"`
		Root       string `json:"root_provider_uuid"`
	}](raw)
	seen.Generation, seen.Parent, seen.Root = read.Generation, d.number(read.Parent), d.number(read.Root)
	return err
}

// fitsTree reports whether the root in the response is that of the state.
func (w inTree) fitsTree(now *State, a *Response) bool {
	return a.Reason != "" || a.Observed.Generation == none || now.root(w.at) == a.Observed.Root
}

// getProvider is GET /resource_providers/{provider}.
type getProvider struct{ onPlace }

func (w getProvider) request(d *Partition) request {
	return request{method: "GET", path: w.path(d, "")}
}

func (w getProvider) read(d *Partition, raw []byte, seen *Observed) error {
	return readProvider(d, raw, seen)
}

func (w getProvider) place(_ int, now Provider, a *Response) (Provider, bool) {
	if holds, known := w.refused(&now, none, a); known {
		return now, holds
	}
	return now, a.Reason == "" && now.Exists && now.Generation == a.Observed.Generation && now.Parent == a.Observed.Parent
}

func (w getProvider) whole(now *State, a *Response) bool { return inTree(w).fitsTree(now, a) }

func (w getProvider) String() string { return fmt.Sprintf("read provider %d", w.at) }

// createProvider is POST /resource_providers.
type createProvider struct {
	inTree
	parent int // none for a root
}

func (w createProvider) request(d *Partition) request {
	made := map[string]any{"uuid": d.providers[w.at].String(), "name": w.name(d)}
	if w.parent != none {
		made["parent_provider_uuid"] = d.providers[w.parent].String()
	}
	return request{method: "POST", path: "/resource_providers", body: made}
}

func (w createProvider) read(d *Partition, raw []byte, seen *Observed) error {
	return readProvider(d, raw, seen)
}

func (w createProvider) concerns(p int, _ [consumers]bool) bool { return p == w.at || p == w.parent }

func (w createProvider) place(p int, now Provider, a *Response) (Provider, bool) {
	switch a.Reason {
	case "":
		if p == w.parent {
			now.Children |= 1 << w.at
			return now, now.Exists
		}
		return Provider{Exists: true, Parent: w.parent}, !now.Exists && a.Observed.fits(0)
	case NoParent:
		return now, p != w.parent || !now.Exists
	case Exists:
		return now, now.Exists // the server checks the parent before
	}
	return now, a.Reason == RetriesExhausted
}

func (w createProvider) whole(now *State, a *Response) bool {
	// Before and after the operation it has the same root.
	return a.Reason != "" || a.Observed.Generation == none || w.parent == none && a.Observed.Root == w.at ||
		w.parent != none && now.root(w.parent) == a.Observed.Root
}

func (w createProvider) String() string {
	return fmt.Sprintf("create provider %d with the parent %d", w.at, w.parent)
}

// reparentProvider is PUT /resource_providers/{provider} with a parent.
type reparentProvider struct {
	inTree
	parent int // none: it becomes a root
}

func (w reparentProvider) request(d *Partition) request {
	made := map[string]any{"name": w.name(d), "parent_provider_uuid": nil}
	if w.parent != none {
		made["parent_provider_uuid"] = d.providers[w.parent].String()
	}
	return request{method: "PUT", path: w.path(d, ""), body: made}
}

func (w reparentProvider) read(d *Partition, raw []byte, seen *Observed) error {
	return readProvider(d, raw, seen)
}

func (w reparentProvider) place(p int, now Provider, a *Response) (Provider, bool) {
	switch {
	case a.Reason == RetriesExhausted || a.Reason == "" && p != w.at && p != w.parent:
		if a.Reason == "" {
			now.Children &^= 1 << w.at
		}
		return now, true
	case a.Reason == "" && p == w.parent:
		now.Children |= 1 << w.at
		return now, now.Exists && p != w.at
	case a.Reason == "":
		isTold := a.Observed.Generation == none || a.Observed.Parent == w.parent
		now.Parent = w.parent
		return now, now.Exists && isTold && a.Observed.fits(now.Generation)
	case a.Reason == ProviderNotFound:
		return now, p != w.at || !now.Exists
	case a.Reason == NoParent:
		return now, p == w.at && now.Exists || p == w.parent && !now.Exists || p != w.at && p != w.parent
	}
	return now, a.Reason == Loop && (p != w.at && p != w.parent || now.Exists)
}

func (w reparentProvider) whole(now *State, a *Response) bool {
	loops := w.parent != none && now.Places[w.at].Parent != w.parent && now.isBelow(w.parent, w.at)
	switch a.Reason {
	case "":
		if loops {
			return false
		}
		if w.parent == none {
			return a.Observed.Generation == none || a.Observed.Root == w.at
		}
		return a.Observed.Generation == none || now.root(w.parent) == a.Observed.Root
	case Loop:
		return loops
	}
	return true
}

func (w reparentProvider) String() string {
	return fmt.Sprintf("move place %d below %d", w.at, w.parent)
}

// deleteProvider is DELETE /resource_providers/{provider}.
type deleteProvider struct {
	inTree
	given int64 // none: not in the request
}

func (w deleteProvider) request(d *Partition) request {
	return request{method: "DELETE", path: w.path(d, "")}.comparingProvider(w.given)
}

func (w deleteProvider) place(p int, now Provider, a *Response) (Provider, bool) {
	if p != w.at {
		if a.Reason == "" {
			now.Children &^= 1 << w.at
		}
		return now, true
	}
	if holds, known := w.refused(&now, w.given, a); known {
		return now, holds
	}
	if !now.Exists || w.given != none && now.Generation != w.given {
		return now, false
	}
	switch a.Reason {
	case "":
		return Provider{}, now.Children == 0 && !now.inUse()
	case HasChildren:
		return now, now.Children != 0
	case HasAllocations:
		return now, now.Children == 0 && now.inUse()
	}
	return now, false
}

func (w deleteProvider) String() string {
	return fmt.Sprintf("delete provider %d at %d", w.at, w.given)
}
