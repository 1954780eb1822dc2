package config

import (
	"time"

	"github.com/berthd/berth/cmd/berth/setting"
)

func (s *Settings) explanationTable() []setting.Setting {
	return []setting.Setting{
		{Name: "explain-keep", Fallback: "24h", Scope: ForServer, Value: setting.Duration(&s.Explain.Keep, 0, 365*24*time.Hour),
			Help: "`time` for which allocation candidate queries without a result can be explained (GET /explanations); 0 records nothing and deletes what is recorded"},
		{Name: "explain-rows", Fallback: "100000", Scope: ForServer, Value: setting.Integer(&s.Explain.Rows, 1, 1<<31-1),
			Help: "maximum `number` of request IDs that are kept for --explain-keep, and ten times the number of explanations of each kind; the oldest are deleted first"},
		{Name: "explain-rate", Fallback: "6", Scope: ForServer, Value: setting.Integer(&s.Explain.Rate, 0, 10_000),
			Help: "maximum `number` of explanations of allocation candidate queries that the server makes by itself in a minute; 0 makes them only when they are looked up"},
		{Name: "explain-timeout", Fallback: "1s", Scope: ForServer, Value: setting.Duration(&s.Explain.Timeout, 10*time.Millisecond, time.Minute),
			Help: "maximum `time` to compute one explanation, after the search; what is not computed by then is missing"},
	}
}
