package server

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/berthd/berth/server/api/baremetal"
	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/data/migrate"
	"github.com/berthd/berth/server/identity/policy"
)

// SetSchemaState replaces the check of the database's schema.
func SetSchemaState(options *Options, check func(context.Context) (migrate.State, error)) {
	options.schemaState = check
}

// BaremetalTableOfEveryVersion returns a route table that builds an API for each version.
func BaremetalTableOfEveryVersion() *route.Table {
	api := baremetal.API(nil)
	api.Changes = nil
	return route.New(baremetal.Operations(baremetal.Options{}), route.Options{
		API: api, Policy: policy.NewBaremetal(), Tags: baremetal.Tags(), Schemas: baremetal.Schemas(),
	})
}

// Route is a method and a path that a server handles.
type Route struct {
	IsAdmin      bool
	Method, Path string
}

// Routes returns the routes of all tables, open paths and handlers for operators. Paths of trees end in a file that they do
// not have. The pages of the console are not among them.
func (h Handlers) Routes() []Route {
	var found []Route
	tables := []*route.Table{h.front.table, h.front.baremetal}
	for _, extended := range h.front.extended {
		tables = append(tables, extended)
	}
	for _, table := range tables {
		for _, operation := range table.Operations() {
			found = append(found, Route{Method: operation.Method, Path: operation.Path})
		}
	}
	for path := range h.front.open.exact {
		found = append(found, Route{Method: http.MethodGet, Path: path})
	}
	for _, tree := range h.front.open.below {
		found = append(found, Route{Method: http.MethodGet, Path: tree.prefix}, Route{Method: http.MethodGet, Path: tree.prefix + "x"})
		if served, ok := tree.handler.(*documents); ok {
			for name := range served.names {
				found = append(found, Route{Method: http.MethodGet, Path: tree.prefix + name})
			}
		}
	}
	for _, of := range h.operators {
		method, path, ok := strings.Cut(of.pattern, " ")
		if !ok {
			method, path = http.MethodGet, of.pattern
			found = append(found, Route{IsAdmin: true, Method: http.MethodPost, Path: path})
		}
		found = append(found, Route{IsAdmin: true, Method: method, Path: path})
	}
	slices.SortFunc(found, func(a, b Route) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Method, b.Method))
	})
	return slices.Compact(found)
}

// TakeSlots takes all slots, and lets no request wait for one.
func (h Handlers) TakeSlots(ctx context.Context) error {
	for _, l := range append(h.front.limiter.reserved, h.front.limiter) {
		l.limits.Queue = 0
		if err := l.running.Acquire(ctx, l.running.size); err != nil {
			return err
		}
	}
	return nil
}

// TakeMemory takes the memory of all bodies, so that no request gets some without Limits.Queue.
func (h Handlers) TakeMemory(ctx context.Context) error {
	h.front.forms = route.NewBudget(1, 0, 0)
	for _, budget := range []*route.Budget{h.bodies, h.front.forms} {
		if err := budget.Hold().Grow(ctx, budget.Usage().Limit+1); err != nil {
			return err
		}
	}
	return nil
}
