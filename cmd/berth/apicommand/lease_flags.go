package apicommand

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/frame"
)

// berth16 is the version of the extensions with leases, and with explanations that say which consumers must go.
const berth16 = "1.6"

// maxLease is the longest lease that is renewed, and maxAhead that which is not.
const maxLease, maxAhead = 31_536_000 * time.Second, 10 * 366 * 24 * time.Hour

// noLease is the value of --lease that takes a lease away.
const noLease = "none"

// leaseHelp is the part about leases in the help of the commands that write them.
const leaseHelp = `With --lease the server removes the consumer with all its allocations unless 'berth consumer
renew' renews its lease in time; with --until or --for at that time, whatever is renewed. These
need berth 1.6. Without them a new consumer has no lease, and others keep theirs.`

// leaseFlags are the flags of commands that give a consumer a lease.
type leaseFlags struct{ lease, until, lasts string }

func (l *leaseFlags) add(c *cobra.Command) {
	flags := c.Flags()
	flags.StringVar(&l.lease, "lease", "", "`duration` after which the consumer is removed unless its lease is renewed, such as 10m; none takes a lease away (default: unchanged)")
	flags.StringVar(&l.until, "until", "", "`time` at which the consumer is removed: 18:00, today or tomorrow in local time, or such as 2026-11-27T18:00:00Z")
	flags.StringVar(&l.lasts, "for", "", "`duration` after which the consumer is removed, whatever is renewed, such as 2h")
	frame.CompleteChoices(c, "lease", noLease)
	frame.CompleteChoices(c, "until")
	frame.CompleteChoices(c, "for")
}

// given returns the first flag that is set, or "".
func (l *leaseFlags) given() string {
	switch {
	case l.lease != "":
		return "--lease"
	case l.until != "":
		return "--until"
	case l.lasts != "":
		return "--for"
	}
	return ""
}

// terms returns the lease of the flags; nil: none of them is set.
func (l *leaseFlags) terms(now time.Time) (*client.LeaseTerms, error) {
	if l.given() == "" {
		return nil, nil
	}
	terms := &client.LeaseTerms{}
	var err error
	switch {
	case l.until != "" && l.lasts != "":
		return nil, frame.WrongFlag("for", l.lasts, "conflicts with --until", "omit one of them")
	case l.lease == noLease && l.until+l.lasts != "":
		return nil, frame.WrongFlag("lease", l.lease, "conflicts with --until and --for", "omit them, or write a duration such as 10m")
	case l.lease != "" && l.lease != noLease:
		if terms.Seconds, err = leaseSeconds(l.lease, " or none"); err != nil {
			return nil, err
		}
	}
	switch {
	case l.until != "":
		terms.Until, err = untilTime(l.until, now)
	case l.lasts != "":
		terms.Until, err = afterDuration(l.lasts, now)
	}
	return terms, err
}

// RenewedLease returns the lease of --lease, a duration, and of --until or --for if one of them is set.
func RenewedLease(lease, until, lasts string, now time.Time) (client.LeaseTerms, error) {
	seconds, err := leaseSeconds(lease, "")
	if err != nil {
		return client.LeaseTerms{}, err
	}
	terms, err := (&leaseFlags{lease: lease, until: until, lasts: lasts}).terms(now)
	if err != nil {
		return client.LeaseTerms{}, err
	}
	terms.Seconds = seconds
	return *terms, nil
}

// leaseSeconds parses the duration of --lease, a whole number of seconds of up to a year. other is what may be written, too.
func leaseSeconds(text, other string) (int, error) {
	length, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return 0, frame.WrongFlag("lease", text, "is not a duration", "write a duration such as 10m"+other)
	case length < time.Second || length > maxLease || length%time.Second != 0:
		return 0, frame.WrongFlag("lease", text, "is not a whole number of seconds from 1s to 8760h", "write a duration such as 10m"+other)
	}
	return int(length / time.Second), nil
}

// afterDuration returns the time at the end of a duration of --for.
func afterDuration(text string, now time.Time) (time.Time, error) {
	length, err := time.ParseDuration(text)
	if err != nil || length <= 0 || length > maxAhead {
		return time.Time{}, frame.WrongFlag("for", text, "is not a duration of at most ten years", "write a duration such as 2h")
	}
	return now.Add(length).Truncate(time.Second), nil
}

// untilTime parses the value of --until. A time of day is the next one in the zone of now.
func untilTime(text string, now time.Time) (time.Time, error) {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		var ok bool
		if at, ok = nextClock(text, now); !ok {
			return at, frame.WrongFlag("until", text, "is neither a time of day nor a time with a zone", "write a time such as 18:00 or 2026-11-27T18:00:00Z")
		}
	}
	if !at.After(now) {
		return at, frame.WrongFlag("until", text, "is not after now ("+secondsOf(now)+")", "write a later time")
	}
	return at, nil
}

// nextClock returns the next time after now with a time of day as 18:00, in the zone of now.
func nextClock(text string, now time.Time) (time.Time, bool) {
	clock, err := time.Parse("15:04", text)
	if err != nil {
		return clock, false
	}
	year, month, day := now.Date()
	at := time.Date(year, month, day, clock.Hour(), clock.Minute(), 0, 0, now.Location())
	if !at.After(now) {
		at = time.Date(year, month, day+1, clock.Hour(), clock.Minute(), 0, 0, now.Location())
	}
	return at, true
}

// selectLeases selects the version of the extensions with leases if the service has it.
func selectLeases(ctx context.Context, service *client.Client) (selected context.Context, has bool, err error) {
	if has, err = service.HasExtensions(ctx, berth16); has {
		ctx = client.WithExtensions(ctx, berth16)
	}
	return ctx, has, err
}
