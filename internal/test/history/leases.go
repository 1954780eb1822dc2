package history

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/internal/test/model"
)

// Leases are what a history does with leases in the database, and no request does.
type Leases struct {
	// Expire moves the end of a consumer's lease to the past, and reports whether there is one: the clock of a history.
	Expire func(ctx context.Context, consumer uuid.UUID) (bool, error)
	// Remove removes some consumers whose leases have expired, as a server does. It reports whether there may be more.
	Remove func(ctx context.Context) (removed []Removed, more bool, err error)
}

// Removed is a removed consumer, with what it had.
type Removed struct {
	Consumer    uuid.UUID
	Generation  int64
	Allocations []RemovedAllocation
}

// RemovedAllocation is an allocation of a removed consumer.
type RemovedAllocation struct {
	Provider uuid.UUID
	Class    string
	Amount   int64
}

// expired is the time to which Expire moves the end of a lease: the end of each other one is later.
var expired = time.Date(2001, time.January, 1, 0, 0, 0, 0, time.UTC)

// Expired returns the time to which Leases.Expire must move the end of a lease.
func Expired() time.Time { return expired }

// doLease does what RandomStep has drawn of leases.
func (c *Client) doLease(ctx context.Context) error {
	leases := c.Recorder.Leases
	draw := c.Dice.IntN(20)
	switch {
	case draw < 9 || leases == nil:
		return c.renew(ctx, c.Dice.Perm(consumers)[:1+c.Dice.IntN(consumers)])
	case draw < 19:
		return c.expire(ctx, c.Dice.IntN(consumers))
	default: // seldom, so that an expired lease meets other requests
		_, err := c.removeExpired(ctx)
		return err
	}
}

// renew sends POST /leases. Each consumer is a call of its own.
func (c *Client) renew(ctx context.Context, who []int) error {
	listed := make([]uuid.UUID, len(who))
	for i, one := range who {
		listed[i] = c.Partition.consumers[one]
	}
	start := c.now()
	got, err := c.attempt(ctx, request{
		method: http.MethodPost, path: "/leases", body: map[string]any{"consumers": listed}, extended: true,
	})
	if err != nil {
		return fmt.Errorf("POST /leases: %w", err)
	}
	end, answers := never, make([]model.Response, len(who))
	for i := range answers {
		answers[i] = model.Accepted()
		answers[i].Lost = got == nil
	}
	if got != nil {
		end = c.now()
		if err := c.Partition.readRenewed(got, who, answers); err != nil {
			return err
		}
	}
	for i, one := range who {
		c.add(&Call{Operation: model.RenewLease{Consumer: one}, Answer: answers[i], Start: start, End: end})
	}
	return nil
}

// readRenewed reads the response to POST /leases.
func (d *Partition) readRenewed(got *response, who []int, answers []model.Response) error {
	if got.status != http.StatusOK {
		for i := range answers {
			answers[i] = refusal(d, got.status, got.body, false)
		}
		return nil
	}
	read, err := body[struct {
		Renewed       map[string]struct{}
		Gone, Without []string
	}](got.body)
	if err != nil {
		return err
	}
	if len(read.Renewed)+len(read.Gone)+len(read.Without) != len(who) {
		return fmt.Errorf("not each of %d consumers in %s", len(who), got.body)
	}
	for i, one := range who {
		id := d.consumers[one].String()
		_, isRenewed := read.Renewed[id]
		switch {
		case isRenewed:
			answers[i].Observed.Renewal = model.Renewed
		case slices.Contains(read.Gone, id):
			answers[i].Observed.Renewal = model.Gone
		case slices.Contains(read.Without, id):
			answers[i].Observed.Renewal = model.WithoutLease
		default:
			return fmt.Errorf("no consumer %s in %s", id, got.body)
		}
	}
	return nil
}

func (c *Client) expire(ctx context.Context, who int) error {
	answer, start := model.Accepted(), c.now()
	var err error
	if answer.Observed.WasLeased, err = c.Recorder.Leases.Expire(ctx, c.Partition.consumers[who]); err != nil {
		return fmt.Errorf("expire a lease: %w", err)
	}
	c.add(&Call{Operation: model.ExpireLease{Consumer: who}, Answer: answer, Start: start, End: c.now()})
	return nil
}

