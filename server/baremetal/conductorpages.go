package baremetal

import (
	"cmp"
	"context"
	"slices"

	"github.com/berthd/berth/server/store"
)

// conductorPageArguments are those of other lists, but that conductors are known by
// their names.
var conductorPageArguments = []argument{
	pageArguments[0],
	{Name: "marker", Since: v(1), Doc: "The last hostname of the page before.", Example: "berth-1"},
	{Name: "sort_key", Since: v(1), Doc: "hostname, conductor_group, created_at or updated_at; hostname if not sent.", Example: "hostname"},
	pageArguments[3],
}

var conductorOrders = map[string]func(a, b store.Conductor) int{
	byCreation:        func(a, b store.Conductor) int { return cmp.Compare(a.Hostname, b.Hostname) },
	"hostname":        func(a, b store.Conductor) int { return cmp.Compare(a.Hostname, b.Hostname) },
	"conductor_group": func(a, b store.Conductor) int { return cmp.Compare(a.Group, b.Group) },
	"created_at":      func(a, b store.Conductor) int { return a.CreatedAt.Compare(b.CreatedAt) },
	"updated_at":      func(a, b store.Conductor) int { return a.UpdatedAt.Compare(b.UpdatedAt) },
}

// conductorPage is the page of all conductors that is asked for, and where the next is.
// There are a few at most, so that nothing is gained by asking the database for less.
func conductorPage(ctx context.Context, given args, all []store.Conductor) ([]store.Conductor, *string, error) {
	page, err := orderOf(given, "hostname", "conductor_group", "created_at", "updated_at")
	if err != nil {
		return nil, nil, err
	}
	order := conductorOrders[page.SortKey]
	slices.SortStableFunc(all, func(a, b store.Conductor) int {
		if page.SortDir == descending {
			a, b = b, a
		}
		return order(a, b)
	})
	if marker, sent := given.Last("marker"); sent {
		at := slices.IndexFunc(all, func(one store.Conductor) bool { return one.Hostname == marker })
		if at < 0 {
			return nil, nil, noConductor(marker)
		}
		all = all[at+1:]
	}
	shown := all[:min(page.Limit, len(all))]
	if len(shown) == 0 {
		return shown, nil, nil
	}
	return shown, next(ctx, "/v1/conductors", given, page, len(shown), shown[len(shown)-1].Hostname), nil
}
