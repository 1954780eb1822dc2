package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"regexp"
	"strings"

	"github.com/berthd/berth/server/conductor"
)

// conducting is the conductor of this process while it runs.
type conducting struct {
	*conductor.Conductor
	stop  context.CancelFunc
	ended chan error
	// stopping is closed when the requests are to come to an end.
	stopping chan struct{}
}

// startConductor registers the conductor of this process and sets it to work. It
// is known to the database before the first request comes, because allocations
// are made in its name. It works until close, and not only until somebody asks to
// stop: the last requests still have work for it.
func (s *service) startConductor(ctx context.Context) error {
	if s.settings.BaremetalBackend == baremetalOff {
		return nil
	}
	if err := s.store.SetBaremetalBackend(ctx, s.settings.BaremetalBackend == baremetalPlacement); err != nil {
		return err
	}
	hostname, err := conductorHostname(s.settings.BaremetalHostname, s.doors[0].Addr())
	if err != nil {
		return err
	}
	working, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.conductor = &conducting{stop: stop, ended: make(chan error, 1), stopping: make(chan struct{}), Conductor: &conductor.Conductor{
		Store: s.store, Hostname: hostname, Drivers: conductor.Drivers(), ListenURL: s.database.direct,
		Workers:           int(s.settings.BaremetalWorkers),
		HeartbeatInterval: s.settings.BaremetalHeartbeatInterval,
		HeartbeatTimeout:  s.settings.BaremetalHeartbeatTimeout,
		CheckInterval:     s.settings.BaremetalCheckInterval,
		Log:               s.log,
	}}
	if err := s.conductor.Register(ctx); err != nil {
		s.conductor.ended <- nil
		return err
	}
	go func() { s.conductor.ended <- s.conductor.Run(working) }()
	return nil
}

// notInHostnames is what the path of a socket may have and the name of a conductor
// may not.
var notInHostnames = regexp.MustCompile(`[^A-Za-z0-9._:-]+`)

// conductorHostname is the name chosen, or one that other processes on this machine
// and elsewhere don't have and that this one has again when it is started again.
func conductorHostname(chosen string, listening net.Addr) (string, error) {
	if chosen != "" {
		return chosen, nil
	}
	machine, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("the machine's name: %w; choose one with --baremetal-hostname", err)
	}
	if socket, ok := listening.(*net.UnixAddr); ok {
		return machine + ":" + notInHostnames.ReplaceAllString(strings.TrimPrefix(socket.Name, "/"), "-"), nil
	}
	_, port, err := net.SplitHostPort(listening.String())
	if err != nil {
		return "", err
	}
	return machine + ":" + port, nil
}

// stopConductor lets the conductor finish what it is deciding and sign off. If it
// can't in time, others find out by its silence.
func (s *service) stopConductor(ctx context.Context) {
	if s.conductor == nil {
		return
	}
	s.conductor.stop()
	select {
	case err := <-s.conductor.ended:
		if err != nil {
			s.log.Warn("the conductor could not sign off; others will take over after its silence",
				"conductor", s.conductor.Hostname, "error", err)
		}
	case <-ctx.Done():
	}
}
