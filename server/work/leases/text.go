package leases

import (
	"fmt"
	"strings"

	"github.com/berthd/berth/server/data/store"
)

// maxShown is the maximum number of allocations in a log line.
const maxShown = 8

// allocationsText returns what a consumer had, such as "2 VCPU, 2048 MEMORY_MB on c0ffee00-…".
func allocationsText(removed *store.RemovedConsumer) string {
	var text strings.Builder
	for i, allocation := range removed.Allocations {
		if i == maxShown {
			fmt.Fprintf(&text, " and %d more", len(removed.Allocations)-maxShown)
			break
		}
		if i > 0 {
			text.WriteString(", ")
		}
		fmt.Fprintf(&text, "%d %s", allocation.Amount, allocation.Class)
		if i+1 == len(removed.Allocations) || i+1 == maxShown || removed.Allocations[i+1].Provider != allocation.Provider {
			fmt.Fprintf(&text, " on %s", allocation.Provider)
		}
	}
	return text.String()
}
