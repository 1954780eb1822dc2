package history

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/berthd/berth/internal/test/model"
)

// body decodes JSON.
func body[T any](raw []byte) (read T, err error) {
	if err := json.Unmarshal(raw, &read); err != nil {
		return read, fmt.Errorf("%w in %s", err, raw)
	}
	return read, nil
}

// document is a response about a provider or a consumer, or a part of one; the request determines which members it has.
type document struct {
	UUID, Name         string
	Generation         *int64
	ProviderGeneration *int64 `json:"resource_provider_generation"`
	ConsumerGeneration *int64 `json:"consumer_generation"`
	Parent             string `json:"parent_provider_uuid"`
	Root               string `json:"root_provider_uuid"`
	Inventories        map[string]record
	record
	Usages      map[string]int64
	Traits      []string
	Allocations map[string]struct {
		Resources          map[string]int64
		Generation         int64
		ConsumerGeneration int64 `json:"consumer_generation"`
	}
	Mappings map[string][]string
	Lease    json.RawMessage
}

// generation returns the generation that the document has; None without one.
func (o *document) generation() int64 {
	if found := cmp.Or(o.ProviderGeneration, o.ConsumerGeneration, o.Generation); found != nil {
		return *found
	}
	return model.None
}

// read parses the body of a successful response.
func (d *Partition) read(operation model.Operation, raw []byte, seen *model.Observed) error {
	if len(raw) == 0 {
		return nil
	}
	switch w := operation.(type) {
	case model.ClaimFound:
		return d.readFound(w, raw, seen)
	case model.ClaimNamed:
		return d.readNamed(w, raw, seen)
	case model.ReplaceTree:
		return d.readReplaced(w, raw, seen)
	case model.ReadTree:
		return d.readTree(raw, seen)
	}
	read, err := body[document](raw)
	if err != nil {
		return err
	}
	switch w := operation.(type) {
	case model.ChangeInventory:
		seen.Inventories[w.Class] = model.Inventory(read.record)
	case model.ReadAllocations, model.PatchAllocations:
		return d.readConsumer(&read, seen)
	}
	return d.readProvider(&read, seen)
}

func (d *Partition) readProvider(read *document, seen *model.Observed) error {
	seen.Generation, seen.Parent, seen.Root, seen.Name = read.generation(), d.number(read.Parent), d.number(read.Root), model.None
	if p := d.number(read.UUID); p != model.None && read.Name == d.name(p) {
		seen.Name = int8(p)
	}
	for name, of := range read.Inventories {
		class, err := classNumber(name)
		if err != nil {
			return err
		}
		seen.Inventories[class] = model.Inventory(of)
	}
	for _, name := range read.Traits {
		bit := slices.Index(traits[:], name)
		if bit < 0 {
			return fmt.Errorf("unknown trait %q", name)
		}
		seen.Traits |= 1 << bit
	}
	for id, of := range read.Allocations {
		c := d.number(id)
		if c == model.None {
			return fmt.Errorf("unknown consumer %s", id)
		}
		seen.ConsumerGenerations[c] = of.ConsumerGeneration
		if err := readAmounts(of.Resources, &seen.ByConsumer[c]); err != nil {
			return err
		}
	}
	return readAmounts(read.Usages, &seen.Used)
}

func (d *Partition) readConsumer(read *document, seen *model.Observed) error {
	seen.Generation = max(read.generation(), 0) // a consumer without allocations does not exist
	for id, of := range read.Allocations {
		p := d.number(id)
		if p == model.None {
			return fmt.Errorf("unknown provider %s", id)
		}
		seen.ProviderGenerations[p] = of.Generation
		if err := readAmounts(of.Resources, &seen.Allocations[p]); err != nil {
			return err
		}
	}
	shown, err := shownLease(read.Lease)
	seen.Lease = shown
	return err
}

// readClaimed reads the response to POST /claims, and returns the claim and the number of its candidate.
func (d *Partition) readClaimed(raw []byte, seen *model.Observed) (*document, *int, error) {
	read, err := body[struct {
		Claims    []document
		Candidate *int
	}](raw)
	if err != nil {
		return nil, nil, err
	}
	if len(read.Claims) != 1 {
		return nil, nil, fmt.Errorf("%d claims, want 1", len(read.Claims))
	}
	seen.Root = d.number(read.Claims[0].Root)
	return &read.Claims[0], read.Candidate, d.readConsumer(&read.Claims[0], seen)
}

func (d *Partition) readFound(w model.ClaimFound, raw []byte, seen *model.Observed) error {
	read, _, err := d.readClaimed(raw, seen)
	if err != nil {
		return err
	}
	var sum model.Allocations
	for i, group := range w.Groups {
		served := read.Mappings[suffixes[i]]
		if len(served) != 1 || d.number(served[0]) == model.None {
			return fmt.Errorf("group %s is served by %v", suffixes[i], served)
		}
		seen.Served[i] = d.number(served[0])
		for class, amount := range group.Amounts {
			sum[seen.Served[i]][class] += amount
		}
	}
	if sum != seen.Allocations {
		return fmt.Errorf("the allocations %v are not those of the groups %v at %v", seen.Allocations, w.Groups, seen.Served)
	}
	return nil
}

