package config

import (
	"time"

	"github.com/berthd/berth/cmd/berth/setting"
)

func (s *Settings) leaseTable() []setting.Setting {
	return []setting.Setting{
		{Name: "lease-interval", Fallback: "2s", Scope: ForServer, Value: setting.Duration(&s.Leases.Interval, 50*time.Millisecond, 5*time.Second),
			Help: "`time` between two looks for consumers whose leases have expired"},
		{Name: "lease-min", Fallback: "10s", Scope: ForServer, Value: setting.Duration(&s.Leases.Min, time.Second, time.Hour),
			Help: "shortest `time` that a lease without renewal may last"},
	}
}
