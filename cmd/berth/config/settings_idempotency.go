package config

import (
	"time"

	"github.com/berthd/berth/cmd/berth/setting"
)

func (s *Settings) idempotencyTable() []setting.Setting {
	return []setting.Setting{
		{Name: "idempotency-lifetime", Fallback: "24h", Scope: ForServer, Value: setting.Duration(&s.Idempotency.Lifetime, time.Minute, 720*time.Hour),
			Help: "`time` for which an Idempotency-Key and the response to its request are stored, unless the request has the header Idempotency-Lifetime"},
		{Name: "idempotency-rows", Fallback: "1000000", Scope: ForServer, Value: setting.Integer(&s.Idempotency.Rows, 1, 1<<31-1),
			Help: "maximum `number` of stored keys of all servers; above it a request with a new Idempotency-Key gets 503"},
	}
}
