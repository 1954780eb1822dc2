package model

// Lease is the lease of a consumer, without its times. The zero value is none.
type Lease struct {
	// IsRenewable: it has a length. HasUntil: renewals do not pass a time, which no test reaches.
	IsRenewable, HasUntil bool
	// IsExpired: the consumer may be removed.
	IsExpired bool
}

// GivenLease is the lease that a write gives a consumer. The zero value leaves the lease as it is.
type GivenLease struct {
	IsGiven bool
	Lease   Lease
}

// after returns the lease after the write.
func (g GivenLease) after(now Lease) Lease {
	if g.IsGiven {
		return g.Lease
	}
	return now
}

// ShownLease is the lease that a response shows. The zero value is one of a version without leases.
type ShownLease struct {
	IsShown bool
	Lease   Lease
}

// shows reports whether a response shows a lease.
func (s ShownLease) shows(now Lease) bool { return !s.IsShown || s.Lease == now }

// Renewal is what POST /leases says of a consumer.
type Renewal string

// The results of a renewal.
const (
	Renewed      Renewal = "renewed"
	Gone         Renewal = "gone"
	WithoutLease Renewal = "without"
)

// RenewLease is POST /leases, for one of its consumers: each renewal stands for itself.
type RenewLease struct{ Consumer int }

// Judge implements Operation.
func (w RenewLease) Judge(c *Checks) {
	c.changeConsumer(w.Consumer, func(now *Consumer) {
		exists := now.Generation > 0
		switch c.Answer.Observed.Renewal {
		case Renewed:
			c.must(now.Lease.IsRenewable)
		case Gone:
			c.must(!exists)
		case WithoutLease:
			c.must(exists && !now.Lease.IsRenewable)
		}
		if now.Lease.IsRenewable {
			now.Lease.IsExpired = false
		}
	})
}

// ExpireLease moves the end of a lease to the past: the clock of the tests.
type ExpireLease struct{ Consumer int }

// Judge implements Operation.
func (w ExpireLease) Judge(c *Checks) {
	c.changeConsumer(w.Consumer, func(now *Consumer) {
		has := now.Lease != Lease{}
		c.must(c.Answer.Observed.WasLeased == has)
		now.Lease.IsExpired = has
	})
}

// RemoveExpired is the removal of one consumer whose lease has expired. Nothing requests it.
type RemoveExpired struct{ Consumer int }

// Judge implements Operation.
func (w RemoveExpired) Judge(c *Checks) {
	o := &c.Answer.Observed
	for p := range ProviderCount {
		c.changeOf([]Want{{Consumer: w.Consumer}}, p, false, func(now *Provider) {
			c.must(now.ByConsumer[w.Consumer] == o.Allocations[p])
			now.ByConsumer[w.Consumer] = Amounts{}
		})
	}
	c.changeConsumer(w.Consumer, func(now *Consumer) {
		c.must(now.Generation == o.Generation && now.Allocations == o.Allocations && now.Lease.IsExpired)
		*now = Consumer{}
	})
}
