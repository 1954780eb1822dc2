package apicommand

import (
	"strings"
	"testing"
	"time"
)

func TestCLI_HistoryBounds_AreTimesDurationsOrIndexes(t *testing.T) {
	t.Parallel()
	utc := func(day, hour, minute int) time.Time { return time.Date(2026, 11, day, hour, minute, 0, 0, time.UTC) }
	for text, want := range map[string]historyBound{
		"41822":                     {index: 41822},
		"2h":                        {at: utc(27, 11, 30)},
		"0s":                        {at: utc(27, 13, 30)},
		"7d":                        {at: utc(20, 13, 30)},
		"2 hours ago":               {at: utc(27, 11, 30)},
		"1 hour ago":                {at: utc(27, 12, 30)},
		"30 minutes ago":            {at: utc(27, 13, 0)},
		"3 days ago":                {at: utc(24, 13, 30)},
		"1 week ago":                {at: utc(20, 13, 30)},
		"2h ago":                    {at: utc(27, 11, 30)},
		"1d1h ago":                  {at: utc(26, 12, 30)},
		"1d1h30m":                   {at: utc(26, 12, 0)},
		"14:30":                     {at: utc(27, 13, 30)},
		"14:31":                     {at: utc(26, 13, 31)},
		"2026-11-20":                {at: utc(19, 23, 0)},
		"2026-11-20T10:00":          {at: utc(20, 9, 0)},
		"2026-11-20 10:00:00":       {at: utc(20, 9, 0)},
		"2026-11-20T10:00:00Z":      {at: utc(20, 10, 0)},
		"2026-11-20T10:00:00+02:00": {at: utc(20, 8, 0)},
	} {
		got, err := parseHistoryBound("since", text, leaseNow)
		if err != nil || got.index != want.index || !got.at.Equal(want.at) {
			t.Errorf("%s: %+v, %v, want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "0", "-1", "+1", "-2h", "1d25h", "1d-1h", "yesterday", "24:00", "0 days ago", "2 ago", "ago", "2 years ago", "-2h ago", "18:00 ago", "2026-13-01", "99999999999999999999", "0000-01-01"} {
		if got, err := parseHistoryBound("since", text, leaseNow); err == nil || !strings.Contains(err.Error(), "is neither a time, nor a duration, nor an index") {
			t.Errorf("%q: %+v, %v, want an error", text, got, err)
		}
	}
}

// FuzzHistoryBound checks that bounds are either times that the API takes or indexes.
func FuzzHistoryBound(f *testing.F) {
	for _, seed := range []string{"41822", "2h", "99999d", "9999 weeks ago", "18:00", "2026-11-20", "2026-11-20T10:00:00.5Z", "9999-12-31T23:59:59-23:59"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := parseHistoryBound("since", text, leaseNow)
		switch {
		case err != nil:
			if err.Error() == "" {
				t.Errorf("%q: the error has no text", text)
			}
		case got.at.IsZero() == (got.index == 0):
			t.Errorf("%q: %+v, want a time or an index", text, got)
		case !got.at.IsZero() && (got.at.UTC().Year() < 1 || got.at.UTC().Year() > 9999):
			t.Errorf("%q: %s, want a year that the API has", text, got.at)
		}
	})
}
