package apicommand

import (
	"strings"
	"testing"
	"time"

	"github.com/berthd/berth/client"
)

// leaseNow is the time of these tests: 14:30 in a zone that is an hour ahead of UTC.
var leaseNow = time.Date(2026, 11, 27, 14, 30, 0, 0, time.FixedZone("", 3600))

func TestCLI_LeaseFlags_GiveLeaseOrError(t *testing.T) {
	t.Parallel()
	utc := func(day, hour, minute int) time.Time { return time.Date(2026, 11, day, hour, minute, 0, 0, time.UTC) }
	for name, c := range map[string]struct {
		flags leaseFlags
		want  client.LeaseTerms
		wrong string
	}{
		"seconds":            {leaseFlags{lease: "10m"}, client.LeaseTerms{Seconds: 600}, ""},
		"none":               {leaseFlags{lease: "none"}, client.LeaseTerms{}, ""},
		"for":                {leaseFlags{lasts: "2h"}, client.LeaseTerms{Until: utc(27, 15, 30)}, ""},
		"today":              {leaseFlags{until: "18:00"}, client.LeaseTerms{Until: utc(27, 17, 0)}, ""},
		"tomorrow":           {leaseFlags{until: "14:30"}, client.LeaseTerms{Until: utc(28, 13, 30)}, ""},
		"a time":             {leaseFlags{until: "2026-11-29T18:00:00Z", lease: "1s"}, client.LeaseTerms{Seconds: 1, Until: utc(29, 18, 0)}, ""},
		"a past time":        {leaseFlags{until: "2026-11-27T13:30:00Z"}, client.LeaseTerms{}, "is not after now"},
		"no time":            {leaseFlags{until: "24:00"}, client.LeaseTerms{}, "is neither a time of day"},
		"no duration":        {leaseFlags{lease: "10"}, client.LeaseTerms{}, "is not a duration"},
		"zero":               {leaseFlags{lease: "0s"}, client.LeaseTerms{}, "is not a whole number of seconds"},
		"more than a year":   {leaseFlags{lease: "8760h1s"}, client.LeaseTerms{}, "is not a whole number of seconds"},
		"half a second":      {leaseFlags{lease: "1.5s"}, client.LeaseTerms{}, "is not a whole number of seconds"},
		"more than 10 years": {leaseFlags{lasts: "90000h"}, client.LeaseTerms{}, "at most ten years"},
		"until and for":      {leaseFlags{until: "18:00", lasts: "2h"}, client.LeaseTerms{}, "conflicts with --until"},
		"none and for":       {leaseFlags{lease: "none", lasts: "2h"}, client.LeaseTerms{}, "conflicts with --until and --for"},
	} {
		got, err := c.flags.terms(leaseNow)
		switch {
		case c.wrong != "":
			if err == nil || !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("%s: error %v, want %q", name, err, c.wrong)
			}
		case err != nil || got.Seconds != c.want.Seconds || !got.Until.Equal(c.want.Until):
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, c.want)
		}
	}
	if got, err := new(leaseFlags).terms(leaseNow); got != nil || err != nil {
		t.Errorf("without flags: %+v, %v", got, err)
	}
}

func TestCLI_LeaseTexts_StateWhatIsLeft(t *testing.T) {
	t.Parallel()
	in := func(left time.Duration) time.Time { return leaseNow.Add(left) }
	lease := func(seconds int, expires, until time.Duration) *client.Lease {
		made := &client.Lease{ExpiresAt: in(expires)}
		if seconds > 0 {
			made.Seconds = new(seconds)
		}
		if until != 0 {
			made.Until = new(in(until))
		}
		return made
	}
	for name, c := range map[string]struct {
		lease         *client.Lease
		column, whole string
	}{
		"seconds":     {lease(60, 42*time.Second, 0), "in 42s", "lease of 1m ends in 42s"},
		"minutes":     {lease(601, 10*time.Minute, 0), "in 10m", "lease of 601s ends in 10m"},
		"days":        {lease(864000, 240*time.Hour, 0), "in 10d", "lease of 240h ends in 10d"},
		"until":       {lease(0, 3*time.Hour, 3*time.Hour), "until 16:30 UTC", "lease until 16:30 UTC"},
		"until later": {lease(0, 30*time.Hour, 30*time.Hour), "until 2026-11-28T19:30:00Z", "lease until 2026-11-28T19:30:00Z"},
		"both":        {lease(3600, time.Hour, 3*time.Hour), "in 60m", "lease of 1h ends in 60m, renewable until 16:30 UTC"},
		"at its end":  {lease(36000, 3*time.Hour, 3*time.Hour), "until 16:30 UTC", "lease of 10h until 16:30 UTC"},
		"expired":     {lease(60, -time.Second, 0), "expired", "lease of 1m expired"},
	} {
		if got := leaseText(c.lease, leaseNow); got != c.column {
			t.Errorf("%s: %q, want %q", name, got, c.column)
		}
		if got := leaseSentence(c.lease, leaseNow); got != c.whole {
			t.Errorf("%s: %q, want %q", name, got, c.whole)
		}
	}
	if got := leaseText(nil, leaseNow); got != "-" {
		t.Errorf("without a lease: %q", got)
	}
}
