// Package hostcommand has the commands that report hosts to a server and reshape their provider
// trees.
//
// It is not for discovering hardware and writing provider trees (packages agent and below), nor
// for single API requests (package apicommand).
package hostcommand

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/agent"
	"github.com/berthd/berth/agent/host"
	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/config"
	"github.com/berthd/berth/cmd/berth/connect"
	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/cmd/berth/open"
)

// Agent returns `berth agent`.
func Agent(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "agent",
		Short: "Discover the hardware of this host and report it as resource providers",
		Long: `Discover the CPUs, memory, huge pages, disk, GPUs, network cards and CPU traits of this
host and report them as resource providers. The agent owns the providers below the one
of this host, their inventories, and the traits that it can discover; it keeps other
data. It writes only changes, and reads the state of the server again after five
minutes.

Only the reconciliation on startup moves inventory that is in use to another provider or
class, such as to NUMA nodes after a change of --layout. It moves the allocations in the
same reshape; if that fails, it changes nothing and the agent exits with code 1. Later
reconciliations only log that a restart is required. The agent logs and retries other
errors. --consumers selects the sources for the NUMA node of a consumer.

SIGHUP starts a reconciliation at once; the agent reads its configuration only on
startup. On SIGTERM or Ctrl-C a running reconciliation finishes; a second signal
cancels it. Under systemd the agent reports readiness and status, and sends watchdog
heartbeats while it makes progress.

Exit codes: 0 stopped or reconciled, 1 failed, 2 the command line or a setting is
invalid.`,
		Example: `  berth agent --dry-run                       # what would it report?
  berth agent --once --url https://cloud.example.org/placement
  berth agent --layout numa --consumers file:/etc/berth/guests.json --consumers fit
  berth agent hardware --output json > machine.json
  berth agent --hardware-file machine.json --name lab1 --dry-run`,
	}
	// The flags are not persistent, because the subcommands do not connect to a server.
	connecting := &cobra.Command{}
	connect.Flags(f, connecting)
	addAgentFlags(command.Flags())
	command.Flags().AddFlagSet(connecting.PersistentFlags())
	format := frame.ReportFlag(command)
	command.Flags().Lookup("output").Usage = "output `format` of --dry-run: table (a drawing of the tree) or json"
	frame.CompleteChoices(command, "layout", string(host.Flat), string(host.NUMA))
	frame.CompleteChoices(command, consumersFlag, "cgroup", "fit", "file:", "cgroup:")
	frame.CompleteChoices(command, "log-format", "text", "json")
	frame.CompleteChoices(command, "log-level", "debug", "info", "warn", "error")
	frame.Family(command, hardwareCommand(f))
	command.RunE = func(c *cobra.Command, _ []string) error {
		for _, warning := range config.UnknownVariables(f) {
			fmt.Fprintf(f.Stderr, "berth: warning: %s\n", warning)
		}
		settings, err := loadAgentSettings(c.Flags(), f.Environ)
		if err != nil {
			return err
		}
		return prepareAgent(f, c, settings, *format)
	}
	return command
}

// prepareAgent runs the agent in one of its modes: a preview, one reconciliation, or reconciliations until a signal.
func prepareAgent(f *frame.Frame, c *cobra.Command, settings *agentSettings, format string) error {
	log := open.Logger(&config.Settings{LogFormat: settings.logFormat, LogLevel: settings.logLevel}, f.Stderr)
	config, err := settings.loadConfig()
	if err != nil {
		return err
	}
	id, err := settings.identity()
	if err != nil {
		return err
	}
	driver, err := newHostDriver(c.Context(), settings, config, log)
	if err != nil {
		return err
	}
	service, err := connect.ClientAs(f, c, settings.dryRun, client.WithLogger(log), client.WithMemberRefresh(time.Hour))
	if err != nil {
		return err
	}
	node := agent.Node{Name: settings.Name, UUID: id}
	if settings.dryRun {
		return previewAgent(c.Context(), f, agent.NewTracker(service, driver, node, agent.Options{Log: log}), format)
	}
	log.Info("this host", "name", node.Name, "uuid", node.UUID, "layout", settings.layout)
	if settings.once {
		return agentOnce(c.Context(), f, agent.NewTracker(service, driver, node, agent.Options{Attempts: int(settings.attempts), Log: log}))
	}
	return runAgent(c.Context(), f, settings, log, func(options agent.Options) *agent.Tracker {
		return agent.NewTracker(service, driver, node, options)
	})
}

// agentOnce runs one reconciliation; a signal cancels it.
func agentOnce(ctx context.Context, f *frame.Frame, tracker *agent.Tracker) error {
	stop := f.StopOnSignals(ctx)
	defer stop.Done()
	return tracker.Update(stop.Asked, true)
}

// runAgent reconciles until a signal stops the agent; it then returns nil.
func runAgent(ctx context.Context, f *frame.Frame, settings *agentSettings, log *slog.Logger, newTracker func(agent.Options) *agent.Tracker) error {
	stop := f.StopOnSignals(ctx)
	defer stop.Done()
	timeout, giveUp := open.CloseContext(stop, open.SystemdStopTimeout)
	defer giveUp()

	metrics := newAgentMetrics()
	closeMetrics, err := metrics.serve(ctx, settings.metricsListen, log)
	if err != nil {
		return err
	}
	defer closeMetrics()
	notifier := &agentNotifier{SystemdNotifier: open.SystemdNotifier{Log: log}}
	var tracker *agent.Tracker
	upToDate := false
	tracker = newTracker(agent.Options{Attempts: int(settings.attempts), Log: log, Observe: func(pass agent.Reconciliation) {
		metrics.observe(pass)
		notifier.report(pass, tracker.Fatal(pass.Err))
		if !upToDate && pass.Err == nil {
			log.Info("the provider tree of this host is up to date", "providers", pass.Providers)
		}
		upToDate = pass.Err == nil
		log.Debug("reconciliation finished", "took", pass.Took, "attempts", pass.Attempts, "providers", pass.Providers, "reshaped", pass.Reshaped)
	}})
	defer frame.OnHangup(tracker.Trigger)()
	ended := context.AfterFunc(stop.Asked, func() {
		log.Info("stopping")
		notifier.Stopping()
		tracker.Stop()
	})
	defer ended() // an unexpected exit returns an error
	go notifier.Watch(timeout, func(maxAge time.Duration) bool { return time.Since(tracker.Progress()) < maxAge })

	err = tracker.Run(timeout, settings.interval)
	if errors.Is(err, context.Canceled) && timeout.Err() != nil {
		return errors.New("canceled a reconciliation at the stop deadline; the next start resumes it")
	}
	if err != nil {
		return fmt.Errorf("cannot reshape the provider tree of this host: %w", err)
	}
	return nil
}
