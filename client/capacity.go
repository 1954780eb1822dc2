package client

import (
	"context"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	api "github.com/berthd/berth/gen/client"
)

// CapacityQuery selects the inventories whose sums a Capacity has. The zero value selects all.
type CapacityQuery struct {
	// Classes are the resource classes; empty: all.
	Classes []string
	// Required and MemberOf are conditions in the syntax of ProviderFilter. The provider or the root of its tree meets
	// each.
	Required, MemberOf []string
	// InTree is the UUID of a provider of the only tree; empty: all trees.
	InTree string
	// Aggregates are the UUIDs of aggregates, each of which has sums of its own, at most 200; empty: one sum. CapacityTrees
	// ignores them.
	Aggregates []string
	// Units are the amounts in which Units, Stranded and Fragmentation of a class are counted.
	Units []CapacityUnit
}

// CapacityUnit is an amount of a class.
type CapacityUnit struct {
	Class  string
	Amount int64
}

// Capacity is the sums of inventories at one time.
type Capacity struct {
	// AsOf is the time of the snapshot, at most 15 seconds before the request.
	AsOf time.Time     `json:"as_of"`
	Sums []CapacitySum `json:"capacity"`
}

// CapacitySum is the sums of one class over all providers, or over those of a tree or an aggregate. The amounts of type
// float64 are whole numbers: the ratios of inventories permit more than int64 can hold.
type CapacitySum struct {
	// Tree or Aggregate is what the sums are of; nil: of all selected providers.
	Tree      *CapacityProvider `json:"tree,omitempty"`
	Aggregate *uuid.UUID        `json:"aggregate,omitempty"`
	Class     string            `json:"resource_class"`
	// Providers is the number of providers with inventory of the class.
	Providers int64   `json:"resource_providers"`
	Total     int64   `json:"total"`
	Reserved  int64   `json:"reserved"`
	Capacity  float64 `json:"capacity"`
	Used      float64 `json:"used"`
	Free      float64 `json:"free"`
	// OverCapacity is the part of Used that exceeds the capacities of single providers.
	OverCapacity float64 `json:"over_capacity"`
	// Largest is the largest amount that one allocation can get, and LargestAt the oldest provider with it; nil if Largest
	// is 0.
	Largest   int64             `json:"largest"`
	LargestAt *CapacityProvider `json:"largest_at"`
	// Full is the number of providers with less free than min_unit.
	Full int64 `json:"full"`
	// Sizes are the providers by their free capacity, in ascending order.
	Sizes []CapacitySize `json:"sizes"`
	// Unit is the amount of the query; nil without one. Then Units is how many of these are free, Stranded the free
	// capacity that is in none of them, and Fragmentation the fraction of Stranded in Free.
	Unit          *int64   `json:"unit,omitempty"`
	Units         *float64 `json:"units,omitempty"`
	Stranded      *float64 `json:"stranded,omitempty"`
	Fragmentation *float64 `json:"fragmentation,omitempty"`
}

// CapacityProvider names a resource provider.
type CapacityProvider struct {
	UUID uuid.UUID `json:"uuid"`
	Name string    `json:"name"`
}

// CapacitySize is the number of providers with free capacity from AtLeast to less than twice AtLeast, which is a power of
// two, and the sum of it.
type CapacitySize struct {
	AtLeast   float64 `json:"at_least"`
	Providers int64   `json:"resource_providers"`
	Free      float64 `json:"free"`
}

// CapacityList returns the sums by class, or by aggregate and class. It needs berth 1.4: the error of a service without it
// is an ErrExtensions. The service rejects unknown classes and traits; unknown aggregates have no sums.
func (c *Client) CapacityList(ctx context.Context, query CapacityQuery) (Capacity, error) {
	params := query.params()
	if len(query.Aggregates) > 0 {
		params = append(params, param{"group_by", "aggregate"}, param{"aggregate", inList(query.Aggregates)})
	}
	var found Capacity
	return found, c.getReading(ctx, &found, "capacity", params)
}

// CapacityTrees yields the sums by tree and class, the oldest tree first. It reads them in pages of limit trees; 0: of 1000.
// Each page is of a later time than the one before. An error ends the sequence. It needs berth 1.4, as CapacityList.
func (c *Client) CapacityTrees(ctx context.Context, query CapacityQuery, limit int) iter.Seq2[CapacitySum, error] {
	if limit == 0 {
		limit = maxCapacityPage
	}
	params := append(query.params(), param{"group_by", "tree"}, param{"limit", sizeText(limit)})
	return pages(func(marker string) ([]CapacitySum, []api.Link, error) {
		var page struct {
			Sums  []CapacitySum `json:"capacity"`
			Links []api.Link    `json:"capacity_links"`
		}
		err := c.getReading(ctx, &page, "capacity", append(slices.Clip(params), param{"marker", marker}))
		return page.Sums, page.Links, err
	})
}

// maxCapacityPage is the maximum number of trees of a page of the service.
const maxCapacityPage = 1000

// params returns the query parameters that all requests for capacities have.
func (q CapacityQuery) params() []param {
	all := []param{{"resource_class", inList(q.Classes)}, {"in_tree", q.InTree}}
	for _, condition := range q.Required {
		all = append(all, param{"required", condition})
	}
	for _, condition := range q.MemberOf {
		all = append(all, param{"member_of", condition})
	}
	var units []string
	for _, unit := range q.Units {
		units = append(units, unit.Class+":"+strconv.FormatInt(unit.Amount, 10))
	}
	return append(all, param{"unit", strings.Join(units, ",")})
}
