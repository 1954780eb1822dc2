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

// carry takes allocations along with the inventory that moves. What has only one
// place to go to goes there; of the rest the source of consumers says who uses
// what where. Either all is carried or nothing is changed.
func (e *editor) carry(ctx context.Context, moves []move, allocations client.Allocations) error {
	moving := map[uuid.UUID]*movingAllocations{}
	for consumer, record := range allocations {
		if taken := e.takeMoving(record, moves); taken != nil {
			moving[consumer] = taken
		}
	}
	answers, wrong := e.answers(ctx, moves, moving, allocations)
	after := client.Allocations{}
	gained := map[uuid.UUID]client.Resources{}
	for _, consumer := range allocations.Consumers() {
		taken := moving[consumer]
		if taken == nil {
			continue
		}
		if shares, known := answers[consumer]; known {
			if err := e.divide(ctx, consumer, shares, taken); err != nil {
				wrong = errors.Join(wrong, fmt.Errorf("consumer %s: %w", consumer, err))
			}
		}
		wrong = errors.Join(wrong, e.load(taken, gained))
		after[consumer] = taken.record
	}
	if wrong != nil {
		return wrong
	}
	if err := e.checkBounds(allocations, after, gained); err != nil {
		return err
	}
	for consumer, record := range after {
		allocations[consumer].Allocations = record.Allocations
	}
	return nil
}

// movingAllocations is what is on the way of one consumer.
type movingAllocations struct {
	record *client.Consumer
	// have is what the source has to divide, and to says where it may go.
	have client.Resources
	to   map[string][]destination
	// loads are what goes where.
	loads map[destination]int64
}

// takeMoving takes what moves out of a copy of the record; nil if nothing does.
func (e *editor) takeMoving(record *client.Consumer, moves []move) *movingAllocations {
	c := &movingAllocations{record: record.Clone(), have: client.Resources{}, to: map[string][]destination{}, loads: map[destination]int64{}}
	for provider, resources := range record.Allocations {
		for class, amount := range resources {
			one, moved := findMove(moves, provider, class)
			if !moved {
				continue
			}
			delete(c.record.Allocations[provider], class)
			if len(one.to) == 1 {
				c.loads[one.to[0]] += amount
				continue
			}
			c.have[class] += amount
			c.to[class] = one.to
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

// divide loads what a consumer's source said. Where that is another sum than the
// books have, it is right: the source looked at the machine.
func (e *editor) divide(ctx context.Context, consumer uuid.UUID, shares []consumers.Share, c *movingAllocations) error {
	got := client.Resources{}
	for _, share := range shares {
		for class, amount := range share.Resources {
			booked, to, err := e.resolve(share.Device, class, c)
			switch {
			case err != nil:
				return err
			case booked == "":
				continue // of a class that does not move
			case amount < 0 || amount > maxTotal:
				return fmt.Errorf("its source says %d of %s on %s, which is no amount", amount, class, share.Device)
			case amount > 0:
				got[booked] += amount
				c.loads[to] += amount
			}
		}
	}
	for class, amount := range c.have {
		switch {
		case got[class] == 0:
			return fmt.Errorf("its source knows it, but not where its %d of %s are; complete its shares", amount, class)
		case got[class] != amount:
			e.driver.options.Log.WarnContext(ctx, "a consumer uses another amount than it has allocated; the allocation follows what it uses",
				"consumer", consumer, "class", class, "allocated", amount, "used", got[class])
		}
	}
	return nil
}

// resolve finds where a share of a class goes, and as part of which class of have.
// A share may tell the kind of CPU; one that tells a kind that its place does not
// have gets the other, as the move says.
func (e *editor) resolve(device, class string, c *movingAllocations) (booked string, to destination, err error) {
	other, _ := otherCPU(class)
	switch _, has := c.have[class]; {
	case has:
		booked = class
	case c.have[other] > 0 && slices.ContainsFunc(c.to[other], func(one destination) bool { return one.class == class }):
		booked = other
	default:
		return "", to, nil
	}
	name := e.named(device)
	for _, want := range []string{class, other} {
		for _, one := range c.to[booked] {
			if one.at.name == name && one.class == want {
				return booked, one, nil
			}
		}
	}
	return "", to, fmt.Errorf("its source has %s on %q, but no provider for that has the class; there are %s", class, device, names(c.to[booked]))
}

// named is the provider that a device of a share stands on.
func (e *editor) named(device string) string {
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

// load puts everything into the record and notes what providers gained.
func (e *editor) load(c *movingAllocations, gained map[uuid.UUID]client.Resources) error {
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
