package explain

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/data/store"
)

// KindClaim is the kind of explanations of claims.
const KindClaim = "claim"

// The reasons of claims that are a conflict, and the verdicts on their allocations; Fits is another verdict.
const (
	NoInventory Reason = "inventory"
	Units       Reason = "units"
	Capacity    Reason = "capacity"
)

const (
	// maxItems is how many allocations of a claim are shown.
	maxItems = 100
	// maxSentences is how many of those that do not fit the summary describes.
	maxSentences = 3
)

// Claim is a write of allocations that was a conflict.
type Claim struct {
	// Reason is that of the error.
	Reason Reason
	Claims []store.Claim
	// Shapes are the inventories of a reshape. The allocations were compared with them.
	Shapes []store.ReshapedProvider
}

// ClaimItem is an allocation of a claim, and whether it fits.
type ClaimItem struct {
	Consumer uuid.UUID `json:"consumer" format:"uuid" doc:"UUID of the consumer."`
	Provider Provider  `json:"provider" doc:"The resource provider."`
	Class    string    `json:"class" doc:"Resource class."`
	Amount   int64     `json:"amount" doc:"Amount of the allocation."`
	// SoFar is Amount with the amounts of earlier items on the same provider and class; 0 if it equals Amount.
	SoFar   int64  `json:"so_far,omitempty" doc:"The amount with those of earlier items on the same provider and class; missing if it is the amount."`
	Verdict Reason `json:"verdict" doc:"inventory, units, capacity or fits."`
	// ClaimedInventory is nil without an inventory.
	*ClaimedInventory
}

// ClaimedInventory is the inventory of an item. Its members are missing together.
type ClaimedInventory struct {
	Capacity int64 `json:"capacity" required:"false" doc:"Capacity of the inventory."`
	Used     int64 `json:"used" required:"false" doc:"Allocated amount."`
	// Own is what the consumers of the claim hold, and would release.
	Own      int64 `json:"own" required:"false" doc:"What the consumers of the request have there, and would release."`
	Free     int64 `json:"free" required:"false" doc:"What the request can allocate at most."`
	MinUnit  int64 `json:"min_unit" required:"false" doc:"Smallest allocation."`
	MaxUnit  int64 `json:"max_unit" required:"false" doc:"Largest allocation."`
	StepSize int64 `json:"step_size" required:"false" doc:"Allocations are multiples of it."`
	// Consumers is the number of consumers that hold the class, up to 1,000.
	Consumers int64 `json:"consumers" required:"false" doc:"Number of consumers with allocations of the class there, at most 1000."`
}

// Elsewhere are the candidates for the amounts of a claim.
type Elsewhere struct {
	Candidates int    `json:"candidates" doc:"Number of candidates."`
	More       bool   `json:"more" doc:"Whether there can be more."`
	Query      string `json:"query" doc:"The query string."`
}

// claimKey is an inventory that a claim names.
type claimKey struct {
	provider uuid.UUID
	class    string
}

// claimState is the state of such an inventory. It has no inventory if maxUnit is 0.
type claimState struct {
	name                       string
	total, reserved            int64
	ratio                      float64
	minUnit, maxUnit, stepSize int64
	used, own                  int64
	consumers                  int64
}

