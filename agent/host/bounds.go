package host

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
)

// checkBounds finds what the service would refuse, and says it in the words of the
// machine: a part that is larger, smaller or of another step than a provider gives,
// and providers that would be too full.
func (e *editor) checkBounds(before, after client.Allocations, gained map[uuid.UUID]client.Resources) error {
	var wrong []error
	for id, classes := range gained {
		node, err := e.tree.Provider(id.String())
		if err != nil {
			return err
		}
		for class := range classes {
			used := int64(0)
			for _, consumer := range before.Consumers() {
				record := before[consumer]
				changed, moved := after[consumer]
				if moved {
					record = changed
				}
				amount := record.Allocations[id][class]
				used += amount
				if broken := brokenBound(amount, node.Inventories[class]); amount > 0 && moved && broken != "" {
					wrong = append(wrong, fmt.Errorf("consumer %s would have %d of %s on %s, which gives %s; divide it otherwise in a file of shares", consumer, amount, class, node.Name, broken))
				}
			}
			if room := capacity(node.Inventories[class]); used > room {
				wrong = append(wrong, fmt.Errorf("%s would have to give %d of %s and has %d: give it more, raise its allocation ratio, reserve less, or move consumers away first",
					node.Name, used, class, room))
			}
		}
	}
	slices.SortFunc(wrong, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(wrong...)
}

// brokenBound says which bound of an inventory an amount breaks, empty if none.
func brokenBound(amount int64, of client.InventoryRecord) string {
	switch {
	case of.MaxUnit != nil && amount > int64(*of.MaxUnit):
		return fmt.Sprintf("at most %d at once", *of.MaxUnit)
	case of.MinUnit != nil && amount < int64(*of.MinUnit):
		return fmt.Sprintf("at least %d at once", *of.MinUnit)
	case of.StepSize != nil && *of.StepSize > 0 && amount%int64(*of.StepSize) != 0:
		return fmt.Sprintf("multiples of %d", *of.StepSize)
	}
	return ""
}

// capacity is how much of an inventory can be allocated.
func capacity(of client.InventoryRecord) int64 {
	room, ratio := int64(of.Total), 1.0
	if of.Reserved != nil {
		room -= int64(*of.Reserved)
	}
	if of.AllocationRatio != nil {
		ratio = *of.AllocationRatio
	}
	return int64(min(float64(room)*ratio, 1<<62))
}