func (d *Partition) readNamed(w model.ClaimNamed, raw []byte, seen *model.Observed) error {
	_, candidate, err := d.readClaimed(raw, seen)
	if err != nil {
		return err
	}
	if candidate == nil || *candidate < 0 || *candidate >= len(w.Candidates) || w.Candidates[*candidate] != seen.Allocations {
		return fmt.Errorf("the allocations %v are not those of the chosen candidate", seen.Allocations)
	}
	return nil
}

func (d *Partition) readReplaced(w model.ReplaceTree, raw []byte, seen *model.Observed) error {
	read, err := body[struct {
		Providers map[string]struct {
			Change     string
			Changed    []string
			Generation *int64
		} `json:"resource_providers"`
	}](raw)
	if err == nil && len(read.Providers) != len(w.Nodes) {
		err = fmt.Errorf("%d providers, want %d, in %s", len(read.Providers), len(w.Nodes), raw)
	}
	for id, of := range read.Providers {
		p := d.number(id)
		if w.Node(p) == nil {
			return fmt.Errorf("unexpected provider %s", id)
		}
		seen.Tree[p] = model.TreeChange{Change: strings.Join(append([]string{of.Change}, of.Changed...), " "), Generation: model.None}
		if of.Generation != nil {
			seen.Tree[p].Generation = *of.Generation
		}
	}
	return err
}

func (d *Partition) readTree(raw []byte, seen *model.Observed) error {
	read, err := body[struct {
		Root      string     `json:"root_provider_uuid"`
		Providers []document `json:"resource_providers"`
		Consumers map[string]document
	}](raw)
	if err != nil {
		return err
	}
	seen.Root = d.number(read.Root)
	for _, one := range read.Providers {
		p := d.number(one.UUID)
		if p == model.None || seen.Shown[p].IsListed {
			return fmt.Errorf("unknown or repeated provider %s in %s", one.UUID, raw)
		}
		of := model.Accepted().Observed
		if err := d.readProvider(&one, &of); err != nil {
			return err
		}
		seen.Shown[p] = model.ShownProvider{
			IsListed: true, Generation: of.Generation, Parent: of.Parent, Root: of.Root, Inventories: of.Inventories, Used: of.Used, Traits: of.Traits,
		}
	}
	for id, one := range read.Consumers {
		c := d.number(id)
		if c == model.None {
			return fmt.Errorf("unknown consumer %s in %s", id, raw)
		}
		user := model.Accepted().Observed
		if err := d.readConsumer(&one, &user); err != nil {
			return err
		}
		seen.Users[c] = model.ShownConsumer{
			Consumer:            model.Consumer{Generation: user.Generation, Allocations: user.Allocations, Lease: user.Lease.Lease},
			ProviderGenerations: user.ProviderGenerations,
		}
	}
	return nil
}

// classNumber returns the number of a class.
func classNumber(name string) (int, error) {
	if class := slices.Index(classes[:], name); class >= 0 {
		return class, nil
	}
	return model.None, fmt.Errorf("unknown class %q", name)
}

// readAmounts converts amounts by class name to amounts by class number.
func readAmounts(from map[string]int64, into *model.Amounts) error {
	for name, amount := range from {
		class, err := classNumber(name)
		if err != nil {
			return err
		}
		into[class] = amount
	}
	return nil
}

// side is one side of a change of a dry run.
type side struct {
	Provider *int64 `json:"generation"`
	Consumer *int64 `json:"consumer_generation"`
}

func (s *side) generation() int64 {
	switch {
	case s == nil:
		return model.None
	case s.Provider != nil:
		return *s.Provider
	case s.Consumer != nil:
		return *s.Consumer
	}
	return model.SameGeneration
}

// readDryRun parses the response to a dry run as that of the write.
func (d *Partition) readDryRun(w model.DryRun, raw []byte) (model.Response, error) {
	type sides = map[string]struct{ Before, After *side }
	read, err := body[struct {
		IsDryRun bool `json:"dry_run"`
		Would    int
		Body     json.RawMessage
		Changes  struct {
			Providers sides `json:"resource_providers"`
			Consumers sides
		}
	}](raw)
	if err != nil || !read.IsDryRun {
		return model.Response{}, errors.Join(err, fmt.Errorf("no dry run: %s", raw))
	}
	var changed model.Changes
	for id, of := range read.Changes.Providers {
		if p := d.number(id); p != model.None {
			changed.Providers[p] = model.Change{IsListed: true, Before: of.Before.generation(), After: of.After.generation()}
		}
	}
	for id, of := range read.Changes.Consumers {
		if c := d.number(id); c != model.None {
			changed.Consumers[c] = model.Change{IsListed: true, Before: of.Before.generation(), After: of.After.generation()}
		}
	}
	if read.Would >= http.StatusMultipleChoices {
		made := refusal(d, read.Would, read.Body, claimsAllocations(w.Operation))
		if changed != (model.Changes{}) {
			made.Reason = model.Unexplained
		}
		return made, nil
	}
	made := model.Accepted()
	made.Status, made.Changes = read.Would, &changed
	if string(read.Body) != "null" {
		err = d.read(w.Operation, read.Body, &made.Observed)
	}
	return made, err
}
