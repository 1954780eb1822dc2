package main

import (
	"fmt"
	"strings"
	"sync"

	"github.com/coreos/go-systemd/v22/daemon"

	"github.com/berthd/berth/agent"
)

// agentSupervisor is told how the passes of an agent went.
type agentSupervisor struct {
	supervisor
	ready sync.Once
}

// passed tells how a pass went. The agent is ready after the first pass at the
// start that was not fatal, also if the service was away: what waits for the agent
// must be able to start without the service.
func (s *agentSupervisor) passed(pass agent.Pass, fatal bool) {
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