// removeExpired does what a server does every two seconds. Each removed consumer is a call of its own.
func (c *Client) removeExpired(ctx context.Context) (more bool, err error) {
	start := c.now()
	removed, more, err := c.Recorder.Leases.Remove(ctx)
	if err != nil {
		return false, fmt.Errorf("remove expired consumers: %w", err)
	}
	end := c.now()
	for i := range removed {
		if err := c.addRemoved(&removed[i], start, end); err != nil {
			return false, err
		}
	}
	return more || len(removed) > 0, nil
}

func (c *Client) addRemoved(removed *Removed, start, end time.Duration) error {
	for _, d := range c.Recorder.Partitions {
		who := slices.Index(d.consumers[:], removed.Consumer)
		if who < 0 {
			continue
		}
		answer := model.Accepted()
		answer.Observed.Generation = removed.Generation
		for _, one := range removed.Allocations {
			class, err := classNumber(one.Class)
			p := slices.Index(d.providers[:], one.Provider)
			if err != nil || p < 0 {
				return fmt.Errorf("unknown allocation %+v of consumer %s", one, removed.Consumer)
			}
			answer.Observed.Allocations[p][class] = one.Amount
		}
		c.addTo(d, &Call{Operation: model.RemoveExpired{Consumer: who}, Answer: answer, Start: start, End: end})
		return nil
	}
	return fmt.Errorf("unknown consumer %s", removed.Consumer)
}

// RemoveAllExpired removes all consumers whose leases have expired. No request may be running.
func (c *Client) RemoveAllExpired(ctx context.Context) error {
	if c.Recorder.Leases == nil {
		return nil
	}
	for more := true; more; {
		var err error
		if more, err = c.removeExpired(ctx); err != nil {
			return err
		}
	}
	return nil
}

// drawLease draws the lease of a write: mostly none is given.
func (c *Client) drawLease() (given model.GivenLease) {
	switch c.Dice.IntN(8) {
	case 0, 1:
		given = model.GivenLease{IsGiven: true, Lease: model.Lease{IsRenewable: true}}
	case 2:
		given = model.GivenLease{IsGiven: true, Lease: model.Lease{IsRenewable: c.Dice.IntN(2) == 0, HasUntil: true}}
	case 3:
		given.IsGiven = true
	}
	return given
}

// drawLateLease ends the lease of a consumer, gives it a lease before it is removed, and draws the read that shows it.
func (c *Client) drawLateLease(ctx context.Context) (model.Operation, error) {
	who := c.Dice.IntN(consumers)
	if c.Recorder.Leases != nil {
		if err := c.expire(ctx, who); err != nil {
			return nil, err
		}
	}
	if err := c.Do(ctx, model.ReadAllocations{Consumer: who}); err != nil {
		return nil, err
	}
	known := c.memory.Consumers[who]
	made := model.Want{
		Consumer: who, Given: known.Generation, Allocations: known.Allocations,
		Lease: model.GivenLease{IsGiven: true, Lease: model.Lease{IsRenewable: true}},
	}
	if known.Allocations == (model.Allocations{}) {
		made.Allocations[c.Dice.IntN(providers)][c.Dice.IntN(len(classes))] = 1
	}
	if err := c.Do(ctx, model.Claim{Wants: []model.Want{made}}); err != nil {
		return nil, err
	}
	return model.ReadAllocations{Consumer: who}, nil
}

// addLease adds the lease of a write to its document.
func addLease(document map[string]any, given model.GivenLease) {
	if !given.IsGiven {
		return
	}
	terms := map[string]any{}
	if given.Lease.IsRenewable {
		terms["seconds"] = 86_400
	}
	if given.Lease.HasUntil {
		terms["until"] = time.Now().AddDate(1, 0, 0).UTC().Format(time.RFC3339)
	}
	document["lease"] = terms
	if len(terms) == 0 {
		document["lease"] = nil
	}
}

// lease is a lease of a response.
type lease struct {
	Seconds   *int
	Until     *time.Time
	ExpiresAt time.Time `json:"expires_at"`
}

// shownLease reads the member lease of a response, which may be missing or null.
func shownLease(raw []byte) (model.ShownLease, error) {
	if raw == nil {
		return model.ShownLease{}, nil
	}
	read, err := body[*lease](raw)
	if err != nil || read == nil {
		return model.ShownLease{IsShown: true}, err
	}
	return model.ShownLease{IsShown: true, Lease: model.Lease{
		IsRenewable: read.Seconds != nil, HasUntil: read.Until != nil, IsExpired: read.ExpiresAt.Equal(expired),
	}}, nil
}
