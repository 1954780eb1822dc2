package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/berthd/berth/agent/consumers"
	"github.com/berthd/berth/client"
)

// moveAllocations moves the allocations of the inventory that moves. If it has several destinations, the source of
// consumers determines the shares of each. On an error it leaves the allocations unchanged.
func (e *editor) moveAllocations(ctx context.Context, moves []move, allocations client.Allocations) error {
	moving := map[uuid.UUID]*movingAllocations{}
	for consumer, record := range allocations {
		if taken := e.takeMoving(record, moves); taken != nil {
			moving[consumer] = taken
		}
	}
	known, errs := e.collectShares(ctx, moves, moving, allocations)
	after := client.Allocations{}
	gained := map[uuid.UUID]client.Resources{}
	for _, consumer := range allocations.Consumers() {
		taken := moving[consumer]
		if taken == nil {
			continue
		}
		if shares, ok := known[consumer]; ok {
			if err := e.divide(ctx, consumer, shares, taken); err != nil {
				errs = errors.Join(errs, fmt.Errorf("consumer %s: %w", consumer, err))
			}
		}
		errs = errors.Join(errs, e.addLoads(taken, gained))
		after[consumer] = taken.record
	}
	if errs != nil {
		return errs
	}
	if err := e.checkBounds(allocations, after, gained); err != nil {
		return err
	}
	for consumer, record := range after {
		allocations[consumer].Allocations = record.Allocations
	}
	return nil
}

// movingAllocations is the part of a consumer's allocations that moves.
type movingAllocations struct {
	record *client.Consumer // without the moving allocations
	// have is the amounts with several destinations, to has their destinations by class.
	have client.Resources
	to   map[string][]destination
	// loads is the amounts by destination.
	loads map[destination]int64
}

// takeMoving removes the moving allocations from a copy of the record; nil if there are none.
func (e *editor) takeMoving(record *client.Consumer, moves []move) *movingAllocations {
	c := &movingAllocations{record: record.Clone(), have: client.Resources{}, to: map[string][]destination{}, loads: map[destination]int64{}}
	for provider, resources := range record.Allocations {
		for class, amount := range resources {
			move, moved := findMove(moves, provider, class)
			if !moved {
				continue
			}
			delete(c.record.Allocations[provider], class)
			if len(move.to) == 1 {
				c.loads[move.to[0]] += amount
				continue
			}
			c.have[class] += amount
			c.to[class] = move.to
		}
		if len(c.record.Allocations[provider]) == 0 {
			delete(c.record.Allocations, provider)
		}
	}
	if len(c.have) == 0 && len(c.loads) == 0 {
		return nil
	}
	return c
}

// divide adds the shares of a consumer to its loads. If their sum differs from the allocation, the shares are used and
// a warning is logged, because the source reads the actual use.
func (e *editor) divide(ctx context.Context, consumer uuid.UUID, shares []consumers.Share, c *movingAllocations) error {
	got := client.Resources{}
	for _, share := range shares {
		for class, amount := range share.Resources {
			allocated, to, err := e.resolve(share.Device, class, c)
			switch {
			case err != nil:
				return err
			case allocated == "":
				continue // the class does not move
			case amount < 0 || amount > maxTotal:
				return fmt.Errorf("its source returns %d of %s on %s, which is not a valid amount", amount, class, share.Device)
			case amount > 0:
				got[allocated] += amount
				c.loads[to] += amount
			}
		}
	}
	for class, amount := range c.have {
		switch {
		case got[class] == 0:
			return fmt.Errorf("its source returns no device for its %d of %s; complete its shares", amount, class)
		case got[class] != amount:
			e.driver.options.Log.WarnContext(ctx, "a consumer uses another amount than it has allocated; setting the allocation to the used amount",
				"consumer", consumer, "class", class, "allocated", amount, "used", got[class])
		}
	}
	return nil
}

// resolve returns the destination of a share, and the class of c.have to which it belongs; empty if the class does not
// move. A share may name VCPU or PCPU; if the provider has only the other one, the share becomes that class.
func (e *editor) resolve(device, class string, c *movingAllocations) (allocated string, to destination, err error) {
	other, _ := otherCPU(class)
	switch _, has := c.have[class]; {
	case has:
		allocated = class
	case c.have[other] > 0 && slices.ContainsFunc(c.to[other], func(item destination) bool { return item.class == class }):
		allocated = other
	default:
		return "", to, nil
	}
	name := e.providerName(device)
	for _, want := range []string{class, other} {
		for _, destination := range c.to[allocated] {
			if destination.at.name == name && destination.class == want {
				return allocated, destination, nil
			}
		}
	}
	return "", to, fmt.Errorf("its source returns %s on %q, but the provider of this device has no such class; providers with it: %s", class, device, names(c.to[allocated]))
}

// providerName returns the name of the provider of a device in a share.
func (e *editor) providerName(device string) string {
	if number, is := strings.CutPrefix(device, "numa:"); is {
		name := e.wanted.node + "_NUMA" + number
		if e.wanted.find(name) == nil && e.driver.options.Layout != NUMA {
			return e.wanted.node
		}
		return name
	}
	for _, prefix := range []string{"pci:", "gpu:"} {
		if address, is := strings.CutPrefix(device, prefix); is {
			if found, known := e.wanted.machine.device(address); known && found.PhysicalFunction != "" {
				address = found.PhysicalFunction
			}
			return deviceName(e.wanted.node, address)
		}
	}
	return device
}

// addLoads adds the loads to the allocations in the record, and to the amounts that providers gain.
func (e *editor) addLoads(c *movingAllocations, gained map[uuid.UUID]client.Resources) error {
	for to, amount := range c.loads {
		node, err := e.tree.Provider(to.at.name)
		if err != nil {
			return err
		}
		if c.record.Allocations[node.UUID] == nil {
			c.record.Allocations[node.UUID] = client.Resources{}
		}
		c.record.Allocations[node.UUID][to.class] += amount
		if gained[node.UUID] == nil {
			gained[node.UUID] = client.Resources{}
		}
		gained[node.UUID][to.class] += amount
	}
	return nil
}
