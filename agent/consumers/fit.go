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

// Fit is a source that assigns consumers to devices by free capacity. It assigns a consumer to the device with the most
// free capacity, and divides it only if no device has enough. It is for workloads that are not pinned to a device. It
// considers capacities only: if a divided consumer violates the step_size or max_unit of an inventory, the server
// denies the reshape.
type Fit struct {
	mutex    sync.Mutex
	capacity map[string]client.Resources
	free     map[string]client.Resources
	assigned map[uuid.UUID][]Share
}

// NewFit returns a Fit for devices with these capacities by class, including overcommitment.
func NewFit(capacity map[string]client.Resources) *Fit {
	f := &Fit{capacity: copyOf(capacity)}
	f.Begin()
	return f
}

// copyOf returns a deep copy.
func copyOf(devices map[string]client.Resources) map[string]client.Resources {
	copied := make(map[string]client.Resources, len(devices))
	for device, resources := range devices {
		copied[device] = maps.Clone(resources)
	}
	return copied
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// Begin implements Attempt: it releases all shares.
func (f *Fit) Begin() {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.free = copyOf(f.capacity)
	f.assigned = map[uuid.UUID][]Share{}
}

// Assign replaces the shares of a consumer and subtracts them from the free capacity. It ignores unknown devices. The
// free capacity of a device may become negative.
func (f *Fit) Assign(consumer uuid.UUID, shares []Share) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.release(consumer)
	f.add(consumer, shares)
}

// add subtracts the shares of a consumer without shares.
func (f *Fit) add(consumer uuid.UUID, shares []Share) {
	f.assigned[consumer] = shares
	f.changeFree(shares, -1)
}

// release releases the shares of a consumer, so that a second query returns the result of the first.
func (f *Fit) release(consumer uuid.UUID) {
	f.changeFree(f.assigned[consumer], 1)
	delete(f.assigned, consumer)
}

// changeFree adds the shares, multiplied by the sign, to the free capacity.
func (f *Fit) changeFree(shares []Share, sign int64) {
	for _, share := range shares {
		if free, ok := f.free[share.Device]; ok {
			for class, amount := range share.Resources {
				free[class] += sign * amount
			}
		}
	}
}

// Shares implements Source. It knows every consumer; the error names the class with too little free capacity.
func (f *Fit) Shares(_ context.Context, consumer uuid.UUID, have client.Resources) ([]Share, bool, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.release(consumer)
	devices := f.byFreeCapacity(have)
	shares := whole(devices, f.free, have)
	if shares == nil {
		var err error
		if shares, err = f.divide(consumer, devices, have); err != nil {
			return nil, false, err
		}
	}
	f.add(consumer, shares)
	return shares, true, nil
}

// byFreeCapacity sorts the devices by the free fraction of their capacity after the assignment of have, in the class with
// the smallest fraction. The device with the largest fraction comes first.
func (f *Fit) byFreeCapacity(have client.Resources) []string {
	fractions := make(map[string]float64, len(f.free))
	for device := range f.free {
		minimum := 1.0
		for class, amount := range have {
			free := float64(f.free[device][class]-amount) / max(1, float64(f.capacity[device][class]))
			minimum = min(minimum, free)
		}
		fractions[device] = minimum
	}
	return slices.SortedFunc(maps.Keys(fractions), func(x, y string) int {
		return cmp.Or(cmp.Compare(fractions[y], fractions[x]), strings.Compare(x, y))
	})
}

// whole returns one share on the first device with enough free capacity for all classes; nil if there is none.
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

// divide assigns as much of each class as possible to each device in order.
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
			return nil, fmt.Errorf("consumer %s has %d of %s, but there is free capacity for only %d on %s",
				consumer, have[class], class, have[class]-left, strings.Join(sortedKeys(f.capacity), ", "))
		}
	}
	return sorted(parts), nil
}

// add adds an amount to the resources of a device.
func add(parts map[string]client.Resources, device, class string, amount int64) {
	if amount == 0 {
		return
	}
	if parts[device] == nil {
		parts[device] = client.Resources{}
	}
	parts[device][class] += amount
}

// sorted returns the shares sorted by device, without devices that have no resources.
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
