package open

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// SystemdNotifier sends messages to the service manager that started this process, if it is
// systemd or supports sd_notify. Otherwise it sends nothing.
type SystemdNotifier struct {
	Log *slog.Logger
}

// Send logs errors and does not return them: a failed notification must not stop the process.
func (s *SystemdNotifier) Send(lines ...string) {
	if _, err := daemon.SdNotify(false, strings.Join(lines, "\n")); err != nil {
		s.Log.Warn("cannot notify the service manager", "cause", err)
	}
}

// Stopping notifies the service manager that the process is stopping.
func (s *SystemdNotifier) Stopping() { s.Send(daemon.SdNotifyStopping, "STATUS=Stopping") }

// Reloading calls reload between the messages RELOADING and READY, so that `systemctl reload`
// waits for it.
func (s *SystemdNotifier) Reloading(reload func()) {
	s.Send(daemon.SdNotifyReloading, strings.TrimSpace(daemon.SdNotifyMonotonicUsec()))
	reload()
	s.Send(daemon.SdNotifyReady)
}

// WatchdogTimeout returns the watchdog timeout of the service manager; 0 if the watchdog is
// disabled.
func (s *SystemdNotifier) WatchdogTimeout() time.Duration {
	timeout, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		s.Log.Warn("cannot send heartbeats to the service manager", "cause", err)
		return 0
	}
	return timeout
}

// Watch sends heartbeats while the process passes its check, if the watchdog is enabled. If the
// check hangs longer than the watchdog timeout, the heartbeats stop and the service manager kills
// the process.
func (s *SystemdNotifier) Watch(ctx context.Context, works func(most time.Duration) bool) {
	timeout := s.WatchdogTimeout()
	if timeout <= 0 {
		return
	}
	beats := time.NewTicker(max(timeout/3, time.Millisecond))
	defer beats.Stop()
	for {
		if works(timeout) {
			s.Send(daemon.SdNotifyWatchdog)
		}
		select {
		case <-beats.C:
		case <-ctx.Done():
			return
		}
	}
}
