package hostcommand

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/google/uuid"

	"github.com/berthd/berth/agent"
	"github.com/berthd/berth/agent/consumers"
	"github.com/berthd/berth/agent/host"
	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/internal/exactjson"
)

// newHostDriver returns the driver of this host or of recorded hardware. It tests the
// configuration on an empty tree, so that an invalid one fails on startup and not in every
// reconciliation.
func newHostDriver(ctx context.Context, settings *agentSettings, config *host.Config, log *slog.Logger) (agent.Driver, error) {
	options := host.Options{
		Machine: func(ctx context.Context) (*host.Machine, error) {
			return host.Discover(ctx, host.SurveyOptions{Root: settings.Root, DiskPath: config.Disk.Path})
		},
		Config: config,
		Layout: host.Layout(settings.layout),
		Log:    log,
	}
	if settings.survey != "" {
		machine, err := readMachine(settings.survey)
		if err != nil {
			return nil, err
		}
		options.Machine = func(context.Context) (*host.Machine, error) { return machine, nil }
	}
	var chain consumers.Chain
	for _, text := range settings.consumers {
		kind, argument, _ := strings.Cut(text, ":")
		switch kind {
		case "file":
			chain = append(chain, consumers.NewFile(argument))
		case "cgroup":
			source, err := consumers.NewCgroup(settings.Root, argument)
			if err != nil {
				return nil, err
			}
			chain = append(chain, source)
		case "fit":
			// The driver implements "fit" itself, because it knows the free capacity; it applies
			// to consumers that no other source knows.
			options.Fit = true
		}
	}
	options.Consumers = chain
	driver := host.New(options)
	tree := client.NewProviderTree()
	if err := tree.NewRoot(settings.Name, uuid.New(), nil); err != nil {
		return nil, err
	}
	if err := driver.UpdateProviderTree(ctx, tree, settings.Name, nil); err != nil {
		return nil, fmt.Errorf("the configuration does not match this host: %w", err)
	}
	return driver, nil
}

// readMachine reads the output of `berth agent hardware --output json`.
func readMachine(path string) (*host.Machine, error) {
	invalid := func(err error) error {
		return frame.InputErrors{&frame.InputError{Setting: "hardware-file", Value: path, Origin: "flag --hardware-file", Rule: frame.Rule{Broken: fmt.Sprintf("contains no recorded hardware (%v)", err), Remedy: "record hardware with 'berth agent hardware --output json'"}}}
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, invalid(err)
	}
	machine := &host.Machine{}
	if err := exactjson.UnmarshalStrict(content, machine); err != nil {
		return nil, invalid(err)
	}
	if len(machine.CPUs) == 0 && machine.Sees(host.PartCPUs) {
		// The agent would delete the whole inventory of a host without CPUs.
		return nil, invalid(errors.New("it has no CPUs, and does not list them as missing"))
	}
	return machine, nil
}

// checkConsumers returns the rule that a value of --consumers breaks.
func checkConsumers(text string) *frame.Rule {
	remedy := "write file:PATH, cgroup, cgroup:PATTERN with {uuid} in it, or fit"
	kind, argument, _ := strings.Cut(text, ":")
	switch {
	case text == "fit", text == "cgroup":
		return nil
	case kind == "file" && argument != "":
		return nil
	case kind == "cgroup" && argument != "":
		if _, err := consumers.NewCgroup("/", argument); err != nil {
			return &frame.Rule{Broken: fmt.Sprintf("cannot be used (%v)", err), Remedy: remedy}
		}
		return nil
	}
	return &frame.Rule{Broken: "is not one of the choices", Remedy: remedy}
}
