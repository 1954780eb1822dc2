package main

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"github.com/berthd/berth/agent"
)

// supervisor is the service manager that started the agent, if it is systemd or
// speaks like it; without one nothing is sent.
type supervisor struct {
	log   *slog.Logger
	ready sync.Once
}

// send does not fail: an agent that works is worth more than one that is known to.
func (s *supervisor) send(lines ...string) {
	if _, err := daemon.SdNotify(false, strings.Join(lines, "\n")); err != nil {
		s.log.Warn("the service manager could not be told", "cause", err)
	}
}

// passed tells how a pass went. The agent is ready after the first pass at the
// start that was not fatal, also if the service was away: what waits for the agent
// must be able to start without the service.
func (s *supervisor) passed(pass agent.Pass, fatal bool) {
	at := pass.Began.Add(pass.Took).Format("15:04:05")
	switch {
	case pass.Err == nil:
		s.send(fmt.Sprintf("STATUS=In step at %s, providers: %d", at, pass.Providers))
	case pass.Startup && fatal:
		s.send("STATUS=The start failed: " + oneLine(pass.Err))
		return
	default:
		s.send(fmt.Sprintf("STATUS=Not in step at %s, trying again: %s", at, oneLine(pass.Err)))
	}
	s.ready.Do(func() { s.send(daemon.SdNotifyReady) })
}

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

func (s *supervisor) stopping() { s.send(daemon.SdNotifyStopping, "STATUS=Stopping") }

// watch sends heartbeats, if the service manager wants any, for as long as the
// tracker takes steps or waits for its next pass. A request or a survey that hangs
// for longer than the manager's patience ends them, and the manager the agent.
func (s *supervisor) watch(ctx context.Context, tracker *agent.Tracker) {
	patience, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		s.log.Warn("there will be no heartbeats for the service manager", "cause", err)
	}
	if err != nil || patience <= 0 {
		return
	}
	beats := time.NewTicker(max(patience/3, time.Millisecond))
	defer beats.Stop()
	for {
		if time.Since(tracker.Progress()) < patience {
			s.send(daemon.SdNotifyWatchdog)
		}
		select {
		case <-beats.C:
		case <-ctx.Done():
			return
		}
	}
}
