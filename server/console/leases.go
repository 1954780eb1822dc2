package console

import (
	"strings"
	"time"

	"github.com/berthd/berth/client"
)

// leaseExtensions is the version of the extensions with leases.
const leaseExtensions = "1.6"

// consumerOrders are the orders of the list of consumers, with the values of the parameter sort; the last one needs leases.
var consumerOrders = []Link{{Text: "newest first"}, {Text: "oldest first", Href: "oldest"}, {Text: "lease ends first", Href: "lease"}}

// createdConsumers are the orders of consumers in the words of the API.
var createdConsumers = map[string]string{"": "-created_at", "oldest": "created_at", "lease": "expires_at"}

// leasedValues are the values of the parameter lease, in the words of the API.
var leasedValues = map[string]string{"": "", "with": "true", "without": "false"}

// selectLeases makes the calls of the visit return leases, if the service has them.
func (v *visit) selectLeases() bool {
	has, err := v.c.api.HasExtensions(v.ctx(), leaseExtensions)
	if has = has && err == nil; has {
		v.extensions = leaseExtensions
	}
	return has
}

// consumerOrder returns the order of the list that the address selects, with the fields for leases and for the order. Consumers
// that begin with a text are by UUID.
func (v *visit) consumerOrder(hasLeases bool) (order Link, fields []Input, err error) {
	orders := consumerOrders
	switch _, known := leasedValues[v.query("lease")]; {
	case !hasLeases && v.query("lease") != "":
		return order, nil, invalid("This service has no leases.")
	case !known:
		return order, nil, invalid("The list has no consumers %q lease; write with or without.", v.query("lease"))
	case hasLeases:
		fields = append(fields, v.choices("lease", "lease", "all", "with", "without"))
	default:
		orders = orders[:2]
	}
	if v.query("q") != "" {
		return Link{Text: "by uuid"}, fields, nil
	}
	order, field, err := v.order(orders)
	return order, append(fields, field), err
}

// sentence returns a text with a capital first letter.
func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// leaseCell returns when a consumer is removed unless its lease is renewed, and below it when that is at the latest.
func leaseCell(lease *client.Lease, now time.Time) Cell {
	if lease == nil {
		return figure(none)
	}
	cell := figure(leaseEnd(lease, now))
	if lease.Until != nil && lease.ExpiresAt.Before(*lease.Until) {
		cell.Sub = &Link{Text: "until " + until(*lease.Until, now)}
	}
	return cell
}

// leaseEnd returns when a lease ends: after a time, unless it is renewed, or at a time.
func leaseEnd(lease *client.Lease, now time.Time) string {
	switch {
	case !lease.ExpiresAt.After(now):
		return "expired" // the service removes it within seconds
	case lease.Until != nil && !lease.ExpiresAt.Before(*lease.Until):
		return "until " + until(*lease.Until, now)
	}
	return "in " + age(now, lease.ExpiresAt)
}

// until returns a time of day, with the date if it is not within a day.
func until(at, now time.Time) string {
	if left := at.Sub(now); left >= 0 && left < 24*time.Hour {
		return at.UTC().Format("15:04 UTC")
	}
	return moment(at)
}

// leaseFields returns the fields of a lease on the page of its consumer.
func leaseFields(lease *client.Lease, now time.Time) []Field {
	if lease == nil {
		return []Field{{Name: "lease"}}
	}
	ends := field("ends", lease.ExpiresAt.UTC().Format("2006-01-02 15:04:05 UTC"))
	if lease.ExpiresAt.After(now) {
		ends.Strong = "in " + age(now, lease.ExpiresAt)
	} else {
		ends.Strong = "expired"
	}
	var terms []Link
	if lease.Seconds != nil {
		terms = append(terms, Link{Text: length(*lease.Seconds) + " after each renewal"})
	}
	if lease.Until != nil {
		terms = append(terms, Link{Text: "until " + moment(*lease.Until)})
	}
	return []Field{{Name: "lease", Values: terms}, ends}
}

// length returns a number of seconds in the largest unit of which it is a multiple.
func length(seconds int) string {
	switch {
	case seconds%3600 == 0:
		return number(int64(seconds/3600)) + " h"
	case seconds%60 == 0:
		return number(int64(seconds/60)) + " min"
	}
	return number(int64(seconds)) + " s"
}

// leaseValues returns the columns of a lease in a CSV.
func leaseValues(lease *client.Lease) []any {
	values := []any{"", "", ""}
	if lease == nil {
		return values
	}
	if lease.Seconds != nil {
		values[0] = *lease.Seconds
	}
	if lease.Until != nil {
		values[1] = stamp(*lease.Until)
	}
	values[2] = stamp(lease.ExpiresAt)
	return values
}
