package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/berthd/berth/agent/consumers"
	"github.com/berthd/berth/client"
)

// Options is the set of options of a Driver.
type Options struct {
	// Machine returns the hardware for each reconciliation; nil: Discover with the disk path of the Config.
	Machine func(context.Context) (*Machine, error)
	// Config is the configuration by the operator; nil: an empty one.
	Config *Config
	// Layout overrides the layout of the Config unless it is empty.
	Layout Layout
	// Consumers finds the devices of consumers whose allocations must be divided; nil: it knows no consumer.
	Consumers consumers.Source
	// Fit assigns consumers that Consumers does not know by free capacity.
	Fit bool
	// Log receives warnings; nil discards them.
	Log *slog.Logger
}

// Driver is the agent.Driver for a Linux host. On the root provider, and on providers with names of its NUMA nodes, it
// owns the classes and traits that it can discover. On providers with names of its PCI devices it owns the whole
// inventory. It does not change the rest of a tree.
type Driver struct {
	options Options

	mutex  sync.Mutex
	warned map[string]bool // messages with their values
}

// New returns a driver. It does not read the hardware yet.
func New(options Options) *Driver {
	if options.Config == nil {
		options.Config = &Config{}
	}
	options.Layout = cmp.Or(options.Layout, options.Config.Layout, Flat)
	if options.Log == nil {
		options.Log = slog.New(slog.DiscardHandler)
	}
	if options.Machine == nil {
		disk := options.Config.Disk.Path
		options.Machine = func(ctx context.Context) (*Machine, error) { return Discover(ctx, SurveyOptions{DiskPath: disk}) }
	}
	return &Driver{options: options, warned: map[string]bool{}}
}

// warn logs a warning unless the driver has logged it before.
func (d *Driver) warn(text string, values ...any) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if key := fmt.Sprint(text, values); !d.warned[key] {
		d.warned[key] = true
		d.options.Log.Warn(text, values...)
	}
}

// UpdateProviderTree implements agent.Driver. Without allocations it returns an error that wraps
// client.ErrReshapeNeeded, and does not change the tree, if CPUs or memory are on providers where the layout does not
// have them, or if the first CPUs become dedicated.
func (d *Driver) UpdateProviderTree(ctx context.Context, tree *client.ProviderTree, nodeName string, allocations client.Allocations) error {
	machine, err := d.options.Machine(ctx)
	if err != nil {
		return err
	}
	wanted, err := newDesiredTree(machine, d.options.Config, d.options.Layout, nodeName)
	if err != nil {
		return err
	}
	for _, note := range wanted.notes {
		d.warn(note.text, note.values...)
	}
	edit, err := newEditor(d, tree, wanted)
	if err != nil {
		return err
	}
	moves := edit.moves()
	if len(moves) > 0 && allocations == nil {
		return fmt.Errorf("%s: %w", describe(moves), client.ErrReshapeNeeded)
	}
	if err := edit.writeProviders(); err != nil {
		return err
	}
	if len(moves) > 0 {
		if err := edit.moveAllocations(ctx, moves, allocations); err != nil {
			return fmt.Errorf("%w: %w", client.ErrReshapeFailed, err)
		}
	}
	return edit.removeProviders()
}

// editor is one update of one tree.
type editor struct {
	driver *Driver
	tree   *client.ProviderTree
	wanted *desiredTree
	// before has the providers of the tree before the update, parents first.
	before []client.Node
	// nodes and devices match the names of the providers that the driver creates.
	nodes, devices *regexp.Regexp
}

