package apicommand

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
	api "github.com/berthd/berth/gen/client"
	"github.com/berthd/berth/internal/draw"
)

const (
	// MaxConcurrentReads are the requests in flight at any time: enough to hide the way to
	// the service, few enough for one that has other things to do.
	MaxConcurrentReads = 8
	// maxReadAhead are the trees that are read while an earlier one is printed.
	maxReadAhead = 4
	// maxReadAttempts are made to read a provider between two writes to it.
	maxReadAttempts = 3
	// maxAggregatesPerQuery are named in one request, whose length servers bound.
	maxAggregatesPerQuery = 50
)

// TreeReader reads providers with all that belongs to them.
type TreeReader struct {
	Service  *client.Client
	Usages   bool
	Slots    chan struct{}
	Progress *Progress
}

// Choose finds the trees to draw: their members, sorted by the name of the root.
func (r *TreeReader) Choose(ctx context.Context, options *TreeOptions, arguments []string) ([][]api.Provider, error) {
	if len(arguments) > 0 {
		member, err := FindProvider(ctx, r.Service, arguments[0])
		if err != nil {
			return nil, err
		}
		members, err := r.Service.ProviderList(ctx, client.ProviderFilter{InTree: member.UUID.String()})
		if err == nil && len(members) == 0 {
			err = fmt.Errorf("provider %q was deleted just now: %w", arguments[0], client.ErrNotFound)
		}
		return [][]api.Provider{members}, err
	}
	all, err := r.Service.ProviderList(ctx, client.ProviderFilter{})
	if err != nil {
		return nil, err
	}
	trees := byRoot(all)
	if len(options.aggregates) == 0 && len(options.traits) == 0 {
		return trees, nil
	}
	chosen, err := r.Service.ProviderList(ctx, client.ProviderFilter{MemberOf: options.aggregates, Required: options.traits})
	if err != nil {
		return nil, err
	}
	roots := map[uuid.UUID]bool{}
	for _, one := range chosen {
		roots[one.RootProviderUUID] = true
	}
	return slices.DeleteFunc(trees, func(members []api.Provider) bool { return !roots[members[0].RootProviderUUID] }), nil
}

// byRoot groups providers into trees, sorted by the name of the root.
func byRoot(all []api.Provider) [][]api.Provider {
	members := map[uuid.UUID][]api.Provider{}
	names := map[uuid.UUID]string{}
	for _, one := range all {
		members[one.RootProviderUUID] = append(members[one.RootProviderUUID], one)
		names[one.UUID] = one.Name
	}
	return slices.SortedFunc(maps.Values(members), func(x, y []api.Provider) int {
		return draw.CompareNames(names[x[0].RootProviderUUID], names[y[0].RootProviderUUID])
	})
}

// sharing finds the sharing providers in aggregates that are not among the trees
// already. Each stands alone: what else is in its tree is not shared.
func (r *TreeReader) sharing(ctx context.Context, aggregates map[uuid.UUID]bool, shown [][]api.Provider) ([][]api.Provider, error) {
	known := map[uuid.UUID]bool{}
	for _, one := range slices.Concat(shown...) {
		known[one.UUID] = true
	}
	var ids []string
	for id := range aggregates {
		ids = append(ids, id.String())
	}
	slices.Sort(ids)
	var found [][]api.Provider
	for some := range slices.Chunk(ids, maxAggregatesPerQuery) {
		listed, err := r.Service.ProviderList(ctx, client.ProviderFilter{
			MemberOf: []string{"in:" + strings.Join(some, ",")}, Required: []string{"MISC_SHARES_VIA_AGGREGATE"},
		})
		if err != nil {
			return nil, err
		}
		for _, one := range listed {
			if !known[one.UUID] {
				known[one.UUID] = true
				found = append(found, []api.Provider{one})
			}
		}
	}
	slices.SortFunc(found, func(x, y []api.Provider) int { return draw.CompareNames(x[0].Name, y[0].Name) })
	return found, nil
}