// keys returns the inventories of a claim, each once, in the order of the request.
func (c *Claim) keys() (keys []claimKey) {
	seen := map[claimKey]bool{}
	for i := range c.Claims {
		for _, allocation := range c.Claims[i].Allocations {
			if key := (claimKey{allocation.Provider, allocation.Class}); !seen[key] {
				seen[key] = true
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// reshape replaces the inventories in states by those of a reshape. The reshape deletes the inventories that it does not
// contain after it has written the allocations, so they stay.
func (c *Claim) reshape(states map[claimKey]*claimState) {
	for i := range c.Shapes {
		for _, record := range c.Shapes[i].Records {
			state := states[claimKey{c.Shapes[i].Provider, record.Class}]
			if state == nil {
				continue
			}
			state.total, state.reserved, state.ratio = int64(record.Total), int64(record.Reserved), record.AllocationRatio
			state.minUnit, state.maxUnit, state.stepSize = int64(record.MinUnit), int64(record.MaxUnit), int64(record.StepSize)
		}
	}
}

// items returns all allocations of a claim, those that do not fit first, otherwise in the order of the request.
func (c *Claim) items(states map[claimKey]*claimState) []ClaimItem {
	claimItems, sums := []ClaimItem{}, map[claimKey]int64{}
	for i := range c.Claims {
		for _, allocation := range c.Claims[i].Allocations {
			key := claimKey{allocation.Provider, allocation.Class}
			sums[key] = addAmounts(sums[key], allocation.Amount)
			state := states[key]
			item := ClaimItem{
				Consumer: c.Claims[i].Consumer, Provider: Provider{allocation.Provider, state.name}, Class: allocation.Class, Amount: allocation.Amount,
				Verdict: state.verdict(allocation.Amount, sums[key]), ClaimedInventory: state.inventory(),
			}
			if sums[key] != allocation.Amount {
				item.SoFar = sums[key]
			}
			claimItems = append(claimItems, item)
		}
	}
	slices.SortStableFunc(claimItems, func(a, b ClaimItem) int { return cmp.Compare(rankOf(&a), rankOf(&b)) })
	return claimItems
}

func rankOf(item *ClaimItem) int {
	if item.Verdict == Fits {
		return 1
	}
	return 0
}

// addAmounts adds two amounts, at most to the largest integer: a request can have larger amounts than any capacity.
func addAmounts(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// verdict decides as the function allocation_raise_error does: where an inventory is over capacity, the consumers may keep
// what they have.
func (s *claimState) verdict(amount, soFar int64) Reason {
	switch {
	case s.maxUnit == 0:
		return NoInventory
	case amount < s.minUnit, amount > s.maxUnit, amount%s.stepSize != 0:
		return Units
	case soFar > s.own && soFar > s.capacity()-s.used+s.own:
		return Capacity
	}
	return Fits
}

// maxCapacity bounds a capacity, so that arithmetic with it cannot overflow: ratios have no bound.
const maxCapacity = 1 << 53

// capacity returns what an inventory has for all consumers.
func (s *claimState) capacity() int64 {
	exact := math.Trunc(float64(s.total-s.reserved) * s.ratio)
	return int64(max(-maxCapacity, min(maxCapacity, exact)))
}

func (s *claimState) inventory() *ClaimedInventory {
	if s.maxUnit == 0 {
		return nil
	}
	return &ClaimedInventory{
		Capacity: s.capacity(), Used: s.used, Own: s.own, Free: min(s.maxUnit, s.capacity()-s.used+s.own),
		MinUnit: s.minUnit, MaxUnit: s.maxUnit, StepSize: s.stepSize, Consumers: s.consumers,
	}
}

// claimSummary describes the first items that do not fit.
func claimSummary(items []ClaimItem) string {
	var texts []string
	for i := range items[:min(len(items), maxSentences)] {
		if items[i].Verdict != Fits {
			texts = append(texts, items[i].sentence())
		}
	}
	if texts == nil {
		return "All amounts fit now."
	}
	return strings.Join(texts, " ")
}

// sentence says why an item does not fit.
func (i *ClaimItem) sentence() string {
	name := cmp.Or(i.Provider.Name, i.Provider.UUID.String())
	switch {
	case i.Verdict == NoInventory:
		return fmt.Sprintf("%s has no inventory of %s.", name, i.Class)
	case i.Verdict == Capacity:
		return fmt.Sprintf("%s has no room for %d %s: %d of %d %s used by %s, %d %s left.", name, cmp.Or(i.SoFar, i.Amount), i.Class,
			i.Used, i.Capacity, areText(i.Used), plural(i.Consumers, "consumer"), i.Free, areText(i.Free))
	case i.Amount%i.StepSize != 0:
		return fmt.Sprintf("%s gives %s in multiples of %d, not %d.", name, i.Class, i.StepSize, i.Amount)
	case i.Amount < i.MinUnit:
		return fmt.Sprintf("%s gives at least %d %s, not %d.", name, i.MinUnit, i.Class, i.Amount)
	}
	return fmt.Sprintf("%s gives at most %d %s at once, not %d.", name, i.MaxUnit, i.Class, i.Amount)
}

// areText returns the verb of a number.
func areText(count int64) string {
	if count == 1 {
		return "is"
	}
	return "are"
}
