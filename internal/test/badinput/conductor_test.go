package badinput

import (
	"context"
	"log/slog"
	"time"

	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/work/conductor"
)

// heartbeatTimeout exceeds the duration of all tests, so that the second conductor counts as alive.
const heartbeatTimeout = 24 * time.Hour

// conduct starts the first conductor until the end of the test, and registers the second.
func (s *tested) conduct(data *store.Store, log *slog.Logger) {
	s.t.Helper()
	if err := data.ConductorRegister(s.t.Context(), conductors[1], drivers[1:]); err != nil {
		s.t.Fatal(err)
	}
	working := &conductor.Conductor{
		Store: data, Drivers: conductor.Drivers(), Options: conductor.Options{
			Hostname: conductors[0], Workers: 1, HeartbeatInterval: time.Minute, HeartbeatTimeout: heartbeatTimeout,
		}, Log: log,
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(s.t.Context()))
	if err := working.Register(ctx); err != nil {
		stop()
		s.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- working.Run(ctx) }()
	s.t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			s.t.Errorf("conductor.Run: %v", err)
		}
	})
}
