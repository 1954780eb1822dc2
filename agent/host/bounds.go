package host

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
)

// checkBounds returns the errors that the server would return for the reshape, with the names of providers: amounts that
// violate min_unit, max_unit or step_size, and usage over capacity.
func (e *editor) checkBounds(before, after client.Allocations, gained map[uuid.UUID]client.Resources) error {
	var errs []error
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
				if violated := violatedUnit(amount, node.Inventories[class]); amount > 0 && moved && violated != "" {
					errs = append(errs, fmt.Errorf("consumer %s would have %d of %s on %s, which violates its %s; assign other shares with --consumers file:PATH", consumer, amount, class, node.Name, violated))
				}
			}
			if limit := capacity(node.Inventories[class]); used > limit {
				errs = append(errs, fmt.Errorf("%s would have %d of %s allocated, over its capacity of %d: increase its total or allocation ratio, decrease reserved, or move consumers away first",
					node.Name, used, class, limit))
			}
		}
	}
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(errs...)
}

// violatedUnit returns the unit of an inventory that an amount violates; empty if none.
func violatedUnit(amount int64, inventory client.InventoryRecord) string {
	switch {
	case inventory.MaxUnit != nil && amount > int64(*inventory.MaxUnit):
		return fmt.Sprintf("max_unit %d", *inventory.MaxUnit)
	case inventory.MinUnit != nil && amount < int64(*inventory.MinUnit):
		return fmt.Sprintf("min_unit %d", *inventory.MinUnit)
	case inventory.StepSize != nil && *inventory.StepSize > 0 && amount%int64(*inventory.StepSize) != 0:
		return fmt.Sprintf("step_size %d", *inventory.StepSize)
	}
	return ""
}

// capacity returns (total - reserved) * allocation_ratio.
func capacity(inventory client.InventoryRecord) int64 {
	available, ratio := int64(inventory.Total), 1.0
	if inventory.Reserved != nil {
		available -= int64(*inventory.Reserved)
	}
	if inventory.AllocationRatio != nil {
		ratio = *inventory.AllocationRatio
	}
	return int64(min(float64(available)*ratio, 1<<62))
}
