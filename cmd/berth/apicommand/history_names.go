package apicommand

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/client/baremetal"
	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/internal/historytext"
	"github.com/berthd/berth/internal/terminal"
)

// maxNamed is the maximum number of providers that are gone whose names are read from the record.
const maxNamed = 500

// historyTexts returns the texts of events, with the names that objects have now, or had last.
func historyTexts(ctx context.Context, f *frame.Frame, service *client.Client, events []client.HistoryEvent) (*historytext.Texts, error) {
	texts := &historytext.Texts{ASCII: !terminal.HasUnicode(frame.Environment(f.Environ))}
	texts.Names = historytext.NewNames()
	texts.AddRecorded(events)
	providers, nodes, allocations := historytext.ChangedIDs(events)
	if err := addProviderNames(ctx, service, texts.Providers, providers); err != nil {
		return nil, err
	}
	bare := baremetal.New(service)
	err := addNamesNow(ctx, texts.Nodes, nodes, func(ctx context.Context, id string) (baremetal.Node, error) { return bare.NodeShow(ctx, id) },
		func(ctx context.Context) ([]baremetal.Node, error) { return allNodes(bare, ctx) },
		func(node baremetal.Node) (uuid.UUID, *string) { return node.UUID, node.Name })
	if err != nil {
		return nil, err
	}
	err = addNamesNow(ctx, texts.NodeAllocations, allocations,
		func(ctx context.Context, id string) (baremetal.Allocation, error) {
			return bare.NodeAllocationShow(ctx, id)
		},
		func(ctx context.Context) ([]baremetal.Allocation, error) { return allNodeAllocations(bare, ctx) },
		func(allocation baremetal.Allocation) (uuid.UUID, *string) { return allocation.UUID, allocation.Name })
	if err != nil {
		return nil, err
	}
	texts.Aggregates, err = aggregateNames{f}.read()
	return texts, err
}

// addProviderNames adds the names that providers have now or, of those that are gone and have no name in names, had last.
func addProviderNames(ctx context.Context, service *client.Client, names map[uuid.UUID]string, ids map[uuid.UUID]bool) error {
	now := newProviderNames(service)
	if err := now.load(ctx, slices.Collect(maps.Keys(ids))); err != nil && !errors.Is(err, client.ErrForbidden) {
		return err
	}
	var gone []uuid.UUID
	for id, name := range now.known {
		if name != id.String() {
			names[id] = name
		} else if names[id] == "" && len(gone) < maxNamed {
			gone = append(gone, id)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	page, err := service.HistoryPage(ctx, client.HistoryFilter{Providers: gone, Topics: []string{"provider"}}, "")
	if errors.Is(err, client.ErrForbidden) {
		return nil
	}
	recorded := historytext.NewNames()
	recorded.AddRecorded(page.Events)
	for _, id := range gone {
		if name := recorded.Providers[id]; name != "" {
			names[id] = name
		}
	}
	return err
}

// addNamesNow adds the names that objects of the Bare Metal API have now. It lists all of them if there are many, and adds none if the
// service does not have that API or does not show them to this user.
func addNamesNow[T any](ctx context.Context, names map[uuid.UUID]string, ids map[uuid.UUID]bool,
	show func(context.Context, string) (T, error), list func(context.Context) ([]T, error), nameOf func(T) (uuid.UUID, *string),
) error {
	var found []T
	if len(ids) > FewProviders {
		all, err := list(ctx)
		if err != nil && !isHidden(err) {
			return err
		}
		found = all
	} else {
		for id := range ids {
			object, err := show(ctx, id.String())
			switch {
			case err == nil:
				found = append(found, object)
			case !isHidden(err):
				return err
			}
		}
	}
	for _, object := range found {
		if id, name := nameOf(object); name != nil {
			names[id] = *name
		}
	}
	return nil
}

// isHidden reports whether an error is that of an object that does not exist, or that the service does not show.
func isHidden(err error) bool {
	return errors.Is(err, client.ErrNotFound) || errors.Is(err, client.ErrForbidden) || errors.Is(err, client.ErrMicroversion)
}
