package baremetal

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/identity/policy"
	"github.com/berthd/berth/server/wire/fault"
)

// Conductor is a process that manages nodes.
type Conductor struct {
	Hostname  string   `json:"hostname,omitempty" doc:"Host name of the conductor." example:"berth-1"`
	Group     string   `json:"conductor_group" required:"false" doc:"Group of nodes that the conductor manages." example:""`
	Alive     bool     `json:"alive" required:"false" doc:"Whether its last heartbeat is within the heartbeat timeout." example:"true"`
	Drivers   []string `json:"drivers,omitempty" doc:"Drivers of the conductor." example:"[\"fake-hardware\"]"`
	CreatedAt Time     `json:"created_at,omitempty" doc:"Time of the first registration."`
	UpdatedAt Time     `json:"updated_at,omitempty" doc:"Time of the last heartbeat."`
	Links     []Link   `json:"links" doc:"Links to the conductor."`
}

// Conductors is a page of conductors.
type Conductors struct {
	Conductors []view[Conductor] `json:"conductors" doc:"Conductors in the requested order; default: by name."`
	Next       *string           `json:"next,omitempty" nullable:"false" doc:"URL of the next page; omitted if this page is not full."`
}

var conductorShape = newShape[Conductor]()

var conductorBrief = []string{"hostname", "conductor_group", "alive"}

// conductorPath is the input of operations on one conductor.
type conductorPath struct {
	Hostname string `path:"hostname" doc:"The conductor." example:"berth-1"`
}

func noConductor(sent string) *fault.Error {
	return fault.New(fault.NotFound, "Conductor %s could not be found.", sent)
}

var exampleConductor = store.Conductor{
	Hostname: "berth-1", Drivers: []string{"fake-hardware"}, Online: true,
	CreatedAt: exampleMade, UpdatedAt: exampleMade.Add(time.Hour),
}

func (o *operations) conductorOperations() []*route.Operation {
	return []*route.Operation{{
		ID: "conductor-list", Method: http.MethodGet, Path: "/v1/conductors", Tag: tagConductors, Rule: policy.ConductorsShow,
		Summary: "List conductors", Checks: only,
		Fails: []route.Failure{{Name: "unknown-marker", When: "The marker is not the name of a conductor.",
			Fault: noConductor("berth-9")}},
		Variants: []route.Variant{route.From(v(49), o.conductorList, route.QueryOf(conductorFields, detailArgument, conductorPageArguments),
			route.Example(func(ctx context.Context) any {
				return o.conductorsOf(ctx, conductorShape.only(ctx, conductorBrief...), []store.Conductor{exampleConductor})
			}))},
	}, {
		ID: "conductor-show", Method: http.MethodGet, Path: "/v1/conductors/{hostname}", Tag: tagConductors, Rule: policy.ConductorsShow,
		Summary: "Show a conductor", Checks: only,
		Fails: []route.Failure{{Name: "conductor-not-found", When: "The conductor does not exist.",
			Fault: noConductor("berth-9")}},
		Variants: []route.Variant{route.From(v(49), o.conductorShow, route.QueryOf(conductorFields), route.Example(func(ctx context.Context) any {
			return o.conductorOf(ctx, conductorShape.all(ctx), &exampleConductor)
		}))},
	}}
}

func (o *operations) conductorList(ctx context.Context, _ *none) (*answer[Conductors], error) {
	given, err := arguments(ctx)
	if err != nil {
		return nil, err
	}
	fields, err := listShows(ctx, conductorShape, given, false, conductorBrief)
	if err != nil {
		return nil, err
	}
	found, err := o.store.ConductorList(ctx)
	if err != nil {
		return nil, err
	}
	found, next, err := conductorPage(ctx, given, found)
	if err != nil {
		return nil, err
	}
	list := o.conductorsOf(ctx, fields, found)
	list.Next = next
	return &answer[Conductors]{Body: list}, nil
}

func (o *operations) conductorShow(ctx context.Context, in *conductorPath) (*answer[view[Conductor]], error) {
	given, err := arguments(ctx)
	if err != nil {
		return nil, err
	}
	fields, err := conductorShape.asked(ctx, given, conductorShape.all(ctx))
	if err != nil {
		return nil, err
	}
	found, err := o.store.ConductorShow(ctx, in.Hostname)
	if err != nil {
		return nil, route.RuleFaults{
			store.ConductorNotFound: func(store.Values) *fault.Error { return noConductor(in.Hostname) },
		}.Translate(err)
	}
	return &answer[view[Conductor]]{Body: o.conductorOf(ctx, fields, &found)}, nil
}

func (o *operations) conductorsOf(ctx context.Context, fields chosen, found []store.Conductor) Conductors {
	shown := Conductors{Conductors: []view[Conductor]{}}
	for i := range found {
		shown.Conductors = append(shown.Conductors, o.conductorOf(ctx, fields, &found[i]))
	}
	return shown
}

func (o *operations) conductorOf(ctx context.Context, fields chosen, from *store.Conductor) view[Conductor] {
	return conductorShape.show(fields, &Conductor{
		Hostname: from.Hostname, Group: from.Group, Alive: from.Alive(o.heartbeatTimeout), Drivers: listed(from.Drivers),
		CreatedAt: Time(from.CreatedAt), UpdatedAt: Time(from.UpdatedAt), Links: links(ctx, "conductors/"+from.Hostname),
	})
}

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
