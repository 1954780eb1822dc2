package client

import (
	"context"
	"iter"
	"slices"
	"strconv"
	"strings"

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

// CapacityList returns the sums by class, or by aggregate and class. It needs berth 1.4: the error of a service without it
// is an ErrExtensions. The service rejects unknown classes and traits; unknown aggregates have no sums.
func (c *Client) CapacityList(ctx context.Context, query CapacityQuery) (api.CapacityList, error) {
	params := query.params()
	if len(query.Aggregates) > 0 {
		params = append(params, param{"group_by", "aggregate"}, param{"aggregate", inList(query.Aggregates)})
	}
	var found api.CapacityList
	return found, c.read(ctx, &found, "capacity", params)
}

// CapacityTrees yields the sums by tree and class, the oldest tree first. It reads them in pages of limit trees; 0: of 1000.
// Each page is of a later time than the one before. An error ends the sequence. It needs berth 1.4, as CapacityList.
func (c *Client) CapacityTrees(ctx context.Context, query CapacityQuery, limit int) iter.Seq2[api.ClassCapacity, error] {
	if limit == 0 {
		limit = maxCapacityPage
	}
	params := append(query.params(), param{"group_by", "tree"}, param{"limit", sizeText(limit)})
	return pages(func(marker string) ([]api.ClassCapacity, []api.Link, error) {
		var page api.CapacityList
		err := c.read(ctx, &page, "capacity", append(slices.Clip(params), param{"marker", marker}))
		return page.Capacity, page.CapacityLinks, err
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
