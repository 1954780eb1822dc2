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
	api "github.com/berthd/berth/gen/client"
	"github.com/berthd/berth/internal/apicommand"
	"github.com/berthd/berth/internal/frame"
)

// driverFor finds the hosts and who says what shape they should have: the plan, or
// this machine. All of them exist; a reshape creates no hosts.
func (r *reshaping) driverFor(ctx context.Context) ([]*reshapedHost, error) {
	if r.plan == nil {
		return r.machineHost(ctx)
	}
	var hosts []*reshapedHost
	missing := slices.Clone(r.candidateRequest.hosts)
	for _, root := range r.plan.Roots() {
		found, err := apicommand.FindProvider(ctx, r.service, root)
		wanted := func(name string) bool {
			return name == root || err == nil && (name == found.Name || name == found.UUID.String())
		}
		if len(r.candidateRequest.hosts) > 0 && !slices.ContainsFunc(r.candidateRequest.hosts, wanted) {
			continue
		}
		if err != nil {
			return nil, frame.About(r.candidateRequest.plan, err)
		}
		missing = slices.DeleteFunc(missing, wanted)
		host, err := newReshapedHost(found, &recordedPlan{plan: r.plan})
		if err != nil {
			return nil, err
		}
		hosts = append(hosts, host)
	}
	if len(missing) > 0 {
		return nil, frame.WrongFlag("host", missing[0], "is not in the plan", "the plan is for "+strings.Join(r.plan.Roots(), ", "))
	}
	all, byName := hostsByName(hosts)
	if len(byName) < len(all) {
		return nil, frame.InputErrors{errors.New(r.candidateRequest.plan + ": a host is in it by its name and by its uuid; write one document for each host")}
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
		config: r.candidateRequest.config, layout: r.candidateRequest.layout, survey: r.candidateRequest.survey, Root: r.candidateRequest.root, consumers: r.candidateRequest.consumers,
	}
	if len(r.candidateRequest.hosts) > 0 {
		settings.Name = r.candidateRequest.hosts[0]
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
