package apicommand

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/frame"
	api "github.com/berthd/berth/gen/client"
	"github.com/berthd/berth/internal/draw"
)

// consumersOfShown returns the consumers of a tree that the service has shown: first those that use the tree, then those
// that use only sharing providers.
func consumersOfShown(tree *client.ShownTree) []draw.Consumer {
	consumers := make([]draw.Consumer, 0, len(tree.Consumers))
	for id, consumer := range tree.Consumers {
		names := make(map[uuid.UUID]string, len(consumer.Places))
		for provider, place := range consumer.Places {
			names[provider] = place.Name
		}
		item := drawnConsumer(id, &consumer.Consumer, names)
		item.SharingOnly = consumer.SharingOnly
		consumers = append(consumers, item)
	}
	sortConsumers(consumers)
	return consumers
}

// drawnConsumer returns a consumer with its allocations in the order of the names of their providers.
func drawnConsumer(id uuid.UUID, record *client.Consumer, names map[uuid.UUID]string) draw.Consumer {
	consumer := draw.Consumer{UUID: id, Type: record.Type, ProjectID: record.ProjectID, UserID: record.UserID, Generation: record.Generation, Lease: record.Lease}
	for _, provider := range sortedIDs(record.Allocations) {
		consumer.Allocations = append(consumer.Allocations, draw.ConsumerAllocation{Provider: provider, Name: names[provider], Resources: record.Allocations[provider]})
	}
	slices.SortStableFunc(consumer.Allocations, func(x, y draw.ConsumerAllocation) int { return draw.CompareNames(x.Name, y.Name) })
	return consumer
}

func sortConsumers(all []draw.Consumer) {
	slices.SortFunc(all, func(x, y draw.Consumer) int {
		if x.SharingOnly != y.SharingOnly {
			if y.SharingOnly {
				return -1
			}
			return 1
		}
		return bytes.Compare(x.UUID[:], y.UUID[:])
	})
}

// consumers reads the consumers of the members of a tree from a service that cannot show trees: with one request for each
// member, and then one for each consumer. It returns them by the root of the tree; nil unless Consumers is set.
func (r *TreeReader) consumers(ctx context.Context, members []api.Provider) (map[uuid.UUID][]draw.Consumer, error) {
	if !r.Consumers || len(members) == 0 {
		return nil, nil
	}
	names := newProviderNames(r.Service, members...)
	ids := map[uuid.UUID]bool{}
	for _, member := range members {
		found, _, err := r.Service.ProviderAllocationList(ctx, member.UUID)
		if errors.Is(err, client.ErrNotFound) {
			continue // another client has deleted the provider
		}
		if err != nil {
			return nil, err
		}
		for id := range found {
			ids[id] = true
		}
	}
	result := []draw.Consumer{}
	for id := range ids {
		record, err := r.Service.AllocationList(ctx, id)
		if err != nil {
			return nil, err
		}
		if len(record.Allocations) == 0 {
			continue // another client has deleted its allocations
		}
		if err := names.load(ctx, slices.Collect(maps.Keys(record.Allocations))); err != nil {
			return nil, err
		}
		result = append(result, drawnConsumer(id, record, names.known))
	}
	sortConsumers(result)
	return map[uuid.UUID][]draw.Consumer{members[0].RootProviderUUID: result}, nil
}

// printConsumers prints the consumers of a tree as a table below its drawing, with a row for each of their providers.
func printConsumers(out io.Writer, consumers []draw.Consumer) error {
	if len(consumers) == 0 {
		_, err := fmt.Fprint(out, "\nNo consumer uses this tree.\n")
		return err
	}
	heading := []string{"CONSUMER", "TYPE", "PROJECT", "USER"}
	hasLeases := slices.ContainsFunc(consumers, func(consumer draw.Consumer) bool { return consumer.Lease != nil })
	if hasLeases {
		heading = append(heading, "LEASE")
	}
	table := [][]string{append(heading, "PROVIDER", "RESOURCES")}
	for _, consumer := range consumers {
		leading := []string{consumer.UUID.String(), frame.OrDash(consumer.Type), frame.OrDash(consumer.ProjectID), frame.OrDash(consumer.UserID)}
		if hasLeases {
			leading = append(leading, leaseText(consumer.Lease, time.Now()))
		}
		for i, on := range consumer.Allocations {
			note := ""
			switch {
			case i > 0:
				leading = make([]string, len(leading)) // a repeated consumer is harder to read
			case consumer.SharingOnly:
				note = "sharing only"
			}
			name := cmp.Or(on.Name, on.Provider.String())
			table = append(table, append(slices.Clone(leading), name, resourcesText(on.Resources), note))
		}
	}
	_, err := fmt.Fprint(out, "\n"+frame.LayOut(table))
	return err
}

// resourcesText returns amounts as in DISK_GB=20 VCPU=2, in the order of the classes.
func resourcesText(of client.Resources) string {
	amounts := make(client.ClassAmounts, 0, len(of))
	for _, class := range sortedKeys(of) {
		amounts = append(amounts, client.ClassAmount{Class: class, Amount: int64(of[class])})
	}
	return amountsText(amounts)
}
