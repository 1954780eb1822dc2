package serve

import (
	"context"

	"github.com/berthd/berth/cmd/berth/config"
	"github.com/berthd/berth/server/work/conductor"
)

// conductorRun is the running conductor of this process.
type conductorRun struct {
	*conductor.Conductor
	stop  context.CancelFunc
	ended chan error
	// stopping is closed when the server drains.
	stopping chan struct{}
}

// startConductor registers and starts the conductor of this process. It does so before the first
// request, because node allocations reference their conductor. The conductor runs until close,
// not only until the first signal, because the last requests still create work for it.
func (s *service) startConductor(ctx context.Context) error {
	if s.Settings.BaremetalBackend == config.BaremetalOff {
		return nil
	}
	if err := s.store.SetBaremetalBackend(ctx, s.Settings.BaremetalBackend == config.BaremetalPlacement); err != nil {
		return err
	}
	hostname, err := config.ConductorHostname(s.Settings.Conductor.Hostname, s.doors[0].Addr())
	if err != nil {
		return err
	}
	working, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.conductor = &conductorRun{stop: stop, ended: make(chan error, 1), stopping: make(chan struct{}), Conductor: &conductor.Conductor{
		Options: s.Settings.Conductor, Store: s.store, Drivers: conductor.Drivers(), ListenURL: s.Database.Direct, Log: s.log,
	}}
	s.conductor.Hostname = hostname
	if err := s.conductor.Register(ctx); err != nil {
		s.conductor.ended <- nil
		return err
	}
	go func() { s.conductor.ended <- s.conductor.Run(working) }()
	return nil
}

// stopConductor waits until the conductor has finished its decisions and unregistered. If that
// exceeds the timeout, other conductors take over after the heartbeat timeout.
func (s *service) stopConductor(ctx context.Context) {
	if s.conductor == nil {
		return
	}
	s.conductor.stop()
	var err error
	select {
	case err = <-s.conductor.ended:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err != nil {
		s.log.Warn("cannot unregister the conductor; other conductors take over its nodes after the heartbeat timeout",
			"conductor", s.conductor.Hostname, "error", err)
	}
}