// answer is a tree that was read, or why it was not.
type answer struct {
	tree draw.Forest
	err  error
}

// each reads the trees and hands them on in their order, a few of them ahead.
func (r *TreeReader) each(ctx context.Context, trees [][]api.Provider, do func(draw.Forest) error) error {
	for _, members := range trees {
		r.Progress.expect(len(members))
	}
	defer r.Progress.aside(func() error { return nil })
	reading, cancel := context.WithCancel(ctx)
	defer cancel()
	ahead := make(chan chan answer, maxReadAhead)
	go func() {
		defer close(ahead)
		for _, members := range trees {
			one := make(chan answer, 1)
			select {
			case ahead <- one:
			case <-reading.Done():
				return
			}
			go func() {
				tree, err := r.Tree(reading, members)
				one <- answer{tree, err}
			}()
		}
	}()
	for one := range ahead {
		read := <-one
		if read.err != nil {
			return read.err
		}
		if err := r.Progress.aside(func() error { return do(read.tree) }); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// Tree reads the members. One that was deleted meanwhile is left out. The first
// failure ends the reading of all.
func (r *TreeReader) Tree(ctx context.Context, members []api.Provider) (draw.Forest, error) {
	reading, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	nodes := make([]*client.Node, len(members))
	usages := make([]client.Resources, len(members))
	var all sync.WaitGroup
	for i, member := range members {
		all.Go(func() {
			select {
			case r.Slots <- struct{}{}:
			case <-reading.Done():
				return
			}
			defer func() { <-r.Slots }()
			var err error
			if nodes[i], usages[i], err = r.provider(reading, member); err != nil {
				stop(err)
			}
			r.Progress.step()
		})
	}
	all.Wait()
	if err := context.Cause(reading); err != nil {
		return draw.Forest{}, err
	}
	tree := draw.Forest{Usages: map[uuid.UUID]client.Resources{}}
	for i, node := range nodes {
		if node == nil {
			continue
		}
		tree.Nodes = append(tree.Nodes, *node)
		if usages[i] != nil {
			tree.Usages[node.UUID] = usages[i]
		}
	}
	return tree, nil
}

// provider reads all that belongs to one, again if another client wrote in between. Of
// one that is written to all the time the last answers are good enough to look at.
func (r *TreeReader) provider(ctx context.Context, member api.Provider) (*client.Node, client.Resources, error) {
	var node *client.Node
	var usages client.Resources
	for range maxReadAttempts {
		var same bool
		var err error
		node, usages, same, err = r.properties(ctx, member)
		switch {
		case errors.Is(err, client.ErrNotFound):
			return nil, nil, nil
		case err != nil:
			return nil, nil, fmt.Errorf("provider %s: %w", member.UUID, err)
		case same:
			return node, usages, nil
		}
	}
	return node, usages, nil
}

// properties reads once; same tells whether all answers are of one generation.
func (r *TreeReader) properties(ctx context.Context, member api.Provider) (node *client.Node, usages client.Resources, same bool, err error) {
	node = &client.Node{UUID: member.UUID, Name: member.Name}
	if parent, missing := member.ParentProviderUUID.Get(); missing == nil {
		node.Parent = parent
	}
	var inventory, traits, aggregates, used int64
	if node.Inventories, inventory, err = r.Service.InventoryList(ctx, member.UUID); err != nil {
		return nil, nil, false, err
	}
	if node.Traits, traits, err = r.Service.ProviderTraitList(ctx, member.UUID); err != nil {
		return nil, nil, false, err
	}
	if node.Aggregates, aggregates, err = r.Service.ProviderAggregateList(ctx, member.UUID); err != nil {
		return nil, nil, false, err
	}
	used = inventory
	if r.Usages {
		if usages, used, err = r.Service.ProviderUsageList(ctx, member.UUID); err != nil {
			return nil, nil, false, err
		}
	}
	node.Generation = new(used)
	return node, usages, inventory == traits && traits == aggregates && aggregates == used, nil
}
