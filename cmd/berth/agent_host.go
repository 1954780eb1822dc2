package main

import (
	"bytes"
	"context"
	"encoding/json"
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
)

// newHostDriver makes the driver of a machine: this one, or a recorded one. It is
// tried on a host that has nothing yet, so that a configuration that does not fit
// the machine is told at once and not with every pass.
func newHostDriver(ctx context.Context, settings *agentSettings, config *host.Config, log *slog.Logger) (agent.Driver, error) {
	options := host.Options{
		Machine: func(ctx context.Context) (*host.Machine, error) {
			return host.Survey(ctx, host.SurveyOptions{Root: settings.root, DiskPath: config.Disk.Path})
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
			source, err := consumers.NewCgroup(settings.root, argument)
			if err != nil {
				return nil, err
			}
			chain = append(chain, source)
		case "fit":
			// The driver knows the room there is, so it does that itself, and for
			// those only whom nobody knows.
			options.Fit = true
		}
	}
	options.Consumers = chain
	driver := host.New(options)
	tree := client.NewProviderTree()
	if err := tree.NewRoot(settings.name, uuid.New(), nil); err != nil {
		return nil, err
	}
	if err := driver.UpdateProviderTree(ctx, tree, settings.name, nil); err != nil {
		return nil, fmt.Errorf("what is to be offered does not fit this machine: %w", err)
	}
	return driver, nil
}

// readMachine reads what `berth agent survey --output json` wrote.
func readMachine(path string) (*host.Machine, error) {
	wrong := func(err error) error {
		return mistakes{&mistake{"survey", path, "flag --survey", rule{fmt.Sprintf("holds no recorded machine (%v)", err), "write one with 'berth agent survey --output json'"}}}
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, wrong(err)
	}
	machine := &host.Machine{}
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(machine); err != nil {
		return nil, wrong(err)
	}
	if len(machine.CPUs) == 0 && machine.Sees(host.PartCPUs) {
		// Such a machine would lose all its inventory.
		return nil, wrong(errors.New("it has no processors, and does not say that they could not be seen"))
	}
	return machine, nil
}

// checkConsumers tells what is wrong about a value of --consumers.
func checkConsumers(text string) *rule {
	remedy := "write file:PATH, cgroup, cgroup:PATTERN with {uuid} in it, or fit"
	kind, argument, _ := strings.Cut(text, ":")
	switch {
	case text == "fit", text == "cgroup":
		return nil
	case kind == "file" && argument != "":
		return nil
	case kind == "cgroup" && argument != "":
		if _, err := consumers.NewCgroup("/", argument); err != nil {
			return &rule{fmt.Sprintf("cannot be used (%v)", err), remedy}
		}
		return nil
	}
	return &rule{"is not one of the choices", remedy}
}
