package host

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/berthd/berth/agent/consumers"
	"github.com/berthd/berth/client"
)

// collectShares returns the shares of all consumers whose allocations have several destinations. The error names the
// unknown consumers. The shares of known consumers are valid even then, so that the caller can report all errors.
func (e *editor) collectShares(ctx context.Context, moves []move, moving map[uuid.UUID]*movingAllocations, allocations client.Allocations) (knownShares, error) {
	have := map[uuid.UUID]client.Resources{}
	for consumer, taken := range moving {
		if len(taken.have) > 0 {
			have[consumer] = maps.Clone(taken.have)
		}
	}
	known, unknown := knownShares{}, slices.Collect(maps.Keys(have))
	var err error
	if source := e.driver.options.Consumers; source != nil && len(have) > 0 {
		if known, unknown, err = consumers.CollectShares(ctx, source, have); err != nil {
			return known, err
		}
	}
	if len(unknown) == 0 {
		return known, nil
	}
	if e.driver.options.Fit {
		for _, shares := range known {
			for i := range shares {
				shares[i].Device = e.providerName(shares[i].Device)
			}
		}
		fit := consumers.NewFit(e.freeCapacity(moves, moving, allocations))
		fitted, _, err := consumers.CollectShares(ctx, consumers.Chain{known, fit}, have)
		return fitted, err
	}
	var list []string
	for _, consumer := range unknown {
		list = append(list, fmt.Sprintf("%s (%s)", consumer, text(have[consumer])))
	}
	slices.Sort(list)
	return known, fmt.Errorf("no source knows the devices of consumers whose allocations must be divided: %s. "+
		"Name their shares in a file, or assign them by free capacity (--consumers fit)", strings.Join(list, ", "))
}

// knownShares is a source with the shares of an earlier query.
type knownShares map[uuid.UUID][]consumers.Share

// Shares implements consumers.Source.
func (k knownShares) Shares(_ context.Context, consumer uuid.UUID, _ client.Resources) ([]consumers.Share, bool, error) {
	shares, known := k[consumer]
	return shares, known, nil
}

// freeCapacity returns the free capacity of the destinations of divided allocations, by name of the provider. It
// subtracts the undivided allocations that move there.
func (e *editor) freeCapacity(moves []move, moving map[uuid.UUID]*movingAllocations, allocations client.Allocations) map[string]client.Resources {
	all := map[string]client.Resources{}
	for _, move := range moves {
		for _, to := range move.to {
			_, has := to.at.inventories[move.class]
			if len(move.to) == 1 || has && to.class != move.class {
				continue // only consumers that a source knows get the other CPU class
			}
			node, err := e.tree.Provider(to.at.name)
			if err != nil {
				continue // cannot happen: writeProviders has created it
			}
			free := capacity(node.Inventories[to.class])
			for consumer, record := range allocations {
				if taken, moves := moving[consumer]; moves {
					record = taken.record
					free -= taken.loads[to]
				}
				free -= record.Allocations[node.UUID][to.class]
			}
			if all[to.at.name] == nil {
				all[to.at.name] = client.Resources{}
			}
			all[to.at.name][move.class] = free
		}
	}
	return all
}

// text returns resources as text, sorted by class.
func text(resources client.Resources) string {
	var parts []string
	for _, class := range slices.Sorted(maps.Keys(resources)) {
		parts = append(parts, fmt.Sprintf("%s %d", class, resources[class]))
	}
	return strings.Join(parts, ", ")
}

// names returns the names of the providers of destinations as text.
func names(all []destination) string {
	var parts []string
	for _, destination := range all {
		if !slices.Contains(parts, destination.at.name) {
			parts = append(parts, destination.at.name)
		}
	}
	return strings.Join(parts, ", ")
}
