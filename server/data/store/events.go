package store

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/data/postgres"
)

// EventStepped is the result of EventStep.
type EventStepped struct {
	// At is a time of the database before the step: a write that was answered before it has an index up to Newest.
	At     time.Time
	Newest int64
}

// EventStep is HistoryStep for streams of events. It waits for a step of another process that is under way.
func (s *Store) EventStep(ctx context.Context) (EventStepped, error) {
	stepped, err := s.historyStep(ctx, true)
	return EventStepped{At: stepped.BeganAt, Newest: stepped.Newest}, err
}

// EventBounds are the state of the record and its bounds.
type EventBounds struct {
	State string
	Log   uuid.UUID
	// Newest is the newest index, Oldest the first one that is kept; 0: there is none.
	Newest, Oldest int64
	// KeptFrom is the lowest index whose event is not deleted, or the one after Newest.
	KeptFrom int64
}

// EventBounds returns the state of the record.
func (s *Store) EventBounds(ctx context.Context) (EventBounds, error) {
	row, err := postgres.QueryPrimary(ctx, s.pool, func(from db.DBTX) (db.EventBoundsRow, error) {
		return s.queries.EventBounds(ctx, from)
	})
	return EventBounds(row), err
}

// EventList is HistoryList from an index on, oldest first, of what is in order.
func (s *Store) EventList(ctx context.Context, filter *HistoryFilter, from int64, limit int) (HistoryList, error) {
	return s.historyPage(ctx, filter, HistoryPage{Limit: limit, From: &from})
}

// EventTree returns the root of the tree in which a provider is now, or the provider itself if it is gone.
func (s *Store) EventTree(ctx context.Context, provider uuid.UUID) (uuid.UUID, error) {
	shown, err := s.ProviderShow(ctx, provider)
	if refused := AsRuleViolation(err); refused != nil && refused.Rule == ProviderNotFound {
		return provider, nil
	}
	return shown.Root, err
}

// Passes reports whether one of the changes passes the filters of streams, as the function history_find decides it: those by providers, tree,
// consumers, nodes, project and topics. InTree must be the root of a tree, or a provider that is gone.
func (f *HistoryFilter) Passes(changes []HistoryChange) bool {
	for i := range changes {
		if f.passes(&changes[i]) {
			return true
		}
	}
	return false
}

func (f *HistoryFilter) passes(change *HistoryChange) bool {
	return (f.Consumers == nil || isOneOf(f.Consumers, change.Consumer)) &&
		(f.Providers == nil || isOneOf(f.Providers, change.Provider)) &&
		(f.Nodes == nil || isOneOf(f.Nodes, change.Provider) || isOneOf(f.Nodes, change.Node)) &&
		(f.InTree == nil || isSame(f.InTree, change.Provider) || isSame(f.InTree, change.Root)) &&
		(f.ProjectID == nil || isSame(f.ProjectID, change.Project) || isSame(f.ProjectID, change.PreviousProject)) &&
		(f.Topics == nil || slices.Contains(f.Topics, change.Topic))
}

func isOneOf(ids []uuid.UUID, id *uuid.UUID) bool { return id != nil && slices.Contains(ids, *id) }

func isSame[V comparable](want, value *V) bool { return value != nil && *value == *want }
