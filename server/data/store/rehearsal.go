package store

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/data/postgres"
)

// Rehearsal is the dry run of a request: its writes are rolled back. One goroutine at a time may use it.
type Rehearsal struct {
	// Before and After are the states before and after the write; empty if it failed.
	Before, After State

	trips *postgres.RoundTrips
	start int64
}

type rehearsalKey struct{}

// WithRehearsal returns a context whose writes of the Placement API are dry runs, and their result.
func WithRehearsal(ctx context.Context) (context.Context, *Rehearsal) {
	trips := postgres.RoundTripsOf(ctx)
	if trips == nil {
		ctx, trips = postgres.CountRoundTrips(ctx)
	}
	rehearsal := &Rehearsal{trips: trips, start: trips.Count()}
	return context.WithValue(ctx, rehearsalKey{}, rehearsal), rehearsal
}

// Asked reports whether the request has sent statements to the database since WithRehearsal.
func (r *Rehearsal) Asked() bool { return r.trips.Count() > r.start }

// State is the part of the database that a write can change, as the API shows it. Traits and classes have those of the
// names of the write that exist. The providers of a write of allocations have no parents, traits and aggregates.
type State struct {
	Providers map[uuid.UUID]ProviderState
	Consumers map[uuid.UUID]ConsumerState
	Classes   []string
	Traits    []string
}

// ProviderState is a provider in a State.
type ProviderState struct {
	Name        string                    `json:"name"`
	Parent      *uuid.UUID                `json:"parent"`
	Generation  int64                     `json:"generation"`
	Inventories map[string]InventoryState `json:"inventories"`
	// Usages are by the classes of the inventories.
	Usages     map[string]int64 `json:"usages"`
	Traits     []string         `json:"traits"`
	Aggregates []uuid.UUID      `json:"aggregates"`
}

// InventoryState is an inventory in a State.
type InventoryState struct {
	Total           int32   `json:"total"`
	Reserved        int32   `json:"reserved"`
	MinUnit         int32   `json:"min_unit"`
	MaxUnit         int32   `json:"max_unit"`
	StepSize        int32   `json:"step_size"`
	AllocationRatio float64 `json:"allocation_ratio"`
}

// ConsumerState is a consumer in a State.
type ConsumerState struct {
	Generation int64
	ProjectID  string
	UserID     string
	// Type is nil for a consumer without one.
	Type *string
	// Allocations are by provider and class.
	Allocations map[uuid.UUID]map[string]int64
	// Lease is nil for a consumer without one.
	Lease *Lease
}

// writeTargets are the resources that a write names. A dry run returns their states.
type writeTargets struct {
	providers, consumers []uuid.UUID
	classes, traits      []string
	// brief leaves out of the states what writes of allocations do not change: parents, traits and aggregates of providers.
	brief bool
}

// ofProvider returns the targets of a write of one provider.
func ofProvider(id uuid.UUID) writeTargets { return writeTargets{providers: []uuid.UUID{id}} }

// errHeldElsewhere makes a dry run start again: another transaction has given one of its consumers allocations on a provider
// since HeldProvidersKeep, and the state after the write was read without it.
var errHeldElsewhere = &pgconn.PgError{
	Code: postgres.SerializationFailure, Message: "a consumer of a dry run got allocations on another provider concurrently",
}

// maxKept is the number of resources that a write may name so that a dry run reads the state before it first. It is a guess
// that is wrong where other transactions end during the write, so it must cost little.
const maxKept = 64

// rehearse runs a write, reads the states before and after it, and rolls it back.
//
// Both states are those of one snapshot, so they differ by this write alone, also where it has locked nothing. For a write
// that names few resources, the state before is read first, in the same batch: it is that of the snapshot after the write
// unless another transaction has ended in between, which the statement after the write compares. Otherwise the transaction of
// the write exports its snapshot. It sees its own changes in it, and another connection, which reads the state before, does
// not. It reads after the rollback, and all states are decoded after it. So the write holds its locks while one statement
// reads the rows of the state after it, and until the other connection has the snapshot.
func (s *Store) rehearse(
	ctx context.Context, kind postgres.WriteKind, rehearsal *Rehearsal, of writeTargets, run func(db.DBTX) error,
) error {
	return s.pool.Rehearse(ctx, kind, func(conns *postgres.RehearsedConns) error {
		rehearsal.Before, rehearsal.After = State{}, State{}
		shown := db.StateShowParams{
			Exports: true, Brief: of.brief,
			Providers: distinct(of.providers), Consumers: of.consumers, Classes: of.classes, Traits: of.traits,
		}
		before, after, err := s.writeAndShow(ctx, conns.Batch(), shown, run)
		if err != nil {
			return err
		}
		if after.Snapshot == "" {
			conns.EndWrite(ctx)
		} else if before, err = s.readBefore(ctx, conns, shown, &after); err != nil {
			return err
		}
		if rehearsal.Before, err = stateOf(&before); err != nil {
			return err
		}
		rehearsal.After, err = stateOf(&after)
		return err
	})
}

