package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/postgres"
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
	made := &Rehearsal{trips: trips, start: trips.Count()}
	return context.WithValue(ctx, rehearsalKey{}, made), made
}

// Asked reports whether the request has sent statements to the database since WithRehearsal.
func (r *Rehearsal) Asked() bool { return r.trips.Count() > r.start }

// State is the part of the database that a write can change, as the API shows it. Traits and classes have those of the
// names of the write that exist.
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
}

// writeTargets are the resources that a write names. A dry run returns their states.
type writeTargets struct {
	providers, consumers []uuid.UUID
	classes, traits      []string
}

// ofProvider returns the targets of a write of one provider.
func ofProvider(id uuid.UUID) writeTargets { return writeTargets{providers: []uuid.UUID{id}} }

// errHeldElsewhere makes a dry run start again: another transaction has given one of its consumers allocations on a provider
// since HeldProvidersKeep, and the state after the write was read without it.
var errHeldElsewhere = &pgconn.PgError{
	Code: postgres.SerializationFailure, Message: "a consumer of a dry run got allocations on another provider concurrently",
}

// rehearse runs a write, reads the states before and after it, and rolls it back.
//
// Both states are read in one snapshot, which the transaction of the write exports. That transaction sees its own changes
// in it, and another connection does not: so the states differ by this write alone, also where it has locked nothing. The
// state before is read after the rollback, and both are decoded after it. So the write holds its locks while one statement
// reads the rows of the state after it, and until the other connection has the snapshot.
func (s *Store) rehearse(
	ctx context.Context, kind postgres.WriteKind, rehearsal *Rehearsal, of writeTargets, run func(db.DBTX) error,
) error {
	return s.pool.Rehearse(ctx, kind, func(conns *postgres.RehearsedConns) error {
		rehearsal.Before, rehearsal.After = State{}, State{}
		shown := db.StateShowParams{
			Exports: true, Providers: of.providers, Consumers: of.consumers, Classes: of.classes, Traits: of.traits,
		}
		after, err := s.writeAndShow(ctx, conns.Batch(), shown, run)
		if err != nil {
			return err
		}
		shown.Exports, shown.Providers = false, slices.Concat(of.providers, after.ProviderUuids)
		before, err := postgres.ReadBefore(ctx, conns, after.Snapshot, func(ctx context.Context, on db.DBTX) (db.StateShowRow, error) {
			return s.queries.StateShow(ctx, on, shown)
		})
		if err != nil {
			return err
		}
		if !containsAll(shown.Providers, before.ProviderUuids) {
			return errHeldElsewhere
		}
		if rehearsal.Before, err = stateOf(&before); err != nil {
			return err
		}
		rehearsal.After, err = stateOf(&after)
		return err
	})
}

// writeAndShow runs a write and reads the state after it, in one round trip.
func (s *Store) writeAndShow(
	ctx context.Context, batch *postgres.Batch, shown db.StateShowParams, run func(db.DBTX) error,
) (after db.StateShowRow, err error) {
	keep := func(context.Context) (struct{}, error) { return struct{}{}, nil }
	if len(shown.Consumers) > 0 {
		keep = postgres.Enqueue(batch, func(ctx context.Context, on db.DBTX) (struct{}, error) {
			return struct{}{}, s.queries.HeldProvidersKeep(ctx, on, shown.Consumers)
		})
	}
	write := postgres.Enqueue(batch, func(_ context.Context, on db.DBTX) (struct{}, error) { return struct{}{}, run(on) })
	show := postgres.Enqueue(batch, func(ctx context.Context, on db.DBTX) (db.StateShowRow, error) {
		return s.queries.StateShow(ctx, on, shown)
	})
	err = batch.Send(ctx)
	for _, read := range []func(context.Context) (struct{}, error){keep, write} {
		if err == nil {
			_, err = read(ctx)
		}
	}
	if err == nil {
		after, err = show(ctx)
	}
	if closed := batch.Close(); err == nil {
		err = closed
	}
	return after, err
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
	made := State{Consumers: make(map[uuid.UUID]ConsumerState, len(shown.Consumers)), Classes: shown.Classes, Traits: shown.Traits}
	if err := json.Unmarshal(shown.Providers, &made.Providers); err != nil {
		return State{}, fmt.Errorf("result of state_read: %w", err)
	}
	for i, consumer := range shown.Consumers {
		state := ConsumerState{
			Generation: shown.Generations[i], ProjectID: shown.Projects[i], UserID: shown.Users[i],
			Allocations: map[uuid.UUID]map[string]int64{},
		}
		if shown.Types[i] != "" {
			state.Type = &shown.Types[i]
		}
		made.Consumers[consumer] = state
	}
	providers, classes := make(map[int64]uuid.UUID, len(shown.ProviderIds)), make(map[int32]string, len(shown.ClassIds))
	for i, id := range shown.ProviderIds {
		providers[id] = shown.ProviderUuids[i]
	}
	for i, id := range shown.ClassIds {
		classes[id] = shown.ClassNames[i]
	}
	for i, holder := range shown.Holders {
		held, provider := made.Consumers[shown.Consumers[holder-1]].Allocations, providers[shown.Held[i]]
		if held[provider] == nil {
			held[provider] = map[string]int64{}
		}
		held[provider][classes[shown.HeldClasses[i]]] = shown.Amounts[i]
	}
	return made, nil
}
