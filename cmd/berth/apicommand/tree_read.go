package apicommand

import (
	"context"
	"errors"
	"fmt"
	"io"
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
	// MaxConcurrentReads is the maximum number of requests in flight. It hides the network latency
	// and leaves the server capacity for other clients.
	MaxConcurrentReads = 8
	// maxReadAhead is the maximum number of trees that are read while an earlier one is printed.
	maxReadAhead = 4
	// maxAggregatesPerQuery is the maximum number of aggregates in one request, because servers limit
	// the length of URLs.
	maxAggregatesPerQuery = 50
)

// TreeReader reads providers with their inventories, traits, aggregates and, if Usages is true,
// usages. Slots limits the concurrent requests by its capacity.
type TreeReader struct {
	Service *client.Client
	Usages  bool
	// Consumers adds the consumers of each tree.
	Consumers bool
	Slots     chan struct{}
	Progress  *Progress
	// Stderr gets a line for each tree whose consumers are not shown.
	Stderr io.Writer
}

// Choose returns the providers of each tree to draw, sorted by the name of the root. The name or UUID
// in arguments selects one tree; without it the options select from all trees.
func (r *TreeReader) Choose(ctx context.Context, options *TreeOptions, arguments []string) ([][]api.Provider, error) {
	if len(arguments) > 0 {
		member, err := FindProvider(ctx, r.Service, arguments[0])
		if err != nil {
			return nil, err
		}
		members, err := r.Service.ProviderList(ctx, client.ProviderFilter{InTree: member.UUID.String()})
		if err == nil && len(members) == 0 {
			err = fmt.Errorf("provider %q was deleted by another client: %w", arguments[0], client.ErrNotFound)
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
	matching, err := r.Service.ProviderList(ctx, client.ProviderFilter{MemberOf: options.aggregates, Required: options.traits})
	if err != nil {
		return nil, err
	}
	roots := map[uuid.UUID]bool{}
	for _, provider := range matching {
		roots[provider.RootProviderUUID] = true
	}
	return slices.DeleteFunc(trees, func(members []api.Provider) bool { return !roots[members[0].RootProviderUUID] }), nil
}

// byRoot returns the providers of each tree, sorted by the name of the root.
func byRoot(all []api.Provider) [][]api.Provider {
	members := map[uuid.UUID][]api.Provider{}
	names := map[uuid.UUID]string{}
	for _, provider := range all {
		members[provider.RootProviderUUID] = append(members[provider.RootProviderUUID], provider)
		names[provider.UUID] = provider.Name
	}
	return slices.SortedFunc(maps.Values(members), func(x, y []api.Provider) int {
		return draw.CompareNames(names[x[0].RootProviderUUID], names[y[0].RootProviderUUID])
	})
}

// sharing returns the sharing providers in aggregates that are not in shown. Each is a tree without
// its other members, which are not shared.
func (r *TreeReader) sharing(ctx context.Context, aggregates map[uuid.UUID]bool, shown [][]api.Provider) ([][]api.Provider, error) {
	known := map[uuid.UUID]bool{}
	for _, provider := range slices.Concat(shown...) {
		known[provider.UUID] = true
	}
	var ids []string
	for id := range aggregates {
		ids = append(ids, id.String())
	}
	slices.Sort(ids)
	var found [][]api.Provider
	for chunk := range slices.Chunk(ids, maxAggregatesPerQuery) {
		listed, err := r.Service.ProviderList(ctx, client.ProviderFilter{
			MemberOf: []string{"in:" + strings.Join(chunk, ",")}, Required: []string{"MISC_SHARES_VIA_AGGREGATE"},
		})
		if err != nil {
			return nil, err
		}
		for _, provider := range listed {
			if !known[provider.UUID] {
				known[provider.UUID] = true
				found = append(found, []api.Provider{provider})
			}
		}
	}
	slices.SortFunc(found, func(x, y []api.Provider) int { return draw.CompareNames(x[0].Name, y[0].Name) })
	return found, nil
}

// treeResult is a tree or the error of reading it.
type treeResult struct {
	tree draw.Forest
	err  error
}

// each reads the trees and calls do for each one in order. It reads up to maxReadAhead trees ahead.
func (r *TreeReader) each(ctx context.Context, trees [][]api.Provider, do func(draw.Forest) error) error {
	if len(trees) == 0 {
		return nil
	}
	// The client remembers the version. Trees that are read concurrently would each request it.
	if _, err := r.Service.HasExtensions(ctx, readingVersion); err != nil {
		return err
	}
	for _, members := range trees {
		r.Progress.expect(len(members))
	}
	defer r.Progress.aside(func() error { return nil })
	reading, cancel := context.WithCancel(ctx)
	defer cancel()
	ahead := make(chan chan treeResult, maxReadAhead)
	go func() {
		defer close(ahead)
		for _, members := range trees {
			result := make(chan treeResult, 1)
			select {
			case ahead <- result:
			case <-reading.Done():
				return
			}
			go func() {
				tree, err := r.Tree(reading, members)
				result <- treeResult{tree, err}
			}()
		}
	}()
	for result := range ahead {
		read := <-result
		if read.err != nil {
			return read.err
		}
		if err := r.Progress.aside(func() error { return do(read.tree) }); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// Tree reads the members of a tree, without those that another client has deleted: with one request if
// the service has berth 1.4, else each member concurrently. The first error cancels all reads.
func (r *TreeReader) Tree(ctx context.Context, members []api.Provider) (draw.Forest, error) {
	if tree, ok, err := r.shown(ctx, members); err != nil || ok {
		return tree, err
	}
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
	consumers, err := r.consumers(ctx, members)
	if err != nil {
		return draw.Forest{}, err
	}
	tree := draw.Forest{Usages: map[uuid.UUID]client.Resources{}, Consumers: consumers}
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

// provider reads the properties of a provider. It returns nil for a deleted provider.
func (r *TreeReader) provider(ctx context.Context, member api.Provider) (*client.Node, client.Resources, error) {
	read, err := r.Service.ProviderProperties(ctx, member.UUID, r.Usages)
	switch {
	case errors.Is(err, client.ErrNotFound):
		return nil, nil, nil
	case err != nil:
		return nil, nil, fmt.Errorf("provider %s: %w", member.UUID, err)
	}
	read.Name = member.Name
	if parent := member.ParentProviderUUID; parent != nil {
		read.Parent = *parent
	}
	return &read.Node, read.Usages, nil
}

// shown reads the members of a tree with one request. ok is false if the service does not have that request.
func (r *TreeReader) shown(ctx context.Context, members []api.Provider) (tree draw.Forest, ok bool, err error) {
	tree.Usages = map[uuid.UUID]client.Resources{}
	if has, err := r.Service.HasExtensions(ctx, readingVersion); err != nil || !has || len(members) == 0 {
		return tree, false, err
	}
	select {
	case r.Slots <- struct{}{}:
	case <-ctx.Done():
		return tree, false, context.Cause(ctx)
	}
	defer func() { <-r.Slots }()
	found, err := r.request(ctx, members[0].RootProviderUUID)
	switch {
	case errors.Is(err, client.ErrExtensions), errors.Is(err, client.ErrForbidden):
		// The service is being upgraded, or a policy permits only the requests for single providers.
		return tree, false, nil
	case errors.Is(err, client.ErrNotFound): // another client has deleted the tree
		return tree, true, nil
	case err != nil:
		return tree, false, err
	}
	listed := map[uuid.UUID]bool{}
	for _, member := range members {
		listed[member.UUID] = true
		r.Progress.step()
	}
	for i := range found.Providers {
		provider := &found.Providers[i]
		if !listed[provider.UUID] {
			continue
		}
		tree.Nodes = append(tree.Nodes, provider.Node)
		if r.Usages {
			tree.Usages[provider.UUID] = provider.Usages
		}
	}
	if r.Consumers && found.Consumers != nil {
		tree.Consumers = map[uuid.UUID][]draw.Consumer{found.Root: consumersOfShown(found)}
	}
	return tree, true, nil
}

// request requests a tree. If it has too many consumers, it states that, and requests the tree without them, whose
// Consumers is nil.
func (r *TreeReader) request(ctx context.Context, root uuid.UUID) (*client.ShownTree, error) {
	parts := []client.TreePart{client.TreeInventories, client.TreeTraits, client.TreeAggregates}
	if r.Usages {
		parts = append(parts, client.TreeUsages)
	}
	if !r.Consumers {
		return r.Service.TreeShow(ctx, root, parts...)
	}
	found, err := r.Service.TreeShow(ctx, root, append(parts, client.TreeSharing, client.TreeConsumers)...)
	if !errors.Is(err, client.ErrTooManyConsumers) {
		return found, err
	}
	if found, err = r.Service.TreeShow(ctx, root, parts...); err != nil {
		return nil, err
	}
	found.Consumers = nil
	return found, r.Progress.aside(func() error {
		_, err := fmt.Fprintf(r.Stderr, "berth: the tree of %s has too many consumers to show; list them with 'berth consumer list --in-tree %s'\n", root, root)
		return err
	})
}
