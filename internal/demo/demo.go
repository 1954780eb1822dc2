package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/client/baremetal"
	api "github.com/berthd/berth/gen/client"
)

// DefaultHosts is a cloud of some hundred trees, which loads in a few seconds.
const DefaultHosts = 300

// defaultParallel is the number of concurrent requests.
const defaultParallel = 4

// These are errors of Load: the server has providers of others, or the cloud already.
var (
	ErrForeign = errors.New("the server has providers of others")
	ErrLoaded  = errors.New("the server has the sample data, or a part of it")
)

// Options are the choices of Load. Progress, if not nil, is called after each request, one call at a time. Parallel is the
// number of concurrent requests, 0 the default: the rows of two clouds that were loaded with 1 have the same order.
type Options struct {
	Hosts    int
	Force    bool
	Progress func(step string, done, total int)
	Parallel int
}

// Summary is what a cloud has.
type Summary struct {
	Trees       int `json:"trees"`
	Providers   int `json:"providers"`
	Consumers   int `json:"consumers"`
	Nodes       int `json:"nodes"`
	Allocations int `json:"node_allocations"`
	Unplaced    int `json:"queries_without_candidates"`
}

// Load creates the cloud. It returns ErrLoaded or ErrForeign, and has changed nothing, if the server has the cloud or a
// part of it, or root providers without Trait; Force permits the latter. It needs berth 1.3.
func Load(ctx context.Context, service *client.Client, options Options) (Summary, error) {
	var sum Summary
	if err := check(ctx, service, options.Force); err != nil {
		return sum, err
	}
	if err := service.TraitEnsure(ctx, Trait); err != nil {
		return sum, err
	}
	all := trees(options.Hosts)
	for _, tree := range all {
		sum.Trees++
		sum.Providers += len(tree.Providers)
		sum.Consumers += len(tree.Consumers)
	}
	progress := counter{tell: options.Progress, parallel: options.Parallel}
	// The pools first: consumers of hosts use them.
	for _, part := range [][]tree{all[:racks], all[racks:]} {
		if err := progress.each(ctx, "trees", len(part), func(ctx context.Context, i int) error {
			_, err := service.TreeReplace(ctx, part[i].root, part[i].WantedTree)
			if err != nil {
				return fmt.Errorf("%s: %w", part[i].Providers[0].Name, err)
			}
			return nil
		}); err != nil {
			return sum, err
		}
	}
	if err := shrink(ctx, service); err != nil {
		return sum, err
	}
	if err := loadMachines(ctx, baremetal.New(service), &progress, &sum); err != nil {
		return sum, err
	}
	return sum, ask(ctx, service, &sum)
}

// check returns an error if the server has providers in the way.
func check(ctx context.Context, service *client.Client, force bool) error {
	all, err := service.ProviderList(ctx, client.ProviderFilter{})
	if err != nil {
		return err
	}
	marked, err := markedProviders(ctx, service)
	switch {
	case err != nil:
		return err
	case len(marked) > 0:
		return fmt.Errorf("%w: %d providers", ErrLoaded, len(marked))
	case len(all) > 0 && !force:
		return fmt.Errorf("%w: %d, such as %s", ErrForeign, len(all), all[0].Name)
	}
	return nil
}

// markedProviders returns the providers with Trait.
func markedProviders(ctx context.Context, service *client.Client) ([]api.Provider, error) {
	err := service.TraitShow(ctx, Trait)
	if errors.Is(err, client.ErrNotFound) {
		return nil, nil // no cloud was ever loaded
	}
	if err != nil {
		return nil, err
	}
	return service.ProviderList(ctx, client.ProviderFilter{Required: []string{Trait}})
}

// counter reports the progress of concurrent requests.
type counter struct {
	tell     func(string, int, int)
	parallel int
}

// each calls do for each index, some at a time. The first error ends it.
func (c *counter) each(ctx context.Context, step string, total int, do func(context.Context, int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(cmp.Or(c.parallel, defaultParallel))
	var mutex sync.Mutex
	done := 0
	for i := range total {
		group.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			err := do(ctx, i)
			mutex.Lock()
			defer mutex.Unlock()
			done++
			if c.tell != nil {
				c.tell(step, done, total)
			}
			return err
		})
	}
	return group.Wait()
}

// shrink lowers an inventory below what is used, as after a failed memory module.
func shrink(ctx context.Context, service *client.Client) error {
	host := id("provider", "cmp-004")
	inventories, generation, err := service.InventoryList(ctx, host)
	if errors.Is(err, client.ErrNotFound) {
		return nil // fewer hosts
	}
	if err != nil {
		return err
	}
	inventories["MEMORY_MB"] = amount(196_608, 8_192, 1.5)
	_, _, err = service.InventoryReplace(ctx, host, generation, inventories)
	return err
}

// questions find nothing, so that the server has explanations to show.
var questions = []client.CandidateQuery{
	{Resources: "VGPU:1,VCPU:8,MEMORY_MB:16384", Required: []string{"CUSTOM_GPU_H100,CUSTOM_GPU_L40S"}, Limit: 10},
	{Resources: "VCPU:512,MEMORY_MB:4096", Limit: 10},
	{Resources: "PCPU:48,MEMORY_MB:65536", Limit: 10},
}

func ask(ctx context.Context, service *client.Client, sum *Summary) error {
	for _, question := range questions {
		found, err := service.CandidateList(ctx, question)
		if err != nil {
			return err
		}
		if len(found.AllocationRequests) == 0 {
			sum.Unplaced++
		}
	}
	return nil
}

// Remove deletes all providers with Trait, with the allocations of their consumers, the bare metal nodes of the cloud and
// its custom traits, as far as nothing else uses them. It returns the number of trees.
func Remove(ctx context.Context, service *client.Client, progress func(step string, done, total int)) (int, error) {
	marked, err := markedProviders(ctx, service)
	if err != nil {
		return 0, err
	}
	roots := slices.DeleteFunc(slices.Clone(marked), func(provider api.Provider) bool { return provider.RootProviderUUID != provider.UUID })
	slices.Reverse(roots) // hosts before the pools that their consumers use
	counted := counter{tell: progress}
	if err := removeMachines(ctx, baremetal.New(service), &counted); err != nil {
		return 0, err
	}
	if err := counted.each(ctx, "trees", len(roots), func(ctx context.Context, i int) error {
		return service.DeleteHost(ctx, roots[i].UUID, true)
	}); err != nil {
		return 0, err
	}
	for _, trait := range customTraits(trees(12)) {
		var failed *client.Error
		err := service.TraitDelete(ctx, trait)
		inUse := errors.As(err, &failed) && failed.Status == http.StatusConflict
		if err != nil && !inUse && !errors.Is(err, client.ErrNotFound) {
			return len(roots), err
		}
	}
	return len(roots), nil
}
