package store

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/data/postgres"
)

// Conductor is a process that decides node allocations and drives nodes.
type Conductor struct {
	Hostname  string
	Group     string
	Drivers   []string
	Online    bool
	CreatedAt time.Time
	// UpdatedAt is the time of its last heartbeat.
	UpdatedAt time.Time
	// HeartbeatAge is the age of the last heartbeat, by the database's clock.
	HeartbeatAge time.Duration
}

// Alive reports whether it is registered and its last heartbeat is at most timeout old.
func (c *Conductor) Alive(timeout time.Duration) bool { return c.Online && c.HeartbeatAge <= timeout }

// ConductorRegister registers a conductor with its drivers. A conductor with a known hostname continues the work of
// that one.
func (s *Store) ConductorRegister(ctx context.Context, hostname string, drivers []string) error {
	if drivers == nil {
		drivers = []string{}
	}
	return s.conduct(ctx, func(on db.DBTX) error { return s.queries.ConductorRegister(ctx, on, hostname, drivers) })
}

// ConductorHeartbeat records a heartbeat; ConductorNotFound if the conductor never registered, or if its row was
// deleted after a long time without heartbeats.
func (s *Store) ConductorHeartbeat(ctx context.Context, hostname string) error {
	return s.conduct(ctx, func(on db.DBTX) error {
		found, err := s.queries.ConductorHeartbeat(ctx, on, hostname)
		if err == nil && found == 0 {
			return unknownConductor(hostname)
		}
		return err
	})
}

// conductorConnections are in a separate pool, so that heartbeats continue while requests use the whole pool: one for
// heartbeats, one for takeovers, which may take longer.
const conductorConnections = 2

// conduct is write on a connection of the conductor.
func (s *Store) conduct(ctx context.Context, run func(db.DBTX) error) error {
	kind := baremetalWrite
	kind.Side = s.conductors
	return s.retryWrite(ctx, kind, func(to *postgres.Primary) error { return run(to) })
}

func unknownConductor(hostname string) error {
	return &RuleViolation{Rule: ConductorNotFound, Values: Values{Conductor: hostname}}
}

// ConductorUnregister unregisters a conductor.
func (s *Store) ConductorUnregister(ctx context.Context, hostname string) error {
	return s.conduct(ctx, func(on db.DBTX) error { return s.queries.ConductorUnregister(ctx, on, hostname) })
}

// ConductorList returns all conductors, by hostname.
func (s *Store) ConductorList(ctx context.Context) ([]Conductor, error) {
	return s.conductorRows(ctx, nil)
}

// ConductorShow returns one conductor; ConductorNotFound if it does not exist.
func (s *Store) ConductorShow(ctx context.Context, hostname string) (Conductor, error) {
	found, err := s.conductorRows(ctx, &hostname)
	if err != nil {
		return Conductor{}, err
	}
	if len(found) == 0 {
		return Conductor{}, unknownConductor(hostname)
	}
	return found[0], nil
}

func (s *Store) conductorRows(ctx context.Context, hostname *string) ([]Conductor, error) {
	rows, err := postgres.QueryPrimary(ctx, s.pool, func(from db.DBTX) ([]db.ConductorListRow, error) {
		return s.queries.ConductorList(ctx, from, hostname)
	})
	return each(rows, func(row db.ConductorListRow) Conductor {
		return Conductor{
			Hostname: row.Hostname, Group: row.ConductorGroup, Drivers: row.Drivers, Online: row.Online,
			CreatedAt: row.CreatedAt, UpdatedAt: row.UpdatedAt,
			HeartbeatAge: time.Duration(row.HeartbeatAge * float64(time.Second)),
		}
	}), err
}

// ConductorTakeOver assigns the work of conductors that are unregistered, or whose last heartbeat is older than
// silence, to me. It returns that work: node allocations to decide, and nodes to continue. It includes node allocations
// without a conductor. Of two concurrent takeovers, each piece of work goes to one. It returns ConductorNotFound if me
// is not registered.
func (s *Store) ConductorTakeOver(
	ctx context.Context, me string, timeout time.Duration,
) (allocations, nodes []uuid.UUID, err error) {
	err = s.conduct(ctx, func(on db.DBTX) error {
		taken, err := s.queries.ConductorTakeOver(ctx, on, me, timeout.Seconds())
		allocations, nodes = taken.Allocations, taken.Nodes
		return err
	})
	return allocations, nodes, err
}
