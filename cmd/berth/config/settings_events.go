package config

import (
	"time"

	"github.com/berthd/berth/cmd/berth/setting"
)

func (s *Settings) eventTable() []setting.Setting {
	return []setting.Setting{
		{Name: "events-interval", Fallback: "100ms", Scope: ForServer, Value: setting.Duration(&s.Events.Interval, 10*time.Millisecond, 10*time.Second),
			Help: "`time` between two looks for new events while the server has streams (GET /events)"},
		{Name: "max-watchers", Fallback: "200", Scope: ForServer, Value: setting.Integer(&s.Events.MaxWatchers, 0, 1<<16),
			Help: "maximum `number` of streams of events at once; further ones get 503. They do not count for --max-requests. 0 means no streams"},
		{Name: "events-max-age", Fallback: "1h", Scope: ForServer, Value: setting.Duration(&s.Events.MaxAge, time.Second, 365*24*time.Hour),
			Help: "longest life of a stream of events, give or take a tenth, as a `time`; its client then goes on with another request, which the policy decides again"},
	}
}
