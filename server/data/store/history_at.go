package store

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/data/postgres"
)

// UnknownGeneration is the generation of a provider as it was, if the record has none up to then.
const UnknownGeneration = -1

// HistoryTime selects a moment of the record: by a time or by an index.
type HistoryTime struct {
	Time  *time.Time
	Index *int64
}

// HistoryMoment is what the record knows about a moment.
type HistoryMoment struct {
	// State and Newest are those of the record.
	State  string
	Newest int64
	// IsFuture: the time has not come by the clock of the database.
	IsFuture bool
	// IsGone: the moment is before the time from which the record is complete: BeganAt. First is the first index that counts then.
	IsGone  bool
	BeganAt time.Time
	First   int64
	// Index is the newest event that counts at the moment, and At its time, or BeganAt if the event is not kept.
	Index int64
	At    time.Time
}

// IsKnown reports whether the record tells how it was at the moment.
func (m *HistoryMoment) IsKnown() bool {
	return m.State == HistoryOn && !m.IsFuture && !m.IsGone && m.Index <= m.Newest
}

// atMoment puts committed writes in order, and calls run with the moment in a snapshot on the primary, if the moment is known. The
// statements of run read what the record has, and what other tables have now, of one snapshot.
func atMoment[R any](
	ctx context.Context, s *Store, at HistoryTime, run func(*postgres.Snapshot, *HistoryMoment) (R, error),
) (R, HistoryMoment, error) {
	var moment HistoryMoment
	if _, err := s.HistoryStep(ctx, true); err != nil {
		var none R
		return none, moment, err
	}
	result, err := postgres.OnPrimary(ctx, s.pool, func(conn *postgres.Conn) (result R, err error) {
		in := postgres.NewSnapshot(conn)
		defer func() { err = errors.Join(err, in.Close()) }()
		row, err := postgres.QueryOnce(ctx, in, func(ctx context.Context, from db.DBTX) (db.HistoryMomentRow, error) {
			return s.queries.HistoryMoment(ctx, from, at.Time, at.Index)
		})
		if err != nil {
			return result, err
		}
		if moment = HistoryMoment(row); !moment.IsKnown() {
			return result, nil
		}
		return run(in, &moment)
	})
	return result, moment, err
}

// TreeShowAt returns the tree in which a provider was at a moment, as it was then, without sharing providers: ProviderNotFound if the
// provider did not exist. If the moment is not known, it returns no tree.
func (s *Store) TreeShowAt(ctx context.Context, query TreeQuery, at HistoryTime) (ShownTree, HistoryMoment, error) {
	return atMoment(ctx, s, at, func(in *postgres.Snapshot, moment *HistoryMoment) (tree ShownTree, err error) {
		rows, err := postgres.QueryOnce(ctx, in, func(ctx context.Context, from db.DBTX) ([]db.TreeShowAtRow, error) {
			return s.queries.TreeShowAt(ctx, from, db.TreeShowAtParams{
				Index: moment.Index, BeganAt: moment.BeganAt, Provider: query.Provider,
				Records: query.Inventories, Traits: query.Traits, Aggregates: query.Aggregates,
			})
		})
		if err != nil {
			return tree, err
		}
		if tree, err = shownTreeAt(query.Provider, rows); err != nil || !query.Consumers {
			return tree, err
		}
		users, err := postgres.QueryOnce(ctx, in, func(ctx context.Context, from db.DBTX) ([]uuid.UUID, error) {
			return s.queries.TreeUsersAt(ctx, from, moment.Index, query.Provider, query.MaxConsumers+1)
		})
		if err != nil {
			return tree, err
		}
		if tree.ConsumersExceeded = int64(len(users)) > query.MaxConsumers; tree.ConsumersExceeded {
			return tree, nil
		}
		tree.Consumers, err = s.consumersAt(ctx, in, moment, users)
		return tree, err
	})
}

// ConsumerShowAt returns a consumer with its allocations as it was at a moment; nil: it did not exist, or the moment is not known.
func (s *Store) ConsumerShowAt(ctx context.Context, id uuid.UUID, at HistoryTime) (*ConsumerRecord, HistoryMoment, error) {
	return atMoment(ctx, s, at, func(in *postgres.Snapshot, moment *HistoryMoment) (*ConsumerRecord, error) {
		found, err := s.consumersAt(ctx, in, moment, []uuid.UUID{id})
		if err != nil || len(found) == 0 {
			return nil, err
		}
		return &found[0], nil
	})
}

