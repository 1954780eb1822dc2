package baremetal

import (
	"cmp"
	"context"
	"slices"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/data/store"
)

// conductorFields are the fieldsArguments of conductors, which have no UUID.
var conductorFields = route.Params{{Name: "fields", Since: v(8), Doc: fieldsArguments[0].Doc, Example: "hostname,alive"}}

// conductorPageArguments are the arguments of lists; the marker is a host name, because names identify conductors.
var conductorPageArguments = route.Params{
	pageArguments[0],
	{Name: "marker", Since: v(1), Doc: "The last host name of the previous page.", Example: "berth-1"},
	{Name: "sort_key", Since: v(1), Doc: "Sort key: hostname, conductor_group, created_at or updated_at. Default: hostname.", Example: "hostname"},
	pageArguments[3],
}

var conductorOrders = map[string]func(a, b store.Conductor) int{
	byCreation:        func(a, b store.Conductor) int { return cmp.Compare(a.Hostname, b.Hostname) },
	"hostname":        func(a, b store.Conductor) int { return cmp.Compare(a.Hostname, b.Hostname) },
	"conductor_group": func(a, b store.Conductor) int { return cmp.Compare(a.Group, b.Group) },
	"created_at":      func(a, b store.Conductor) int { return a.CreatedAt.Compare(b.CreatedAt) },
	"updated_at":      func(a, b store.Conductor) int { return a.UpdatedAt.Compare(b.UpdatedAt) },
}

// conductorPage returns the requested page of all conductors and the URL of the next one. There are few conductors, so
// that a query for a part of them would save nothing.
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
		at := slices.IndexFunc(all, func(conductor store.Conductor) bool { return conductor.Hostname == marker })
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
