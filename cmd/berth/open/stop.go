package open

import (
	"context"
	"time"

	"github.com/berthd/berth/cmd/berth/config"
	"github.com/berthd/berth/cmd/berth/frame"
)

// Usual time between SIGTERM and SIGKILL of supervisors. Draining and closing the database share
// it.
const (
	SystemdStopTimeout = 5 * time.Second
	systemdStopMargin  = 100 * time.Millisecond
	// Time to close the database after the requests have drained.
	closingTime = time.Second
)

// MaxStopDuration returns the maximum time of a shutdown: the delay, the drain and the close of
// the database.
func MaxStopDuration(s *config.Settings) time.Duration {
	return s.ShutdownDelay + max(SystemdStopTimeout, s.DrainTimeout+closingTime)
}

// CloseContext returns a context for closing. It ends with the second signal, or shortly before a
// supervisor would send SIGKILL.
func CloseContext(stop frame.StopSteps, most time.Duration) (context.Context, context.CancelFunc) {
	timeout, giveUp := context.WithCancel(stop.AtOnce)
	context.AfterFunc(stop.Asked, func() { time.AfterFunc(most-systemdStopMargin, giveUp) })
	return timeout, giveUp
}