// consumersAt returns consumers as they were.
func (s *Store) consumersAt(ctx context.Context, in *postgres.Snapshot, moment *HistoryMoment, ids []uuid.UUID) ([]ConsumerRecord, error) {
	rows, err := postgres.QueryOnce(ctx, in, func(ctx context.Context, from db.DBTX) ([]db.ConsumersAtRow, error) {
		return s.queries.ConsumersAt(ctx, from, moment.Index, moment.BeganAt, ids)
	})
	if err != nil {
		return nil, err
	}
	records := []ConsumerRecord{}
	for len(rows) > 0 {
		count := 1
		for count < len(rows) && rows[count].Consumer == rows[0].Consumer {
			count++
		}
		record, err := consumerAt(rows[:count], moment.At)
		if err != nil {
			return nil, err
		}
		records, rows = append(records, record), rows[count:]
	}
	return records, nil
}

// consumerAt translates the rows of a consumer, of which there is at least one, as it was at a moment.
func consumerAt(rows []db.ConsumersAtRow, moment time.Time) (record ConsumerRecord, err error) {
	first := &rows[0]
	record = ConsumerRecord{
		UUID: first.Consumer, ProjectID: first.ProjectID, UserID: first.UserID, Type: one(first.Type), Generation: first.Generation,
		CreatedAt: timeOrZero(first.CreatedAt), UpdatedAt: timeOrZero(first.UpdatedAt),
	}
	if first.IsNodeAllocation {
		record.NodeAllocation = &NodeAllocationName{Name: one(first.NodeAllocationName)}
	}
	sums, order, providers := map[string]int64{}, map[string]int64{}, map[uuid.UUID]bool{}
	for i := range rows {
		row := &rows[i]
		record.Allocations = append(record.Allocations, ConsumerAllocation{
			Provider: row.Provider, Root: row.Root, ProviderName: row.ProviderName, ProviderGeneration: generationAt(row.ProviderGeneration),
			Class: row.Class, Used: row.Used, CreatedAt: creationAt(row.AllocatedAt, moment),
		})
		sums[row.Class] += row.Used
		order[row.Class], providers[row.Provider] = row.ClassOrder, true
	}
	for class, used := range sums {
		record.Resources = append(record.Resources, Amount{Class: class, Amount: used})
	}
	slices.SortFunc(record.Resources, func(a, b Amount) int {
		return cmp.Or(cmp.Compare(order[a.Class], order[b.Class]), cmp.Compare(a.Class, b.Class))
	})
	record.ProviderCount = len(providers)
	record.Lease, err = leaseOf(first.Lease)
	return record, err
}

// shownTreeAt returns the providers of a tree as they were.
func shownTreeAt(provider uuid.UUID, rows []db.TreeShowAtRow) (tree ShownTree, err error) {
	present := make([]db.TreeShowRow, len(rows))
	for i := range rows {
		row := &rows[i]
		present[i] = db.TreeShowRow{
			Uuid: row.Uuid, Name: row.Name, Generation: generationAt(row.Generation), Parent: row.Parent, Root: row.Root,
			Records: row.Records, Traits: row.Traits, Aggregates: row.Aggregates,
		}
	}
	return shownTree(provider, present)
}

// generationAt returns the only element, or UnknownGeneration.
func generationAt(of []int64) int64 {
	if len(of) == 0 {
		return UnknownGeneration
	}
	return of[0]
}

// creationAt returns the time at which an allocation of a moment was created; the zero time: the record does not have it. A
// write that deletes a row and creates an equal one is no change: the time of the row is then later than the moment.
func creationAt(of []time.Time, moment time.Time) time.Time {
	if created := timeOrZero(of); !created.After(moment) {
		return created
	}
	return time.Time{}
}

// timeOrZero returns the only element, or the zero time.
func timeOrZero(of []time.Time) time.Time {
	if len(of) == 0 {
		return time.Time{}
	}
	return of[0]
}
