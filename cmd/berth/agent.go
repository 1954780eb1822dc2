package main

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
)

func (p *process) agentCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "agent",
		Short: "Keep the service's picture of this machine in step with the machine",
		Long: `Look at this machine and tell the service what it has: CPUs, memory, huge pages,
disk, graphics and network cards, and the traits of its processors. The providers
below this host's, their inventories, and those traits that can be found out belong
to the agent; what others put there stays. As long as nothing changes nothing is
written; what was read is read again after five minutes.

Only a pass at the start moves inventory that is in use from one provider or class
to another, such as to NUMA nodes after a change of --layout; the allocations move
with it in one step, or nothing is changed and the agent ends with exit code 1. The
start lasts until a pass got through. Later passes only say that a restart is needed.
Whatever else goes wrong is logged and tried again. --consumers says who knows which
NUMA node a consumer uses.

SIGHUP asks for a pass at once; the configuration is read at the start only. SIGTERM
or Ctrl-C lets a pass that runs end; a second signal breaks it off. Under systemd the
agent tells when it is ready and what it does, and sends heartbeats while it makes
progress.`,
		Example: `  berth agent --dry-run                       # what would it report?
  berth agent --once --url https://cloud.example.org/placement
  berth agent --layout numa --consumers file:/etc/berth/guests.json --consumers fit
  berth agent survey --output json > machine.json
  berth agent --survey machine.json --name lab1 --dry-run`,
	}
	// Not persistent: the commands below this one connect to nothing.
	connecting := &cobra.Command{}
	p.connectFlags(connecting)
	addAgentFlags(command.Flags())
	command.Flags().AddFlagSet(connecting.PersistentFlags())
	format := outputFlag(command)
	command.Flags().Lookup("output").Usage = "`format` of what --dry-run prints: table (a picture) or json"
	completeChoices(command, "layout", string(host.Flat), string(host.NUMA))
	completeChoices(command, consumersFlag, "cgroup", "fit", "file:", "cgroup:")
	completeChoices(command, "log-format", "text", "json")
	completeChoices(command, "log-level", "debug", "info", "warn", "error")
	family(command, p.surveyCommand())
	command.RunE = func(c *cobra.Command, _ []string) error {
		if err := checkOutput(*format); err != nil {
			return err
		}
		for _, warning := range unknownVariables(environment(p.environ)) {
			fmt.Fprintf(p.stderr, "berth: warning: %s\n", warning)
		}
		settings, err := loadAgentSettings(c.Flags(), p.environ)
		if err != nil {
			return err
		}
		return p.agent(c, settings, *format)
	}
	return command
}

// agent prepares what the three ways to run it need.
func (p *process) agent(c *cobra.Command, settings *agentSettings, format string) error {
	log := newLogger(&Settings{LogFormat: settings.logFormat, LogLevel: settings.logLevel}, p.stderr)
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
	service, err := p.connectAs(c, settings.dryRun, client.WithLogger(log))
	if err != nil {
		return err
	}
	node := agent.Node{Name: settings.name, UUID: id}
	if settings.dryRun {
		return p.previewAgent(c.Context(), agent.NewTracker(service, driver, node, agent.Options{Log: log}), format)
	}
	log.Info("this host", "name", node.Name, "uuid", node.UUID, "layout", settings.layout)
	if settings.once {
		return p.agentOnce(c.Context(), agent.NewTracker(service, driver, node, agent.Options{Attempts: int(settings.attempts), Log: log}))
	}
	return p.runAgent(c.Context(), settings, log, func(options agent.Options) *agent.Tracker {
		return agent.NewTracker(service, driver, node, options)
	})
}

// agentOnce makes one pass; a signal breaks it off.
func (p *process) agentOnce(ctx context.Context, tracker *agent.Tracker) error {
	stop := p.stopOnSignals(ctx)
	defer stop.done()
	return tracker.Update(stop.asked, true)
}

// runAgent is the whole life of the agent. The error is nil when it stopped
// because somebody asked.
func (p *process) runAgent(ctx context.Context, settings *agentSettings, log *slog.Logger, newTracker func(agent.Options) *agent.Tracker) error {
	stop := p.stopOnSignals(ctx)
	defer stop.done()
	patience, giveUp := patienceOf(stop, supervisorPatience)
	defer giveUp()

	metrics := newAgentMetrics()
	closeMetrics, err := metrics.serve(ctx, settings.metricsListen, log)
	if err != nil {
		return err
	}
	defer closeMetrics()
	supervised := &agentSupervisor{supervisor: supervisor{log: log}}
	var tracker *agent.Tracker
	inStep := false
	tracker = newTracker(agent.Options{Attempts: int(settings.attempts), Log: log, Observe: func(pass agent.Pass) {
		metrics.observe(pass)
		supervised.passed(pass, tracker.Fatal(pass.Err))
		if !inStep && pass.Err == nil {
			log.Info("the service's picture of this host is in step", "providers", pass.Providers)
		}
		inStep = pass.Err == nil
		log.Debug("a pass ended", "took", pass.Took, "attempts", pass.Attempts, "providers", pass.Providers, "reshaped", pass.Reshaped)
	}})
	defer onHangup(tracker.Nudge)()
	ended := context.AfterFunc(stop.asked, func() {
		log.Info("stopping")
		supervised.stopping()
		tracker.Stop()
	})
	defer ended() // an end that nobody asked for is told as an error
	go supervised.watch(patience, func(most time.Duration) bool { return time.Since(tracker.Progress()) < most })

	err = tracker.Run(patience, settings.interval)
	if errors.Is(err, context.Canceled) && patience.Err() != nil {
		return errors.New("a pass was running when the time to stop was up, and was broken off; the next start goes on from there")
	}
	if err != nil {
		return fmt.Errorf("the service's picture of this host cannot be brought to its new shape: %w", err)
	}
	return nil
}
