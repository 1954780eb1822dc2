// Package consumers answers the question that a reshape depends on and that no
// service can answer: which part of what a consumer has is on which device of
// the host.
//
// The answers come from a file that somebody wrote (File), from the kernel's own
// books (Cgroup), or from arithmetic where it does not matter as long as it fits
// (Fit); Chain asks several in turn. The package knows neither providers nor
// trees: devices have names such as numa:0, and finding their providers is the
// driver's.
package consumers

import (
	"cmp"
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
)

// Share is what a consumer uses of one device.
type Share struct {
	// Device is numa:0 (a NUMA node of the kernel's number), pci:0000:03:00.0
	// (a PCI device of the kernel's address), gpu:0000:03:00.0, or the name of a
	// provider.
	Device string `json:"device"`
	// Resources are amounts by class, none of them 0.
	Resources client.Resources `json:"resources"`
}

// Source knows where consumers are. Sources may be asked by several goroutines.
// Whoever asks about all consumers of a reshape uses Ask, which asks in a good
// order.
type Source interface {
	// Shares says how have, which is what the consumer has of the classes that
	// are moved, is spread over devices. Known is false, without error, for
	// a consumer that this source knows nothing of. The shares are sorted by
	// device, with one entry a device, and hold no other class than have. Their
	// sum should be have; where it is not, it is for the driver to decide whether
	// reality or the books win.
	Shares(ctx context.Context, consumer uuid.UUID, have client.Resources) (shares []Share, known bool, err error)
}

// Attempt is implemented by sources that remember something within a reshape:
// what they read, or what they gave away.
type Attempt interface {
	// Begin forgets it all.
	Begin()
}

// Begin tells a source, if it has a memory, that an attempt starts.
func Begin(source Source) {
	if remembering, ok := source.(Attempt); ok {
		remembering.Begin()
	}
}

// Ask begins an attempt and asks a source about all its consumers, the biggest
// first, so that the big ones find room undivided. Each source of a Chain is asked
// about all of them before the next one is, so that a Fit finds room around those
// whose place is known. Unknown are the consumers that no source knows, in no
// order that means anything.
func Ask(ctx context.Context, source Source, have map[uuid.UUID]client.Resources) (shares map[uuid.UUID][]Share, unknown []uuid.UUID, err error) {
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

// biggestFirst compares by the classes in the order of their names, which puts
// memory before processors.
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

// Chain asks one source after the other; the first that knows a consumer answers
// for it. A Fit in the chain learns what the others answered.
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

// tell lets the Fits of a chain know what another source answered.
func (c Chain) tell(answered int, consumer uuid.UUID, shares []Share) {
	for at, source := range c {
		if fit, ok := source.(*Fit); ok && at != answered {
			fit.Take(consumer, shares)
		}
	}
}
