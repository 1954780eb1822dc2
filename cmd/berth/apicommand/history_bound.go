package apicommand

import (
	"regexp"
	"strconv"
	"time"

	"github.com/berthd/berth/cmd/berth/frame"
)

// historyBound is a value of --since or --until: a time or, if that is zero, an index.
type historyBound struct {
	at    time.Time
	index int64
}

// localTimes are the formats of times without a zone, which are in the zone of the host.
var localTimes = []string{"2006-01-02", "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02T15:04:05", "2006-01-02 15:04:05"}

// parseHistoryBound parses a bound of events: an index, a duration before now, a time of the day that was the last one with it, or a time.
func parseHistoryBound(flag, text string, now time.Time) (historyBound, error) {
	if index, err := strconv.ParseInt(text, 10, 64); err == nil && index > 0 && text[0] != '+' {
		return historyBound{index: index}, nil
	}
	if ago, ok := parseAgo(text); ok {
		return historyBound{at: now.Add(-ago)}, nil
	}
	if ago, ok := parseDays(text); ok {
		return historyBound{at: now.Add(-ago)}, nil
	}
	if at, ok := timeOrAgo(text, now); ok && text != "0" {
		return historyBound{at: at}, nil
	}
	if at, ok := nextClock(text, now); ok {
		return historyBound{at: at.AddDate(0, 0, -1)}, nil
	}
	for _, layout := range localTimes {
		if at, err := time.ParseInLocation(layout, text, now.Location()); err == nil && at.Year() > 0 {
			return historyBound{at: at}, nil
		}
	}
	return historyBound{}, frame.WrongFlag(flag, text, "is neither a time, nor a duration, nor an index",
		"write such as 2026-11-20T10:00:00Z, 18:00, 2h, '2 hours ago', 7d or 41822")
}

// agos matches durations such as "2 hours ago" and "2h ago".
var agos = regexp.MustCompile(`^(?:(\d{1,4}) (second|minute|hour|day|week)s?|(\d\S*)) ago$`)

// parseAgo parses a duration with "ago".
func parseAgo(text string) (time.Duration, bool) {
	parts := agos.FindStringSubmatch(text)
	switch {
	case parts == nil:
		return 0, false
	case parts[3] != "":
		if ago, ok := parseDays(parts[3]); ok {
			return ago, true
		}
		ago, err := time.ParseDuration(parts[3])
		return ago, err == nil && ago > 0
	}
	count, err := strconv.Atoi(parts[1])
	unit := map[string]time.Duration{
		"second": time.Second, "minute": time.Minute, "hour": time.Hour, "day": 24 * time.Hour, "week": 7 * 24 * time.Hour,
	}[parts[2]]
	return time.Duration(count) * unit, err == nil && count > 0
}

// days matches durations with days.
var days = regexp.MustCompile(`^(\d{1,5})d(.*)$`)

// parseDays parses a duration with days, such as 7d or 1d12h.
func parseDays(text string) (time.Duration, bool) {
	parts := days.FindStringSubmatch(text)
	if parts == nil {
		return 0, false
	}
	count, err := strconv.Atoi(parts[1])
	if err != nil || parts[2] == "" {
		return time.Duration(count) * 24 * time.Hour, err == nil
	}
	rest, err := time.ParseDuration(parts[2])
	return time.Duration(count)*24*time.Hour + rest, err == nil && rest >= 0 && rest < 24*time.Hour
}