// newEditor returns an editor. It returns an error if a provider of another tree has the name of a desired provider.
func newEditor(driver *Driver, tree *client.ProviderTree, wanted *desiredTree) (*editor, error) {
	name := regexp.QuoteMeta(wanted.node)
	e := &editor{
		driver: driver, tree: tree, wanted: wanted,
		nodes:   regexp.MustCompile(`^` + name + `_NUMA[0-9]+$`),
		devices: regexp.MustCompile(`^` + name + `_[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$`),
	}
	below, err := tree.UUIDs(wanted.node)
	if err != nil {
		return nil, fmt.Errorf("root provider of the host: %w", err)
	}
	for _, id := range below {
		node, err := tree.Provider(id.String())
		if err != nil {
			return nil, err
		}
		e.before = append(e.before, node)
	}
	for _, provider := range wanted.providers {
		if found, err := tree.Provider(provider.name); err == nil && !slices.Contains(below, found.UUID) {
			return nil, fmt.Errorf("provider %q (%s) is not in the tree of %q, but the driver needs this name there; rename or delete it", provider.name, found.UUID, wanted.node)
		}
	}
	return e, nil
}

// previousKind returns the kind of an existing provider; owned is false if the driver did not create it.
func (e *editor) previousKind(node client.Node) (of kind, owned bool) {
	switch {
	case node.Name == e.wanted.node:
		return kindRoot, true
	case e.nodes.MatchString(node.Name):
		return kindNode, true
	case e.devices.MatchString(node.Name):
		return kindDevice, true
	}
	return 0, false
}

// writeProviders creates missing providers, re-parents misplaced ones, and sets their inventories, traits and
// aggregates.
func (e *editor) writeProviders() error {
	for _, provider := range e.wanted.providers {
		if err := e.ensureProvider(provider); err != nil {
			return err
		}
		now, err := e.tree.Provider(provider.name)
		if err != nil {
			return err
		}
		extra := e.extra(provider.name)
		if _, err := e.tree.UpdateInventory(provider.name, e.inventories(provider, now, extra), nil); err != nil {
			return err
		}
		traits := slices.Concat(provider.traits, extra.Traits)
		surplus := slices.DeleteFunc(e.wanted.managedTraits(provider.kind), func(trait string) bool { return slices.Contains(traits, trait) })
		if err := errors.Join(e.tree.RemoveTraits(provider.name, surplus...), e.tree.AddTraits(provider.name, traits...),
			e.tree.AddAggregates(provider.name, extra.aggregates()...)); err != nil {
			return err
		}
	}
	return nil
}

// ensureProvider creates the provider, or re-parents it if it has another parent.
func (e *editor) ensureProvider(provider *desiredProvider) error {
	if provider.kind == kindRoot {
		return nil // the driver does not own the parent of the root
	}
	if !e.tree.Exists(provider.name) {
		_, err := e.tree.NewChild(provider.name, provider.parent, uuid.Nil)
		return err
	}
	now, err := e.tree.Provider(provider.name)
	if err != nil {
		return err
	}
	parent, err := e.tree.Provider(provider.parent)
	if err != nil || now.Parent == parent.UUID {
		return err
	}
	return e.tree.Move(provider.name, provider.parent)
}

// inventories returns the desired inventories of a provider: those that the driver does not own, those of the
// configuration, and those of the hardware.
func (e *editor) inventories(provider *desiredProvider, now client.Node, extra Extra) client.Inventories {
	all := client.Inventories{}
	for class, record := range now.Inventories {
		if _, wanted := provider.inventories[class]; !wanted && (!e.wanted.manages(provider.kind, class) || e.wanted.notDiscovered(class)) {
			all[class] = record
		}
	}
	for class, configured := range extra.Inventories {
		all[class] = client.InventoryRecord{
			Total: configured.Total, Reserved: configured.Reserved, MinUnit: configured.MinUnit, MaxUnit: configured.MaxUnit,
			StepSize: configured.StepSize, AllocationRatio: configured.AllocationRatio,
		}
	}
	for class, record := range provider.inventories {
		_, exists := now.Inventories[class]
		if class == classDisk && !exists && e.tree.HasSharingProvider(classDisk) {
			continue // the sharing provider has the disks of guests
		}
		record.AllocationRatio = new(e.ratio(class, now))
		all[class] = record
	}
	return all
}

