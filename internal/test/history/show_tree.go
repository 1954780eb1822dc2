package history

import (
	"fmt"
	"net/http"
	"slices"
)

// showTree is GET /resource_providers/{provider}/tree with everything that the model has. All of it must be of one moment.
type showTree struct{ inTree }

// shownPlace is what a tree shows of a provider. The zero value is not in the tree.
type shownPlace struct {
	isListed     bool
	generation   int64
	parent, root int
	inventories  [len(classes)]Inventory
	// used is the usage by class; none for a class without inventory.
	used   [len(classes)]int64
	traits uint8
}

// shownConsumer is what a tree shows of a consumer. With the generation 0 it is not in the tree.
type shownConsumer struct {
	Consumer
	// generations are those of its providers; none for one that is not listed.
	generations [providers]int64
}

func (w showTree) request(d *Partition) request {
	return request{
		method: http.MethodGet, path: w.path(d, "/tree"), parameters: []string{"include=inventories,usages,traits,consumers"}, extended: true,
	}
}

// shownProviderOnWire is a provider of the response.
type shownProviderOnWire struct {
	UUID        string
	Generation  int64
	Parent      string `json:"parent_provider_uuid"`
	Root        string `json:"root_provider_uuid"`
	Inventories map[string]record
	Usages      map[string]int64
	Traits      []string
}

// shownConsumerOnWire is a consumer of the response.
type shownConsumerOnWire struct {
	Generation  int64 `json:"consumer_generation"`
	Allocations map[string]struct {
		Resources  map[string]int64
		Generation int64
	}
}

func (w showTree) read(d *Partition, raw []byte, seen *Observed) error {
	read, err := body[struct {
		Root      string                `json:"root_provider_uuid"`
		Providers []shownProviderOnWire `json:"resource_providers"`
		Consumers map[string]shownConsumerOnWire
	}](raw)
	if err != nil {
		return err
	}
	seen.Root = d.number(read.Root)
	for _, one := range read.Providers {
		p := d.number(one.UUID)
		if p == none || seen.Shown[p].isListed {
			return fmt.Errorf("unknown or repeated provider %s in %s", one.UUID, raw)
		}
		if seen.Shown[p], err = one.shown(d); err != nil {
			return err
		}
	}
	for id, one := range read.Consumers {
		c := d.number(id)
		if c == none {
			return fmt.Errorf("unknown consumer %s in %s", id, raw)
		}
		if seen.Users[c], err = one.shown(d); err != nil {
			return err
		}
	}
	return nil
}

func (o *shownProviderOnWire) shown(d *Partition) (shownPlace, error) {
	made := shownPlace{isListed: true, generation: o.Generation, parent: d.number(o.Parent), root: d.number(o.Root)}
	for class := range classes {
		made.used[class] = none
	}
	for name, of := range o.Inventories {
		class, err := classNumber(name)
		if err != nil {
			return made, err
		}
		made.inventories[class] = Inventory(of)
	}
	for _, name := range o.Traits {
		bit := slices.Index(traits[:], name)
		if bit < 0 {
			return made, fmt.Errorf("unknown trait %q", name)
		}
		made.traits |= 1 << bit
	}
	return made, readAmounts(o.Usages, &made.used)
}

func (o *shownConsumerOnWire) shown(d *Partition) (shownConsumer, error) {
	made := shownConsumer{Consumer: Consumer{Generation: o.Generation}}
	for p := range made.generations {
		made.generations[p] = none
	}
	for id, of := range o.Allocations {
		p := d.number(id)
		if p == none {
			return made, fmt.Errorf("unknown provider %s", id)
		}
		made.generations[p] = of.Generation
		if err := readAmounts(of.Resources, (*[len(classes)]int64)(&made.ByProvider[p])); err != nil {
			return made, err
		}
	}
	return made, nil
}

// of returns true, because the response has all consumers of the tree.
func (w showTree) of(int) bool { return true }

func (w showTree) place(p int, now Provider, a *Response) (Provider, bool) {
	switch {
	case a.Reason == RetriesExhausted || a.Reason == ProviderNotFound && p != w.at:
		return now, true
	case a.Reason == ProviderNotFound:
		return now, !now.Exists
	case a.Reason != "":
		return now, false
	}
	for c := range a.Observed.Users {
		user := &a.Observed.Users[c]
		isKnown := user.Generation > 0 || a.Observed.Shown[p].isListed // a consumer of the tree is shown with all that it has
		if isKnown && now.ByConsumer[c] != user.ByProvider[p] ||
			user.Generation > 0 && user.generations[p] != none && user.generations[p] != now.Generation {
			return now, false
		}
	}
	return now, a.Observed.Shown[p].shows(&now) && (p != w.at || now.Exists)
}

// shows reports whether a provider is as shown. One that is not shown can be in another tree.
func (s *shownPlace) shows(now *Provider) bool {
	if !s.isListed {
		return true
	}
	for class, told := range s.used {
		if told == none && now.Inventories[class].Total > 0 || told != none && told != now.used(class) {
			return false
		}
	}
	return now.Exists && now.Generation == s.generation && now.Parent == s.parent && now.Inventories == s.inventories && now.Traits == s.traits
}

func (w showTree) consumer(c int, now Consumer, a *Response) (Consumer, bool) {
	shown := a.Observed.Users[c].Consumer
	return now, a.Reason != "" || shown.Generation == 0 || now == shown
}

// whole compares the providers of the tree with those of the response.
func (w showTree) whole(now *State, a *Response) bool {
	if a.Reason != "" {
		return true
	}
	root := now.root(w.at)
	for p := range a.Observed.Shown {
		shown := &a.Observed.Shown[p]
		if shown.isListed != (root != none && now.root(p) == root) || shown.isListed && shown.root != root {
			return false
		}
	}
	return a.Observed.Root == root
}

func (w showTree) String() string { return fmt.Sprintf("read the tree of provider %d", w.at) }
