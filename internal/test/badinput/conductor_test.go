package badinput

import (
	"context"
	"log/slog"
	"time"

	"github.com/berthd/berth/server/conductor"
	"github.com/berthd/berth/server/store"
)

// conductors: the first works, in this process. The second says nothing, so that some
// nodes stay on their way and have a driver which this process does not know.
var conductors = []string{"berth-1", "berth-2"}

// drivers are what each conductor has, in the same order.
var drivers = []string{conductor.FakeHardware, "manual-management"}

// heartbeatTimeout is longer than any test: the second conductor counts as alive.
const heartbeatTimeout = 24 * time.Hour

// conduct starts the first conductor, until the end of the test, and registers the
// second.
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
			s.t.Errorf("the conductor: %v", err)
		}
	})
}
