// Package consumers finds out what a reshape needs and no service has: which part of the allocations of a consumer is
// on which device of the host.
//
// The sources are a file of the operator (File), the cgroups of the kernel (Cgroup), or the free capacity where any
// device will do (Fit); Chain queries several in turn. It is not for providers or trees: devices have names such as
// numa:0, and the driver finds their providers.
package consumers

import (
	"cmp"
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
)

// Share is the amounts that a consumer uses of one device.
type Share struct {
	// Device is numa:0 (a NUMA node by its number in the kernel), pci:0000:03:00.0 (a PCI device by its address in the
	// kernel), gpu:0000:03:00.0, or the name of a provider.
	Device string `json:"device"`
	// Resources are amounts by class, none of them 0.
	Resources client.Resources `json:"resources"`
}

// Source finds the shares of consumers. It must be safe for concurrent use. For all consumers of a reshape call
// CollectShares, which queries them in the best order.
type Source interface {
	// Shares returns how have, the amounts of the consumer of the classes that move, is spread over devices. known is
	// false, without an error, for a consumer that is unknown to this source. The shares are sorted by device, one for
	// each device, and have only classes of have. Their sum should be have; otherwise the driver decides whether the
	// shares or the allocations are right.
	Shares(ctx context.Context, consumer uuid.UUID, have client.Resources) (shares []Share, known bool, err error)
}

// Attempt is the interface of sources with state within a reshape: data that they read, or capacity that they assigned.
type Attempt interface {
	// Begin resets this state.
	Begin()
}

// Begin resets the state of a source if it implements Attempt.
func Begin(source Source) {
	if remembering, ok := source.(Attempt); ok {
		remembering.Begin()
	}
}

// CollectShares begins an attempt and queries a source for all its consumers, the largest first, so that large ones fit
// on one device. It queries each source of a Chain for all of them before the next one, so that a Fit knows the
// capacity that known consumers use. unknown are the consumers that no source knows, in no particular order.
func CollectShares(ctx context.Context, source Source, have map[uuid.UUID]client.Resources) (shares map[uuid.UUID][]Share, unknown []uuid.UUID, err error) {
	Begin(source)
	shares = make(map[uuid.UUID][]Share, len(have))
	unknown = biggestFirst(have)
	sources, chained := source.(Chain)
	if !chained {
		sources = Chain{source}
	}
	for at, one := range sources {
		var rest []uuid.UUID
		for _, consumer := range unknown {
			found, known, err := one.Shares(ctx, consumer, have[consumer])
			if err != nil {
				return nil, nil, err
			}
			if !known {
				rest = append(rest, consumer)
				continue
			}
			shares[consumer] = found
			sources.tell(at, consumer, found)
		}
		unknown = rest
	}
	return shares, unknown, nil
}

// biggestFirst compares amounts by class in the order of names, which compares memory before CPUs.
func biggestFirst(have map[uuid.UUID]client.Resources) []uuid.UUID {
	classes := map[string]bool{}
	consumers := make([]uuid.UUID, 0, len(have))
	for consumer, resources := range have {
		consumers = append(consumers, consumer)
		for class := range resources {
			classes[class] = true
		}
	}
	order := sortedKeys(classes)
	slices.SortFunc(consumers, func(x, y uuid.UUID) int {
		for _, class := range order {
			if c := cmp.Compare(have[y][class], have[x][class]); c != 0 {
				return c
			}
		}
		return slices.Compare(x[:], y[:])
	})
	return consumers
}

// Chain is a list of sources, queried in order; the first that knows a consumer decides. A Fit in the chain subtracts
// the shares that the others returned.
type Chain []Source

// Shares implements Source.
func (c Chain) Shares(ctx context.Context, consumer uuid.UUID, have client.Resources) ([]Share, bool, error) {
	for at, source := range c {
		if shares, known, err := source.Shares(ctx, consumer, have); known || err != nil {
			if err == nil {
				c.tell(at, consumer, shares)
			}
			return shares, known, err
		}
	}
	return nil, false, nil
}

// Begin implements Attempt.
func (c Chain) Begin() {
	for _, source := range c {
		Begin(source)
	}
}

// tell assigns the shares of another source in the Fits of a chain.
func (c Chain) tell(answered int, consumer uuid.UUID, shares []Share) {
	for at, source := range c {
		if fit, ok := source.(*Fit); ok && at != answered {
			fit.Assign(consumer, shares)
		}
	}
}