// readBefore reads the state before a write in the snapshot that the statement after it has exported.
func (s *Store) readBefore(
	ctx context.Context, conns *postgres.RehearsedConns, shown db.StateShowParams, after *db.StateShowRow,
) (db.StateShowRow, error) {
	shown.Exports, shown.Providers = false, slices.Concat(shown.Providers, after.ProviderUuids)
	before, err := postgres.ReadBefore(ctx, conns, after.Snapshot, func(ctx context.Context, on db.DBTX) (db.StateShowRow, error) {
		return s.queries.StateShow(ctx, on, shown)
	})
	if err == nil && !containsAll(shown.Providers, before.ProviderUuids) {
		err = errHeldElsewhere
	}
	return before, err
}

// writeAndShow runs a write and reads the state after it, in one round trip; before it, either the state before or only the
// providers that the consumers have.
func (s *Store) writeAndShow(
	ctx context.Context, batch *postgres.Batch, shown db.StateShowParams, run func(db.DBTX) error,
) (before, after db.StateShowRow, err error) {
	keep := func(context.Context) (db.StateKeepRow, error) { return db.StateKeepRow{}, nil }
	switch {
	case len(shown.Providers)+len(shown.Consumers)+len(shown.Classes)+len(shown.Traits) <= maxKept:
		keep = postgres.Enqueue(batch, func(ctx context.Context, on db.DBTX) (db.StateKeepRow, error) {
			return s.queries.StateKeep(ctx, on, db.StateKeepParams{
				Providers: shown.Providers, Consumers: shown.Consumers, Classes: shown.Classes, Traits: shown.Traits, Brief: shown.Brief,
			})
		})
	case len(shown.Consumers) > 0:
		keep = postgres.Enqueue(batch, func(ctx context.Context, on db.DBTX) (db.StateKeepRow, error) {
			return db.StateKeepRow{}, s.queries.HeldProvidersKeep(ctx, on, shown.Consumers)
		})
	}
	write := postgres.Enqueue(batch, func(_ context.Context, on db.DBTX) (struct{}, error) { return struct{}{}, run(on) })
	show := postgres.Enqueue(batch, func(ctx context.Context, on db.DBTX) (db.StateShowRow, error) {
		return s.queries.StateShow(ctx, on, shown)
	})
	if err = batch.Send(ctx); err == nil {
		var kept db.StateKeepRow
		kept, err = keep(ctx)
		before = db.StateShowRow(kept)
	}
	if err == nil {
		_, err = write(ctx)
	}
	if err == nil {
		after, err = show(ctx)
	}
	if closed := batch.Close(); err == nil {
		err = closed
	}
	return before, after, err
}

// distinct returns the different ones of the providers of allocations, each of which names its provider.
func distinct(providers []uuid.UUID) []uuid.UUID {
	ids := append([]uuid.UUID{}, providers...) // nil would become NULL
	slices.SortFunc(ids, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	return slices.Compact(ids)
}

// containsAll reports whether a list has all elements of another.
func containsAll(list, elements []uuid.UUID) bool {
	known := make(map[uuid.UUID]struct{}, len(list))
	for _, element := range list {
		known[element] = struct{}{}
	}
	return !slices.ContainsFunc(elements, func(element uuid.UUID) bool {
		_, found := known[element]
		return !found
	})
}

// stateOf returns the state in a row of StateShow: allocations name providers and classes by their ids.
func stateOf(shown *db.StateShowRow) (State, error) {
	result := State{Consumers: make(map[uuid.UUID]ConsumerState, len(shown.Consumers)), Classes: shown.Classes, Traits: shown.Traits}
	if err := json.Unmarshal(shown.Providers, &result.Providers); err != nil {
		return State{}, fmt.Errorf("result of state_read: %w", err)
	}
	leases := map[uuid.UUID]*Lease{}
	if shown.Leases != nil {
		if err := decodeResult(shown.Leases, &leases); err != nil {
			return State{}, err
		}
	}
	for i, consumer := range shown.Consumers {
		state := ConsumerState{
			Generation: shown.Generations[i], ProjectID: shown.Projects[i], UserID: shown.Users[i],
			Allocations: map[uuid.UUID]map[string]int64{}, Lease: leases[consumer],
		}
		if shown.Types[i] != "" {
			state.Type = &shown.Types[i]
		}
		result.Consumers[consumer] = state
	}
	providers, classes := make(map[int64]uuid.UUID, len(shown.ProviderIds)), make(map[int32]string, len(shown.ClassIds))
	for i, id := range shown.ProviderIds {
		providers[id] = shown.ProviderUuids[i]
	}
	for i, id := range shown.ClassIds {
		classes[id] = shown.ClassNames[i]
	}
	for i, holder := range shown.Holders {
		held, provider := result.Consumers[shown.Consumers[holder-1]].Allocations, providers[shown.Held[i]]
		if held[provider] == nil {
			held[provider] = map[string]int64{}
		}
		held[provider][classes[shown.HeldClasses[i]]] = shown.Amounts[i]
	}
	return result, nil
}
