// Package consumers determines the devices of a host that each consumer uses, and their shares of its allocations. A
// reshape needs these shares, and the server does not have them.
//
// The sources are a file by the operator (File), the control groups of the kernel (Cgroup), and the free capacity (Fit)
// for consumers that may use any device. Chain queries several sources in order. The package is not for providers or
// trees: devices have names such as numa:0, and the driver finds their providers.
package consumers

import (
	"cmp"
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
)

// Share is the part of a consumer's allocations on one device.
type Share struct {
	// Device is numa:0 (a NUMA node by its number in the kernel), pci:0000:03:00.0 (a PCI device by its address in the
	// kernel), gpu:0000:03:00.0, or the name of a provider.
	Device string `json:"device"`
	// Resources has amounts by class, without amounts of 0.
	Resources client.Resources `json:"resources"`
}

// Source is the interface for finding the shares of consumers. It must be safe for concurrent use. CollectShares queries
// a source for all consumers of a reshape in the best order.
type Source interface {
	// Shares returns the shares of a consumer; have is its amounts of the classes that move. known is false, without an
	// error, for a consumer that this source does not know. The shares are sorted by device, one for each device, and
	// have only classes of have. Their sum should be have; otherwise the driver decides whether it uses the shares or
	// the allocations.
	Shares(ctx context.Context, consumer uuid.UUID, have client.Resources) (shares []Share, known bool, err error)
}

// Attempt is the interface of sources with state during a reshape, for example data from a file or assigned capacity.
type Attempt interface {
	// Begin resets this state.
	Begin()
}

// Begin resets the state of a source if it implements Attempt.
func Begin(source Source) {
	if attempt, ok := source.(Attempt); ok {
		attempt.Begin()
	}
}

// CollectShares begins an attempt and queries a source for all consumers, the largest first, so that large ones fit on
// one device. It queries each source of a Chain for all consumers before the next source, so that a Fit can subtract the
// capacity that known consumers use. unknown lists the consumers that no source knows.
func CollectShares(ctx context.Context, source Source, have map[uuid.UUID]client.Resources) (shares map[uuid.UUID][]Share, unknown []uuid.UUID, err error) {
	Begin(source)
	shares = make(map[uuid.UUID][]Share, len(have))
	unknown = largestFirst(have)
	sources, chained := source.(Chain)
	if !chained {
		sources = Chain{source}
	}
	for at, source := range sources {
		var rest []uuid.UUID
		for _, consumer := range unknown {
			found, known, err := source.Shares(ctx, consumer, have[consumer])
			if err != nil {
				return nil, nil, err
			}
			if !known {
				rest = append(rest, consumer)
				continue
			}
			shares[consumer] = found
			sources.assign(at, consumer, found)
		}
		unknown = rest
	}
	return shares, unknown, nil
}

// largestFirst sorts consumers by their amounts, class by class in alphabetical order: memory before CPUs.
func largestFirst(have map[uuid.UUID]client.Resources) []uuid.UUID {
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

// Chain is a list of sources. It queries them in order and returns the shares of the first source that knows the
// consumer. A Fit in the chain subtracts the shares of the other sources.
type Chain []Source

// Shares implements Source.
func (c Chain) Shares(ctx context.Context, consumer uuid.UUID, have client.Resources) ([]Share, bool, error) {
	for at, source := range c {
		if shares, known, err := source.Shares(ctx, consumer, have); known || err != nil {
			if err == nil {
				c.assign(at, consumer, shares)
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

// assign subtracts the shares of a source in the Fits of the chain. origin is the index of the source.
func (c Chain) assign(origin int, consumer uuid.UUID, shares []Share) {
	for at, source := range c {
		if fit, ok := source.(*Fit); ok && at != origin {
			fit.Assign(consumer, shares)
		}
	}
}
