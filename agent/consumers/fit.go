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

// Fit is a source that assigns consumers to devices with free capacity: whole to the device with the most, divided only
// if no device fits it whole. It is for workloads that are not pinned to a device, so that any result that fits is
// right. It considers capacities only: a divided consumer may violate the step_size or max_unit of an inventory, and
// the service rejects the reshape.
type Fit struct {
	mutex    sync.Mutex
	capacity map[string]client.Resources
	free     map[string]client.Resources
	taken    map[uuid.UUID][]Share
}

// NewFit returns a Fit for devices with these capacities by class, overcommitment included.
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

// Begin implements Attempt: it frees all devices.
func (f *Fit) Begin() {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.free = copyOf(f.capacity)
	f.taken = map[uuid.UUID][]Share{}
}

// Assign subtracts the known shares of a consumer, and replaces earlier ones of it. It ignores unknown devices. The
// free capacity of an overcommitted device may become negative.
func (f *Fit) Assign(consumer uuid.UUID, shares []Share) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.release(consumer)
	f.take(consumer, shares)
}

func (f *Fit) take(consumer uuid.UUID, shares []Share) {
	f.taken[consumer] = shares
	f.account(shares, -1)
}

// release frees the shares of a consumer, so that a second query has the result of the first.
func (f *Fit) release(consumer uuid.UUID) {
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
	f.take(consumer, shares)
	return shares, true, nil
}

// byFreeCapacity sorts the devices by the fraction of the capacity that is free after have, in the class where it is
// smallest. The largest comes first.
func (f *Fit) byFreeCapacity(have client.Resources) []string {
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

// whole returns the first device with enough free capacity for everything; nil if there is none.
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

// divide spreads each class over the devices in turn.
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

// sorted returns the shares by device, without devices that have no resources.
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
