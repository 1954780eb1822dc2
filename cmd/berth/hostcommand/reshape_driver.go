package hostcommand

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/berthd/berth/agent"
	"github.com/berthd/berth/agent/planfile"
	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/apicommand"
	"github.com/berthd/berth/cmd/berth/frame"
	api "github.com/berthd/berth/gen/client"
)

// findHosts returns the hosts to reshape with their drivers: the hosts of the plan, or this host.
// It returns an error for a host that the server does not have, because a reshape creates no hosts.
func (r *reshapeRun) findHosts(ctx context.Context) ([]*reshapedHost, error) {
	if r.plan == nil {
		return r.thisHost(ctx)
	}
	var hosts []*reshapedHost
	missing := slices.Clone(r.options.hosts)
	for _, root := range r.plan.Roots() {
		found, err := apicommand.FindProvider(ctx, r.service, root)
		isNamed := func(name string) bool {
			return name == root || err == nil && (name == found.Name || name == found.UUID.String())
		}
		if len(r.options.hosts) > 0 && !slices.ContainsFunc(r.options.hosts, isNamed) {
			continue
		}
		if err != nil {
			return nil, frame.About(r.options.plan, err)
		}
		missing = slices.DeleteFunc(missing, isNamed)
		host, err := newReshapedHost(found, &recordedPlan{plan: r.plan})
		if err != nil {
			return nil, err
		}
		hosts = append(hosts, host)
	}
	if len(missing) > 0 {
		return nil, frame.WrongFlag("host", missing[0], "is not a host of the plan", "choose from "+strings.Join(r.plan.Roots(), ", "))
	}
	all, byName := hostsByName(hosts)
	if len(byName) < len(all) {
		return nil, frame.InputErrors{errors.New(r.options.plan + ": the plan has two documents for one host, by its name and by its UUID; write one document per host")}
	}
	return hosts, nil
}

// newReshapedHost returns a host, or an error if the provider is not a root.
func newReshapedHost(found api.Provider, driver agent.Driver) (*reshapedHost, error) {
	if found.RootProviderUUID != found.UUID {
		return nil, fmt.Errorf("%s is not a root provider: it belongs to the tree of %s; name the root", found.Name, found.RootProviderUUID)
	}
	return &reshapedHost{node: agent.Node{Name: found.Name, UUID: found.UUID}, driver: driver}, nil
}

// thisHost returns this host with the driver of `berth agent`.
func (r *reshapeRun) thisHost(ctx context.Context) ([]*reshapedHost, error) {
	settings := &agentSettings{
		config: r.options.config, layout: r.options.layout, survey: r.options.survey, Root: r.options.root, consumers: r.options.consumers,
	}
	if len(r.options.hosts) > 0 {
		settings.Name = r.options.hosts[0]
	}
	config, err := settings.loadConfig()
	if err != nil {
		return nil, err
	}
	found, err := apicommand.FindProvider(ctx, r.service, settings.Name)
	if err != nil {
		return nil, err
	}
	settings.Name = found.Name
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

// recordedPlan is a plan that saves its undo plan before any write to the server. It computes the
// undo plan from the tree and allocations that it moves, whose generations the server checks, and
// not from those of the preview.
type recordedPlan struct {
	plan *planfile.Plan
	file *undoFile // nil in a preview
	// before is the tree as the tracker loaded it.
	before *client.ProviderTree
}

// UpdateProviderTree applies the plan to the tree. Except in a preview, it then saves the undo plan, before the tracker
// sends a write.
func (r *recordedPlan) UpdateProviderTree(ctx context.Context, tree *client.ProviderTree, nodeName string, allocations client.Allocations) error {
	// The first call of an attempt has no allocations, and may edit the tree
	// of the second call.
	if allocations == nil {
		r.before = tree.Clone()
	}
	had := allocations.Clone()
	if err := r.plan.UpdateProviderTree(ctx, tree, nodeName, allocations); err != nil || r.file == nil {
		return err
	}
	undo, err := r.plan.Inverse(nodeName, r.before, had)
	if err != nil {
		return err
	}
	return r.file.save(nodeName, undo)
}
