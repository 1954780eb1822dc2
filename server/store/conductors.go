package store

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/gen/db"
)

// Conductor is a process that decides allocations and drives nodes.
type Conductor struct {
	Hostname  string
	Group     string
	Drivers   []string
	Online    bool
	CreatedAt time.Time
	// UpdatedAt is its last sign of life.
	UpdatedAt time.Time
	// Silence is how long that is ago, by the database's clock.
	Silence time.Duration
}

// Alive says whether it has said something within that time and has not left.
func (c *Conductor) Alive(silence time.Duration) bool { return c.Online && c.Silence <= silence }

// ConductorRegister says that a conductor begins to work, with these drivers. One
// with a hostname that is known goes on with what it had.
func (s *Store) ConductorRegister(ctx context.Context, hostname string, drivers []string) error {
	if drivers == nil {
		drivers = []string{}
	}
	return s.write(ctx, func() error { return s.queries.ConductorRegister(ctx, s.pool, hostname, drivers) })
}

// ConductorHeartbeat is a sign of life; ConductorUnknown if it never registered or
// was silent for so long that it was forgotten.
func (s *Store) ConductorHeartbeat(ctx context.Context, hostname string) error {
	return s.write(ctx, func() error {
		found, err := s.queries.ConductorHeartbeat(ctx, s.pool, hostname)
		if err == nil && found == 0 {
			return unknownConductor(hostname)
		}
		return err
	})
}

func unknownConductor(hostname string) error {
	return &Refused{Rule: ConductorUnknown, Values: Values{Conductor: hostname}}
}

// ConductorLeave says that a conductor works no more.
func (s *Store) ConductorLeave(ctx context.Context, hostname string) error {
	return s.write(ctx, func() error { return s.queries.ConductorLeave(ctx, s.pool, hostname) })
}

// ConductorList reads all, by hostname.
func (s *Store) ConductorList(ctx context.Context) ([]Conductor, error) {
	return s.conductors(ctx, nil)
}

// ConductorShow reads one; ConductorUnknown if there is none.
func (s *Store) ConductorShow(ctx context.Context, hostname string) (Conductor, error) {
	found, err := s.conductors(ctx, &hostname)
	if err != nil {
		return Conductor{}, err
	}
	if len(found) == 0 {
		return Conductor{}, unknownConductor(hostname)
	}
	return found[0], nil
}

func (s *Store) conductors(ctx context.Context, hostname *string) ([]Conductor, error) {
	rows, err := read(ctx, s, func(from db.DBTX) ([]db.ConductorListRow, error) {
		return s.queries.ConductorList(ctx, from, hostname)
	})
	return each(rows, func(row db.ConductorListRow) Conductor {
		return Conductor{
			Hostname: row.Hostname, Group: row.ConductorGroup, Drivers: row.Drivers, Online: row.Online,
			CreatedAt: row.CreatedAt, UpdatedAt: row.UpdatedAt,
			Silence: time.Duration(row.Silence * float64(time.Second)),
		}
	}), err
}

// ConductorTakeOver gives me the work of conductors that have left or are silent
// for so long, and returns it: allocations to decide, and nodes to go on with.
// Allocations that nobody has go with them. Of two that take over at once, each
// piece of work goes to one. ConductorUnknown if I never registered.
func (s *Store) ConductorTakeOver(
	ctx context.Context, me string, silence time.Duration,
) (allocations, nodes []uuid.UUID, err error) {
	err = s.write(ctx, func() error {
		taken, err := s.queries.ConductorTakeOver(ctx, s.pool, me, silence.Seconds())
		allocations, nodes = taken.Allocations, taken.Nodes
		return err
	})
	return allocations, nodes, err
}
