package apicommand

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/frame"
)

// leaseFilter are the flags of `berth consumer list` for leases.
type leaseFilter struct {
	leased, notLeased, expiresFirst bool
	expiresBefore, untilBefore      string
}

func (l *leaseFilter) add(c *cobra.Command) {
	flags := c.Flags()
	flags.BoolVar(&l.leased, "leased", false, "whether only consumers with a lease are listed")
	flags.BoolVar(&l.notLeased, "not-leased", false, "whether only consumers without a lease are listed")
	flags.StringVar(&l.expiresBefore, "expires-before", "", "`duration` in which the service removes them unless their leases are renewed, or time, such as 10m or 2026-11-20T10:00:00Z")
	flags.StringVar(&l.untilBefore, "until-before", "", "`duration` in which the service removes them whatever is renewed, or time, such as 2h or 2026-11-20T10:00:00Z")
	flags.BoolVar(&l.expiresFirst, "expires-first", false, "whether only consumers with a lease are listed, those first that are removed next")
}

// given returns the first flag that is set, or "".
func (l *leaseFilter) given() string {
	switch {
	case l.leased:
		return "--leased"
	case l.notLeased:
		return "--not-leased"
	case l.expiresBefore != "":
		return "--expires-before"
	case l.untilBefore != "":
		return "--until-before"
	case l.expiresFirst:
		return "--expires-first"
	}
	return ""
}

// fill adds the flags to a filter with the other ones.
func (l *leaseFilter) fill(filter *client.ConsumerFilter, now time.Time) error {
	wrong := func(flag, broken string) error { return frame.WrongFlag(flag, "true", broken, "remove one of the two") }
	switch {
	case l.notLeased && l.leased:
		return wrong("not-leased", "conflicts with --leased")
	case l.notLeased && (l.expiresFirst || l.expiresBefore+l.untilBefore != ""):
		return wrong("not-leased", "is used with another filter of leases, which selects none without one")
	case l.expiresFirst && filter.NewestFirst:
		return wrong("expires-first", "conflicts with --newest-first")
	case l.expiresFirst && filter.Search != "":
		return wrong("expires-first", "is used with the beginning of UUIDs, whose list has the order of UUIDs")
	}
	if l.leased || l.notLeased {
		filter.Leased = &l.leased
	}
	filter.ByExpiry = l.expiresFirst
	for _, item := range []struct {
		flag, text string
		into       *time.Time
	}{{"expires-before", l.expiresBefore, &filter.ExpiresBefore}, {"until-before", l.untilBefore, &filter.UntilBefore}} {
		if item.text == "" {
			continue
		}
		var ok bool
		if *item.into, ok = timeOrAhead(item.text, now); !ok {
			return frame.WrongFlag(item.flag, item.text, "is neither a duration nor a time with a zone", "write a duration such as 10m or a time such as 2026-11-20T10:00:00Z")
		}
	}
	return nil
}

// timeOrAhead parses a time, or a duration after now.
func timeOrAhead(text string, now time.Time) (time.Time, bool) {
	if ahead, err := time.ParseDuration(text); err == nil && ahead >= 0 {
		return now.Add(ahead), true
	}
	return timeOrAgo(text, now)
}
