package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"

	api "github.com/berthd/berth/gen/client"
)

// berth16 is the first version of the extensions with leases.
const berth16 = "1.6"

// maxRenewed is the maximum number of consumers in a request to renew leases.
const maxRenewed = 1000

// LeaseTerms are the lease that a request gives a consumer: Seconds, Until or both. The zero value takes a lease away.
type LeaseTerms struct {
	// Seconds is the time from a write or renewal to the removal; 0: the lease is not renewed.
	Seconds int
	// Until is the time that no renewal passes; zero: none.
	Until time.Time
}

// MarshalJSON implements json.Marshaler.
func (l LeaseTerms) MarshalJSON() ([]byte, error) {
	if l == (LeaseTerms{}) {
		return []byte("null"), nil
	}
	return json.Marshal(struct {
		Seconds int       `json:"seconds,omitempty"`
		Until   time.Time `json:"until,omitzero"`
	}{l.Seconds, l.Until.UTC()})
}

// Lease is the lease of a consumer: the service removes it with all its allocations at ExpiresAt, by the clock of its database.
type Lease struct {
	// Seconds and Until are nil without them.
	Seconds   *int       `json:"seconds"`
	Until     *time.Time `json:"until"`
	ExpiresAt time.Time  `json:"expires_at"`
}

// leaseOf returns a lease of a response; nil: none.
func leaseOf(read *api.Lease) *Lease {
	if read == nil {
		return nil
	}
	lease := &Lease{Until: read.Until, ExpiresAt: read.ExpiresAt}
	if read.Seconds != nil {
		lease.Seconds = new(int(*read.Seconds))
	}
	return lease
}

// leaseVersion returns the version of the extensions that the leases of records need; "": there are none.
func leaseVersion(records Allocations) string {
	for _, record := range records {
		if record.NewLease != nil {
			return berth16
		}
	}
	return ""
}

// LeasesRenewed is what became of the leases of a request.
type LeasesRenewed struct {
	// Renewed are the renewed leases. Gone are the consumers that do not exist (any more), and Without those that have no
	// lease to renew.
	Renewed map[uuid.UUID]RenewedLease `json:"renewed"`
	Gone    []uuid.UUID                `json:"gone"`
	Without []uuid.UUID                `json:"without"`
}

// RenewedLease is a renewed lease.
type RenewedLease struct {
	Seconds   int       `json:"seconds"`
	ExpiresAt time.Time `json:"expires_at"`
}

// LeaseRenew renews the leases of consumers, which are distinct; seconds 0: each keeps its length. It sends a request for each
// thousand, and needs berth 1.6.
func (c *Client) LeaseRenew(ctx context.Context, seconds int, consumers ...uuid.UUID) (LeasesRenewed, error) {
	all := LeasesRenewed{Renewed: map[uuid.UUID]RenewedLease{}}
	for part := range slices.Chunk(consumers, maxRenewed) {
		var renewed LeasesRenewed
		err := c.do(ctx, &renewed, request{
			method: http.MethodPost, path: "leases", needs: berth16, asksFirst: true,
			body: struct {
				Consumers []uuid.UUID `json:"consumers"`
				Seconds   int         `json:"seconds,omitempty"`
			}{part, seconds},
		})
		if err != nil {
			return all, err
		}
		for id, lease := range renewed.Renewed {
			all.Renewed[id] = lease
		}
		all.Gone, all.Without = append(all.Gone, renewed.Gone...), append(all.Without, renewed.Without...)
	}
	return all, nil
}

// ErrLeaseLost is the error of Keep for a consumer that the service has removed, or may have removed: its holder must stop.
var ErrLeaseLost = errors.New("the lease is lost")

// Keep renews the leases of consumers until the context ends, and then returns nil. It renews at once, and then whenever a third
// of the shortest lease has passed. The error of the first renewal is returned; a later one that fails is repeated. A holder whose
// lease has an until must stop then by itself.
//
// The error is an ErrLeaseLost and names the consumers if one of them is gone or has no lease to renew, or if nothing could be
// renewed for the length of the shortest lease, by the clock of this computer: then the service may have removed it.
func (c *Client) Keep(ctx context.Context, consumers ...uuid.UUID) error {
	return c.keep(ctx, time.Time{}, consumers)
}

// KeepUntilLost is Keep for leases that a claim has just given, which end at a time by the clock of this computer: it repeats
// a first renewal that fails, too.
func (c *Client) KeepUntilLost(ctx context.Context, end time.Time, consumers ...uuid.UUID) error {
	return c.keep(ctx, end, consumers)
}

// keep is Keep for leases that end at a deadline; zero: an unknown one.
func (c *Client) keep(ctx context.Context, deadline time.Time, consumers []uuid.UUID) error {
	if len(consumers) == 0 {
		<-ctx.Done()
		return nil
	}
	pause := time.Duration(0)
	for {
		if sleep(ctx, pause) != nil {
			return nil
		}
		sent := time.Now()
		renewed, err := c.renewBefore(ctx, deadline, consumers)
		if ctx.Err() != nil {
			return nil
		}
		if lost := append(renewed.Gone, renewed.Without...); err == nil && len(lost) > 0 {
			return fmt.Errorf("%w: consumers %s", ErrLeaseLost, texts(lost))
		}
		switch {
		case err == nil:
			shortest := renewed.shortest()
			deadline, pause = sent.Add(shortest), shortest/3
		case deadline.IsZero(), !isRetried(err):
			return err
		case !time.Now().Before(deadline):
			return fmt.Errorf("%w: %w", ErrLeaseLost, err)
		default:
			pause = min(time.Until(deadline), keepPause)
		}
	}
}

// keepPause is the pause after a renewal that failed.
const keepPause = time.Second

// renewBefore is LeaseRenew with a time limit before a deadline, so that there is time for another attempt; zero: no limit. After
// the deadline, such as in a process that was stopped, there is one attempt: the service may still have the consumers.
func (c *Client) renewBefore(ctx context.Context, deadline time.Time, consumers []uuid.UUID) (LeasesRenewed, error) {
	if !deadline.IsZero() {
		left := time.Until(deadline)
		if left <= 0 {
			left = keepPause
		}
		bounded, cancel := context.WithTimeout(ctx, max(left/2, min(left, keepPause)))
		defer cancel()
		ctx = bounded
	}
	return c.LeaseRenew(ctx, 0, consumers...)
}

// shortest returns the length of the shortest renewed lease.
func (r *LeasesRenewed) shortest() time.Duration {
	shortest := time.Duration(0)
	for _, lease := range r.Renewed {
		if length := time.Duration(lease.Seconds) * time.Second; shortest == 0 || length < shortest {
			shortest = length
		}
	}
	return shortest
}

// isRetried reports whether a renewal may succeed later: all errors but those that reject the request.
func isRetried(err error) bool {
	var failed *Error
	if !errors.As(err, &failed) {
		return true
	}
	return failed.Status == 0 || failed.Status == http.StatusTooManyRequests || failed.Status == http.StatusConflict ||
		failed.Status >= http.StatusInternalServerError || failed.Status == http.StatusUnauthorized
}

func texts(ids []uuid.UUID) (text string) {
	for i, id := range ids {
		if i > 0 {
			text += ", "
		}
		text += id.String()
	}
	return text
}
