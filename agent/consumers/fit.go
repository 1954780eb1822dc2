package consumers

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
)

// Fit says of every consumer that it is where room is: whole on the device that
// has the most, divided only where no device takes it whole. It is for workloads
// that nobody has tied to a device, so that any answer that fits is as true as
// another. It knows capacities only: where an inventory has a step or a largest
// unit, a divided consumer may break it, and the service refuses the reshape.
type Fit struct {
	mutex    sync.Mutex
	capacity map[string]client.Resources
	free     map[string]client.Resources
	taken    map[uuid.UUID][]Share
}

// NewFit takes what each device can give: the capacity by class, overcommitment
// included.
func NewFit(capacity map[string]client.Resources) *Fit {
	f := &Fit{capacity: copyOf(capacity)}
	f.Begin()
	return f
}

func copyOf(devices map[string]client.Resources) map[string]client.Resources {
	copied := make(map[string]client.Resources, len(devices))
	for device, resources := range devices {
		copied[device] = maps.Clone(resources)
	}
	return copied
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// Begin implements Attempt: all devices are empty again.
func (f *Fit) Begin() {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.free = copyOf(f.capacity)
	f.taken = map[uuid.UUID][]Share{}
}

// Take notes that a consumer is known to be somewhere, instead of whatever was
// said of it before. Devices that Fit does not know are left out; a device may
// end with less than nothing free, as overcommitted ones do.
func (f *Fit) Take(consumer uuid.UUID, shares []Share) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.giveBack(consumer)
	f.take(consumer, shares)
}

func (f *Fit) take(consumer uuid.UUID, shares []Share) {
	f.taken[consumer] = shares
	f.account(shares, -1)
}

// giveBack makes asking twice about a consumer the same as asking once.
func (f *Fit) giveBack(consumer uuid.UUID) {
	f.account(f.taken[consumer], 1)
	delete(f.taken, consumer)
}

func (f *Fit) account(shares []Share, sign int64) {
	for _, share := range shares {
		if free, ok := f.free[share.Device]; ok {
			for class, amount := range share.Resources {
				free[class] += sign * amount
			}
		}
	}
}

// Shares implements Source. It knows every consumer; the error says what there is
// too little of.
func (f *Fit) Shares(_ context.Context, consumer uuid.UUID, have client.Resources) ([]Share, bool, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.giveBack(consumer)
	devices := f.byRoom(have)
	shares := whole(devices, f.free, have)
	if shares == nil {
		var err error
		if shares, err = f.divide(consumer, devices, have); err != nil {
			return nil, false, err
		}
	}
	f.take(consumer, shares)
	return shares, true, nil
}

// byRoom sorts the devices by what would be left after have, as a part of the
// capacity and of the class that is scarcest then; the one with the most comes
// first.
func (f *Fit) byRoom(have client.Resources) []string {
	room := make(map[string]float64, len(f.free))
	for device := range f.free {
		least := 1.0
		for class, amount := range have {
			left := float64(f.free[device][class]-amount) / max(1, float64(f.capacity[device][class]))
			least = min(least, left)
		}
		room[device] = least
	}
	return slices.SortedFunc(maps.Keys(room), func(x, y string) int {
		return cmp.Or(cmp.Compare(room[y], room[x]), strings.Compare(x, y))
	})
}

// whole finds the first device that takes everything; nil if none does.
func whole(devices []string, free map[string]client.Resources, have client.Resources) []Share {
	for _, device := range devices {
		fits := true
		for class, amount := range have {
			fits = fits && amount <= free[device][class]
		}
		if fits {
			return sorted(map[string]client.Resources{device: maps.Clone(have)})
		}
	}
	return nil
}

// divide gives each class to the devices in turn.
func (f *Fit) divide(consumer uuid.UUID, devices []string, have client.Resources) ([]Share, error) {
	parts := map[string]client.Resources{}
	for _, class := range sortedKeys(have) {
		left := have[class]
		for _, device := range devices {
			if part := min(left, f.free[device][class]); part > 0 {
				add(parts, device, class, part)
				left -= part
			}
		}
		if left > 0 {
			return nil, fmt.Errorf("consumer %s has %d of %s and only %d fit beside the others on %s",
				consumer, have[class], class, have[class]-left, strings.Join(sortedKeys(f.capacity), ", "))
		}
	}
	return sorted(parts), nil
}

func add(parts map[string]client.Resources, device, class string, amount int64) {
	if amount == 0 {
		return
	}
	if parts[device] == nil {
		parts[device] = client.Resources{}
	}
	parts[device][class] += amount
}

// sorted makes the shares of an answer; devices without resources are left out.
func sorted(parts map[string]client.Resources) []Share {
	shares := []Share{}
	for _, device := range sortedKeys(parts) {
		maps.DeleteFunc(parts[device], func(_ string, amount int64) bool { return amount == 0 })
		if len(parts[device]) > 0 {
			shares = append(shares, Share{device, parts[device]})
		}
	}
	return shares
}
