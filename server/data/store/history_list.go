package store

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/data/postgres"
)

const (
	// maxChangesLookedAt is how many changes a page of events looks at, besides the rest of its last event.
	maxChangesLookedAt = 5000
	// maxChangesListed is the number of changes after which a page ends with the event that it has begun.
	maxChangesListed = 10000
)

// HistoryFilter selects events. The zero value selects all. An event passes if one of its changes passes all filters.
type HistoryFilter struct {
	// Providers select changes of these providers and of consumers on them.
	Providers []uuid.UUID
	// InTree selects changes of the providers of the tree that this provider is in now, or that it was the root of then.
	InTree    *uuid.UUID
	Consumers []uuid.UUID
	// Nodes select changes of nodes, of their allocations, and of providers with their UUIDs.
	Nodes []uuid.UUID
	// Name selects changes of providers, nodes and node allocations that have or had this name.
	Name *string
	// Request is a request id or global request id.
	Request *string
	// UserID is the caller; ProjectID owns the consumer, before or after.
	UserID, ProjectID *string
	// Topics are topics of the table history: on the wire, name and node have two each.
	Topics []string
	// Since is inclusive, Until exclusive.
	Since, Until *time.Time
	// SinceIndex is inclusive, UntilIndex exclusive.
	SinceIndex, UntilIndex *int64
}

// HistoryPage is a page of events.
type HistoryPage struct {
	// Limit is the maximum number of events.
	Limit int
	// Descending lists the newest first.
	Descending bool
	// From is the index at which the page begins; nil: the first of the list.
	From *int64
}

// HistoryChange is what an event changed of one object.
type HistoryChange struct {
	At time.Time
	// Topic is the kind of object: provider, inventory, trait, aggregate, allocation, class_name, trait_name, node, node_trait, node_allocation
	// or history.
	Topic                    string
	Provider, Consumer, Node *uuid.UUID
	// Root is the root of the provider's tree; nil: the provider itself, or no provider.
	Root *uuid.UUID
	// Class is a resource class or trait.
	Class *string
	// Generation is that of the provider after the event; nil: the event did not raise it.
	Generation *int64
	// Project is the project of the consumer, and PreviousProject the one before if it has changed; nil: none.
	Project, PreviousProject *string
	// Caller is who asked, as CallerOf returns it; nil: unknown.
	Caller json.RawMessage
	// Before and After are the object; nil: it did not or does not exist.
	Before, After json.RawMessage
}

// HistoryEvent is a write with all its changes.
type HistoryEvent struct {
	Index   int64
	Changes []HistoryChange
}

// HistoryList is a page of events, and the state of the record.
type HistoryList struct {
	Events []HistoryEvent
	// Next is the index at which the next page begins; nil: this is the last one.
	Next  *int64
	State string
	Log   uuid.UUID
	// Oldest and Newest are the first and the last index of the record; 0: there is none.
	Oldest, Newest int64
	// CompleteSince is the time from which on the record is complete; nil: it is not.
	CompleteSince *time.Time
}

// HistoryList puts committed writes in order, and returns a page of events. The page can be shorter than its limit, or empty, and not be
// the last: it ends after 5,000 changes that it has looked at, or 10,000 that it lists, with the event that it has begun.
func (s *Store) HistoryList(ctx context.Context, filter *HistoryFilter, page HistoryPage) (HistoryList, error) {
	if _, err := s.HistoryStep(ctx, true); err != nil {
		return HistoryList{}, err
	}
	return s.historyPage(ctx, filter, page)
}

// historyPage returns a page of what is in order.
func (s *Store) historyPage(ctx context.Context, filter *HistoryFilter, page HistoryPage) (HistoryList, error) {
	params := db.HistoryListParams{
		Descending: page.Descending, FromIndex: page.From, Low: filter.SinceIndex, High: filter.UntilIndex, Since: filter.Since, Until: filter.Until,
		Consumers: filter.Consumers, Request: filter.Request, Providers: filter.Providers, Nodes: filter.Nodes, Tree: filter.InTree, Name: filter.Name,
		CallerUser: filter.UserID, Project: filter.ProjectID, Topics: filter.Topics,
		MaxEvents: int32(page.Limit), Bound: maxChangesLookedAt, MaxChanges: maxChangesListed,
	}
	rows, err := postgres.QueryPrimary(ctx, s.pool, func(from db.DBTX) ([]db.HistoryListRow, error) {
		return s.queries.HistoryList(ctx, from, params)
	})
	if err != nil {
		return HistoryList{}, err
	}
	return historyList(rows), nil
}

// historyList translates rows, of which there is at least one.
func historyList(rows []db.HistoryListRow) HistoryList {
	first := &rows[0]
	list := HistoryList{State: first.State, Log: first.Log, Oldest: first.Oldest, Newest: first.Newest, CompleteSince: first.Since}
	if list.CompleteSince != nil && first.OldestAt.After(*list.CompleteSince) && list.Oldest > 1 {
		list.CompleteSince = &first.OldestAt
	}
	for i := range rows {
		row := &rows[i]
		switch {
		case row.EventIndex == 0: // no event
			continue
		case row.IsNext:
			list.Next = &row.EventIndex
			continue
		case len(list.Events) == 0 || list.Events[len(list.Events)-1].Index != row.EventIndex:
			list.Events = append(list.Events, HistoryEvent{Index: row.EventIndex})
		}
		event := &list.Events[len(list.Events)-1]
		event.Changes = append(event.Changes, HistoryChange{
			At: row.At, Topic: row.Topic, Provider: row.Provider, Root: row.Root, Consumer: row.Consumer, Node: row.Node, Class: row.Class,
			Generation: row.Generation, Project: row.Project, PreviousProject: row.PreviousProject,
			Caller: row.Caller, Before: row.Before, After: row.After,
		})
	}
	return list
}
