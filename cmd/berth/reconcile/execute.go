package reconcile

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
)

// Outcome is what became of a change.
type Outcome string

// The outcomes of changes.
const (
	// Repaired: this run made the change.
	Repaired Outcome = "repaired"
	// Unneeded: the server has the wanted state, for example because an interrupted run made the change.
	Unneeded Outcome = "unneeded"
	// Changed: the consumer or provider has changed since the plan was made. The change was not made.
	Changed Outcome = "changed"
	// Failed: the server rejected the change.
	Failed Outcome = "failed"
)

// execute makes the change unless its state has changed. It can be repeated. The error explains Changed and Failed.
func (c *Change) execute(ctx context.Context, service *client.Client) (Outcome, error) {
	var outcome Outcome
	var err error
	switch {
	case c.Consumer != nil:
		outcome, err = c.Consumer.execute(ctx, service)
	case c.Tree.Delete:
		outcome, err = c.Tree.delete(ctx, service)
	default:
		outcome, err = c.Tree.create(ctx, service)
	}
	if errors.Is(err, client.ErrConcurrentUpdate) && !errors.Is(err, client.ErrOutcomeUnknown) {
		outcome = Changed
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", c.subject(), err)
	}
	return outcome, err
}

// subject names the consumer or the tree of a change.
func (c *Change) subject() string {
	if c.Consumer != nil {
		return "consumer " + c.Consumer.UUID.String()
	}
	return "tree of " + c.Tree.Name
}

// errChanged is the error of a change whose state has changed.
var errChanged = errors.New("it has changed since the plan was made; run the command again")

// execute replaces the allocations of the consumer.
func (c *ConsumerChange) execute(ctx context.Context, service *client.Client) (Outcome, error) {
	current, err := service.AllocationList(ctx, c.UUID)
	if err != nil {
		return Failed, err
	}
	switch {
	case equalAllocations(current.Allocations, c.After):
		return Unneeded, nil
	case !equalAllocations(current.Allocations, c.Before), !equalGenerations(current.Generation, c.Generation):
		return Changed, errChanged
	case len(c.After) == 0:
		err = service.AllocationDeleteAt(ctx, c.UUID, *c.Generation)
	case c.Generation == nil:
		wanted := &client.Consumer{Allocations: c.After, ProjectID: c.ProjectID, UserID: c.UserID, Type: c.Type}
		err = service.AllocationReplace(ctx, c.UUID, wanted, nil)
	default:
		_, err = service.AllocationPatch(ctx, c.UUID, client.AllocationChanges{Allocations: c.differences(), Generation: c.Generation})
	}
	if err != nil {
		return Failed, err
	}
	return Repaired, nil
}

// differences returns the amounts that a patch changes.
func (c *ConsumerChange) differences() map[uuid.UUID]map[string]*int64 {
	changes := map[uuid.UUID]map[string]*int64{}
	for provider, before := range c.Before {
		after, stays := c.After[provider]
		if !stays {
			changes[provider] = nil
			continue
		}
		for class := range before {
			if _, keeps := after[class]; !keeps {
				setAmount(changes, provider, class, nil)
			}
		}
	}
	for provider, after := range c.After {
		for class, amount := range after {
			if previous, had := c.Before[provider][class]; !had || previous != amount {
				setAmount(changes, provider, class, &amount)
			}
		}
	}
	return changes
}

func setAmount(changes map[uuid.UUID]map[string]*int64, provider uuid.UUID, class string, amount *int64) {
	if changes[provider] == nil {
		changes[provider] = map[string]*int64{}
	}
	changes[provider][class] = amount
}

// delete deletes the providers of the tree, children before parents, each with its generation.
func (t *TreeChange) delete(ctx context.Context, service *client.Client) (Outcome, error) {
	there, err := t.generations(ctx, service)
	switch {
	case err != nil:
		return Failed, err
	case len(there) == 0:
		return Unneeded, nil
	}
	for _, provider := range t.Providers {
		if generation, exists := there[provider.UUID]; exists && (provider.Generation == nil || generation != *provider.Generation) {
			return Changed, errChanged
		}
	}
	for _, provider := range slices.Backward(t.Providers) {
		if provider.Generation == nil {
			return Failed, fmt.Errorf("provider %s has no generation in the plan", provider.Name)
		}
		if err := service.ProviderDeleteAt(ctx, provider.UUID, *provider.Generation); err != nil && !errors.Is(err, client.ErrNotFound) {
			return Failed, fmt.Errorf("provider %s stays: %w", provider.Name, err)
		}
	}
	return Repaired, nil
}

// create creates the providers of the tree that do not exist, in one transaction.
func (t *TreeChange) create(ctx context.Context, service *client.Client) (Outcome, error) {
	there, err := t.generations(ctx, service)
	if err != nil {
		return Failed, err
	}
	providers := slices.Clone(t.Providers)
	for i := range providers {
		providers[i].Generation = nil
		if generation, exists := there[providers[i].UUID]; exists {
			providers[i].Generation = &generation
		}
	}
	changed, err := service.TreeReplace(ctx, t.Root, client.WantedTree{Providers: providers})
	if err != nil {
		return Failed, err
	}
	for _, provider := range changed.ResourceProviders {
		if provider.Change != "unchanged" {
			return Repaired, nil
		}
	}
	return Unneeded, nil
}

// generations returns the generations of the providers that exist in the tree.
func (t *TreeChange) generations(ctx context.Context, service *client.Client) (map[uuid.UUID]int64, error) {
	providers, err := service.ProviderList(ctx, client.ProviderFilter{InTree: t.Root.String()})
	if err != nil {
		return nil, err
	}
	generations := map[uuid.UUID]int64{}
	for _, provider := range providers {
		generations[provider.UUID] = provider.Generation
	}
	return generations, nil
}

func equalAllocations(a, b map[uuid.UUID]client.Resources) bool {
	return maps.EqualFunc(a, b, func(x, y client.Resources) bool { return maps.Equal(x, y) })
}

func equalGenerations(a, b *int64) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}
