package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/berthd/berth/agent"
	"github.com/berthd/berth/agent/declared"
	"github.com/berthd/berth/client"
	api "github.com/berthd/berth/gen/client"
)

// driverFor finds the hosts and who says what shape they should have: the plan, or
// this machine. All of them exist; a reshape creates no hosts.
func (r *reshaping) driverFor(ctx context.Context) ([]*reshapedHost, error) {
	if r.plan == nil {
		return r.machineHost(ctx)
	}
	var hosts []*reshapedHost
	missing := slices.Clone(r.wish.hosts)
	for _, root := range r.plan.Roots() {
		found, err := findProvider(ctx, r.service, root)
		wanted := func(name string) bool {
			return name == root || err == nil && (name == found.Name || name == found.UUID.String())
		}
		if len(r.wish.hosts) > 0 && !slices.ContainsFunc(r.wish.hosts, wanted) {
			continue
		}
		if err != nil {
			return nil, about(r.wish.plan, err)
		}
		missing = slices.DeleteFunc(missing, wanted)
		host, err := newReshapedHost(found, &recordedPlan{plan: r.plan})
		if err != nil {
			return nil, err
		}
		hosts = append(hosts, host)
	}
	if len(missing) > 0 {
		return nil, wrongFlag("host", missing[0], "is not in the plan", "the plan is for "+strings.Join(r.plan.Roots(), ", "))
	}
	all, byName := hostsByName(hosts)
	if len(byName) < len(all) {
		return nil, mistakes{errors.New(r.wish.plan + ": a host is in it by its name and by its uuid; write one document for each host")}
	}
	return hosts, nil
}

func newReshapedHost(found api.Provider, driver agent.Driver) (*reshapedHost, error) {
	if found.RootProviderUUID != found.UUID {
		return nil, fmt.Errorf("%s is not a host: it stands in the tree of %s; name the root", found.Name, found.RootProviderUUID)
	}
	return &reshapedHost{node: agent.Node{Name: found.Name, UUID: found.UUID}, driver: driver}, nil
}

// machineHost asks this machine, as `berth agent` does.
func (r *reshaping) machineHost(ctx context.Context) ([]*reshapedHost, error) {
	settings := &agentSettings{
		config: r.wish.config, layout: r.wish.layout, survey: r.wish.survey, root: r.wish.root, consumers: r.wish.consumers,
	}
	if len(r.wish.hosts) > 0 {
		settings.name = r.wish.hosts[0]
	}
	config, err := settings.loadConfig()
	if err != nil {
		return nil, err
	}
	found, err := findProvider(ctx, r.service, settings.name)
	if err != nil {
		return nil, err
	}
	settings.name = found.Name
	driver, err := newHostDriver(ctx, settings, config, r.log)
	if err != nil {
		return nil, err
	}
	host, err := newReshapedHost(found, driver)
	if err != nil {
		return nil, err
	}
	return []*reshapedHost{host}, nil
}

// recordedPlan is a plan that writes the way back before anything is written to the
// service. It is computed from the very tree and allocations that are moved, which
// the service holds it to, and not from those of the preview.
type recordedPlan struct {
	plan *declared.Plan
	file *inverseFile // nil in a preview
	// before is the tree as it was loaded.
	before *client.ProviderTree
}

// UpdateProviderTree is the plan's.
func (r *recordedPlan) UpdateProviderTree(ctx context.Context, tree *client.ProviderTree, nodeName string, allocations client.Allocations) error {
	// The first call of an attempt is without allocations, and may edit the tree
	// that the second gets.
	if allocations == nil {
		r.before = tree.Clone()
	}
	had := allocations.Clone()
	if err := r.plan.UpdateProviderTree(ctx, tree, nodeName, allocations); err != nil || r.file == nil {
		return err
	}
	back, err := r.plan.Inverse(nodeName, r.before, had)
	if err != nil {
		return err
	}
	return r.file.save(nodeName, back)
}
