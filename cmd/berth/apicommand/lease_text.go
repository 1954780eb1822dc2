package apicommand

import (
	"fmt"
	"strings"
	"time"

	"github.com/berthd/berth/client"
)

// leaseText returns a lease as the column LEASE has it: in 42s, until 18:00 UTC, or - without one.
func leaseText(lease *client.Lease, now time.Time) string {
	switch {
	case lease == nil:
		return "-"
	case !lease.ExpiresAt.After(now):
		return "expired" // the service removes it within seconds
	case lease.Until != nil && !lease.ExpiresAt.Before(*lease.Until):
		return "until " + dayTime(*lease.Until, now)
	}
	return "in " + leftText(lease.ExpiresAt.Sub(now))
}

// leaseSentence returns a lease as the line of a consumer has it: its length, how much is left, and until when it can be renewed.
func leaseSentence(lease *client.Lease, now time.Time) string {
	text, end := "lease", leaseText(lease, now)
	if lease.Seconds != nil {
		text += " of " + lengthText(*lease.Seconds)
	}
	if strings.HasPrefix(end, "in ") {
		text += " ends"
	}
	text += " " + end
	if lease.Until != nil && lease.ExpiresAt.Before(*lease.Until) {
		text += ", renewable until " + dayTime(*lease.Until, now)
	}
	return text
}

// leaseEnd returns the sentence of a lease for the end of a line; empty without a lease.
func leaseEnd(lease *client.Lease) string {
	if lease == nil {
		return ""
	}
	return ", " + leaseSentence(lease, time.Now())
}

// dayTime returns a time in UTC, without the date if it is within a day.
func dayTime(at, now time.Time) string {
	if left := at.Sub(now); left >= 0 && left < 24*time.Hour {
		return at.UTC().Format("15:04 UTC")
	}
	return secondsOf(at)
}

// lengthText returns a number of seconds in the largest unit of which it is a multiple.
func lengthText(seconds int) string {
	switch {
	case seconds%3600 == 0:
		return fmt.Sprintf("%dh", seconds/3600)
	case seconds%60 == 0:
		return fmt.Sprintf("%dm", seconds/60)
	}
	return fmt.Sprintf("%ds", seconds)
}

// leftText returns a duration in the largest unit of which it has at least two.
func leftText(left time.Duration) string {
	switch {
	case left < 2*time.Minute:
		return fmt.Sprintf("%ds", int(left.Round(time.Second)/time.Second))
	case left < 2*time.Hour:
		return fmt.Sprintf("%dm", int(left.Round(time.Minute)/time.Minute))
	case left < 48*time.Hour:
		return fmt.Sprintf("%dh", int(left.Round(time.Hour)/time.Hour))
	}
	return fmt.Sprintf("%dd", int(left.Round(24*time.Hour)/(24*time.Hour)))
}
