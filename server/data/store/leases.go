package store

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/data/postgres"
)

// LeaseTerms are what a request gives a consumer: Seconds, Until or both. The zero value takes a lease away.
type LeaseTerms struct {
	// Seconds is the time from a write or renewal to the end; nil: nothing to renew.
	Seconds *int32 `json:"seconds,omitempty"`
	// Until is the time that no renewal passes; nil: none.
	Until *time.Time `json:"until,omitempty"`
}

// Lease is a consumer's lease: it is removed with all its allocations at ExpiresAt, by the clock of the database.
type Lease struct {
	Seconds   *int32     `json:"seconds"`
	Until     *time.Time `json:"until"`
	ExpiresAt time.Time  `json:"expires_at"`
}

// Equal reports whether two leases are the same; nil: none.
func (l *Lease) Equal(other *Lease) bool {
	if l == nil || other == nil {
		return l == other
	}
	return l.ExpiresAt.Equal(other.ExpiresAt) && equalTo(l.Seconds, other.Seconds) &&
		(l.Until == nil) == (other.Until == nil) && (l.Until == nil || l.Until.Equal(*other.Until))
}

// equalTo compares two numbers; nil: none.
func equalTo(a, b *int32) bool { return a == b || a != nil && b != nil && *a == *b }

// LeaseRenewal is the result of the renewal of one consumer.
type LeaseRenewal struct {
	Consumer uuid.UUID
	// Seconds and ExpiresAt are those of the renewed lease; 0: it has none that can be renewed.
	Seconds   int32
	ExpiresAt time.Time
	// Exists: there is a consumer.
	Exists bool
}

// RemovedConsumer is a consumer whose lease has expired, with what it had.
type RemovedConsumer struct {
	Consumer   uuid.UUID `json:"consumer"`
	Generation int64     `json:"generation"`
	ProjectID  string    `json:"project"`
	UserID     string    `json:"user"`
	// Type is nil for a consumer without one.
	Type      *string   `json:"type"`
	CreatedAt time.Time `json:"created_at"`
	RemovedAt time.Time `json:"removed_at"`
	Lease     Lease     `json:"lease"`
	// Allocations are in the order of their creation.
	Allocations []struct {
		Provider uuid.UUID `json:"provider"`
		Class    string    `json:"class"`
		Amount   int64     `json:"amount"`
	} `json:"allocations"`
}

// LeaseRenew renews the leases of consumers, which are distinct; seconds nil: each keeps its length. It returns an element for
// each, in their order.
func (s *Store) LeaseRenew(ctx context.Context, consumers []uuid.UUID, seconds *int32) (renewals []LeaseRenewal, err error) {
	err = s.write(ctx, writeTargets{consumers: consumers, brief: true}, func(to db.DBTX) error {
		rows, err := s.queries.LeaseRenew(ctx, to, consumers, seconds)
		renewals = make([]LeaseRenewal, 0, len(rows))
		for _, row := range rows {
			renewals = append(renewals, LeaseRenewal{Consumer: row.Consumer, Seconds: row.Seconds, ExpiresAt: row.ExpiresAt, Exists: row.IsFound})
		}
		return err
	})
	return renewals, err
}

// leaseStep is the maximum number of consumers that one statement removes: it locks all their providers.
const leaseStep = 25

// LeaseExpire removes up to leaseStep consumers whose leases have expired, those that expired first. It reports whether more may
// have.
func (s *Store) LeaseExpire(ctx context.Context) (removed []RemovedConsumer, more bool, err error) {
	kind := placementWrite
	kind.Background = true
	err = s.retryWrite(ctx, kind, func(to *postgres.Primary) error {
		result, err := s.queries.LeaseExpire(ctx, to, leaseStep)
		if err != nil {
			return err
		}
		removed = nil
		if err := decodeResult(result.Removed, &removed); err != nil {
			return err
		}
		more = result.Moved > 0 || result.LookedAt == leaseStep && len(removed) > 0
		return nil
	})
	return removed, more, err
}

// LeaseDue reports whether the time to look at a lease has come.
func (s *Store) LeaseDue(ctx context.Context) (bool, error) {
	return postgres.QueryPrimary(ctx, s.pool, func(from db.DBTX) (bool, error) { return s.queries.LeaseDue(ctx, from) })
}

// LeaseCount returns the number of consumers with a lease, and for how long the first one has been due; 0: none is.
func (s *Store) LeaseCount(ctx context.Context) (count int64, overdue time.Duration, err error) {
	found, err := postgres.QueryPrimary(ctx, s.pool, func(from db.DBTX) (db.LeaseCountRow, error) { return s.queries.LeaseCount(ctx, from) })
	return found.Count, time.Duration(found.Overdue * float64(time.Second)), err
}

// leasesOf returns the leases that claims give as the JSON array of the function lease_write. It is nil if there are none; with
// shows it is not if a consumer exists, whose lease the function then returns.
func leasesOf(claims []Claim, shows bool) json.RawMessage {
	if !slices.ContainsFunc(claims, func(claim Claim) bool { return claim.Lease != nil || shows && claim.Generation != nil }) {
		return nil
	}
	terms := make([]*LeaseTerms, len(claims))
	for i := range claims {
		terms[i] = claims[i].Lease
	}
	return encode(terms)
}

// leaseOf decodes a lease that a query shows; nil: there is none.
func leaseOf(shown json.RawMessage) (*Lease, error) {
	if shown == nil {
		return nil, nil //nolint:nilnil // most consumers have no lease
	}
	lease := &Lease{}
	return lease, decodeResult(shown, lease)
}
