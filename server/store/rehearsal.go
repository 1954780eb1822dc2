package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

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
	Providers map[uuid.UUID]ProviderState `json:"providers"`
	Consumers map[uuid.UUID]ConsumerState `json:"consumers"`
	Classes   []string                    `json:"resource_classes"`
	Traits    []string                    `json:"traits"`
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
	Generation int64  `json:"generation"`
	ProjectID  string `json:"project_id"`
	UserID     string `json:"user_id"`
	// Type is nil for a consumer without one.
	Type *string `json:"type"`
	// Allocations are by provider and class.
	Allocations map[uuid.UUID]map[string]int64 `json:"allocations"`
}

// writeTargets are the resources that a write names. A dry run returns their states.
type writeTargets struct {
	providers, consumers []uuid.UUID
	classes, traits      []string
}

// ofProvider returns the targets of a write of one provider.
func ofProvider(id uuid.UUID) writeTargets { return writeTargets{providers: []uuid.UUID{id}} }

// rehearse runs a write, reads the states before and after it, and rolls it back.
//
// Both states are read in one snapshot, which the transaction of the write exports. That transaction sees its own changes
// in it, and another connection does not: so the states differ by this write alone, also where it has locked nothing.
func (s *Store) rehearse(
	ctx context.Context, kind postgres.WriteKind, rehearsal *Rehearsal, of writeTargets, run func(db.DBTX) error,
) error {
	return s.pool.Rehearse(ctx, kind, func(to, beside *pgxpool.Conn) error {
		rehearsal.Before, rehearsal.After = State{}, State{}
		if err := run(to); err != nil {
			return err
		}
		shown := db.StateShowParams{Providers: of.providers, Consumers: of.consumers, Classes: of.classes, Traits: of.traits}
		if len(of.consumers) > 0 {
			// The write has locked the consumers, so their allocations stay the same.
			held, err := s.queries.ConsumerProviderList(ctx, beside, of.consumers)
			if err != nil {
				return err
			}
			shown.Providers = append(held, of.providers...)
		}
		after, err := s.queries.StateShowExported(ctx, to, db.StateShowExportedParams(shown))
		if err != nil {
			return err
		}
		if err := rehearsal.After.decode(after.State); err != nil {
			return err
		}
		for provider := range rehearsal.After.Providers {
			shown.Providers = append(shown.Providers, provider)
		}
		if err := postgres.BeginInSnapshot(ctx, beside, after.Snapshot); err != nil {
			return err
		}
		before, err := s.queries.StateShow(ctx, beside, shown)
		if err != nil {
			return err
		}
		return rehearsal.Before.decode(before)
	})
}

func (s *State) decode(shown json.RawMessage) error {
	if err := json.Unmarshal(shown, s); err != nil {
		return fmt.Errorf("result of state_show: %w", err)
	}
	return nil
}
