package hostcommand

import (
	"fmt"
	"strings"
	"sync"

	"github.com/coreos/go-systemd/v22/daemon"

	"github.com/berthd/berth/agent"
	"github.com/berthd/berth/cmd/berth/open"
)

// agentNotifier reports the results of reconciliations to the service manager.
type agentNotifier struct {
	open.SystemdNotifier
	ready sync.Once
}

// report sends the result of a reconciliation. The agent is ready after the first reconciliation
// without a fatal error, even if the server is unreachable: units ordered after the agent must be
// able to start without the server.
func (s *agentNotifier) report(pass agent.Reconciliation, fatal bool) {
	at := pass.Began.Add(pass.Took).Format("15:04:05")
	switch {
	case pass.Err == nil:
		s.Send(fmt.Sprintf("STATUS=Up to date at %s, providers: %d", at, pass.Providers))
	case pass.Startup && fatal:
		s.Send("STATUS=Startup failed: " + oneLine(pass.Err))
		return
	default:
		s.Send(fmt.Sprintf("STATUS=Reconciliation failed at %s, retrying: %s", at, oneLine(pass.Err)))
	}
	s.ready.Do(func() { s.Send(daemon.SdNotifyReady) })
}

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