// ratio returns the configured ratio of a class. Without one, it returns the current ratio of the provider, or of the
// provider from which the class moves: this keeps a ratio that a client changed on the server.
func (e *editor) ratio(class string, now client.Node) float64 {
	ratio, enforced := e.driver.options.Config.ratio(class)
	if enforced {
		return ratio
	}
	if present, has := now.Inventories[class]; has && present.AllocationRatio != nil {
		return *present.AllocationRatio
	}
	for _, node := range e.before {
		if _, owned := e.previousKind(node); owned && node.Inventories[class].AllocationRatio != nil {
			return *node.Inventories[class].AllocationRatio
		}
	}
	return ratio
}

// extra returns the extras of a provider in the configuration.
func (e *editor) extra(name string) Extra {
	all := Extra{Inventories: map[string]Record{}}
	configured := e.driver.options.Config.Providers
	for _, key := range slices.Sorted(maps.Keys(configured)) {
		if extra := configured[key]; strings.ReplaceAll(key, "{node}", e.wanted.node) == name {
			all.Traits = append(all.Traits, extra.Traits...)
			all.Aggregates = append(all.Aggregates, extra.Aggregates...)
			maps.Copy(all.Inventories, extra.Inventories)
		}
	}
	return all
}

// removeProviders removes the driver's providers that the desired tree lacks. It re-parents their children to the root
// first. It keeps a provider that has inventory of other clients.
func (e *editor) removeProviders() error {
	for _, node := range slices.Backward(e.before) { // children before their parents
		kind, owned := e.previousKind(node)
		if !owned || kind == kindRoot || e.wanted.find(node.Name) != nil || kind == kindDevice && !e.wanted.machine.Sees(PartDevices) {
			continue
		}
		foreign := maps.Collect(maps.All(node.Inventories))
		maps.DeleteFunc(foreign, func(class string, _ client.InventoryRecord) bool {
			return e.wanted.manages(kind, class) && !(kind == kindNode && e.wanted.notDiscovered(class))
		})
		if len(foreign) > 0 {
			e.driver.warn("keeping a provider that this host no longer has, because it has inventory of other clients", "provider", node.Name)
			_, err := e.tree.UpdateInventory(node.Name, foreign, nil)
			if err = errors.Join(err, e.tree.RemoveTraits(node.Name, e.wanted.managedTraits(kind)...)); err != nil {
				return err
			}
			continue
		}
		for _, child := range e.tree.Nodes() {
			if child.Parent == node.UUID {
				if err := e.tree.Move(child.UUID.String(), e.wanted.node); err != nil {
					return err
				}
			}
		}
		if err := e.tree.Remove(node.Name); err != nil {
			return err
		}
	}
	for key := range e.driver.options.Config.Providers {
		if name := strings.ReplaceAll(key, "{node}", e.wanted.node); e.wanted.find(name) == nil {
			e.driver.warn("the configuration names a provider that this host does not have in this layout", "provider", name)
		}
	}
	return nil
}

// manages reports whether the driver owns inventory of the class on a provider of a kind. It owns all inventory of
// devices: with inventory of a previous rule left, a device would be reported twice.
func (s *desiredTree) manages(of kind, class string) bool {
	return of == kindDevice || isNodeClass(class) || of == kindRoot && class == classDisk || s.hasDeviceOf(class)
}

// hasDeviceOf reports whether a device has inventory of the class.
func (s *desiredTree) hasDeviceOf(class string) bool {
	return slices.ContainsFunc(s.providers, func(provider *desiredProvider) bool {
		_, has := provider.inventories[class]
		return has && provider.kind == kindDevice
	})
}

// managedTraits returns the traits that the driver adds to and removes from providers of a kind. It omits the traits of
// parts that Discover could not read.
func (s *desiredTree) managedTraits(of kind) []string {
	if of == kindDevice {
		return traitsOfDevices()
	}
	all := []string{traitNUMARoot}
	if s.machine.Sees(PartCPUs) && s.machine.Sees(PartTopology) && len(s.machine.Flags) > 0 {
		all = append(all, traitsOfProcessors()...)
	}
	if of == kindRoot && s.machine.Sees(PartDisks) {
		all = append(all, traitSSD, traitHDD)
	}
	return all
}
