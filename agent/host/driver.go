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

// Options are the options of a Driver.
type Options struct {
	// Machine returns the hardware in every pass; nil calls Discover with the disk path of the Config.
	Machine func(context.Context) (*Machine, error)
	// Config is the configuration of the operator; nil is an empty one.
	Config *Config
	// Layout overrides the layout of the Config unless it is empty.
	Layout Layout
	// Consumers finds the device that a consumer uses, for allocations that have to be divided. Nil knows no consumer.
	Consumers consumers.Source
	// Fit assigns consumers that Consumers does not know by free capacity.
	Fit bool
	// Log is the log for warnings; nil disables it.
	Log *slog.Logger
}

// Driver is the agent.Driver for a Linux machine. On the root provider of the node, and on providers with names of its
// NUMA nodes, it owns the classes and traits that it can discover. On providers with names of its PCI devices it owns
// the whole inventory. It does not change the rest of a tree.
type Driver struct {
	options Options

	mutex sync.Mutex
	said  map[string]bool
}

// New returns a driver. It reads nothing from the machine.
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
	return &Driver{options: options, said: map[string]bool{}}
}

// warn logs a warning once, although it applies to every pass.
func (d *Driver) warn(text string, values ...any) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if whole := fmt.Sprint(text, values); !d.said[whole] {
		d.said[whole] = true
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
	wanted, err := newShape(machine, d.options.Config, d.options.Layout, nodeName)
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
	if err := edit.places(); err != nil {
		return err
	}
	if len(moves) > 0 {
		if err := edit.carry(ctx, moves, allocations); err != nil {
			return fmt.Errorf("%w: %w", client.ErrReshapeFailed, err)
		}
	}
	return edit.finish()
}

// editor edits one tree once.
type editor struct {
	driver *Driver
	tree   *client.ProviderTree
	wanted *desiredTree
	// before are the providers of the node's tree as they were, parents first.
	before []client.Node
	// nodes and devices match the names of the providers that the driver makes.
	nodes, devices *regexp.Regexp
}

func newEditor(driver *Driver, tree *client.ProviderTree, wanted *desiredTree) (*editor, error) {
	name := regexp.QuoteMeta(wanted.node)
	e := &editor{
		driver: driver, tree: tree, wanted: wanted,
		nodes:   regexp.MustCompile(`^` + name + `_NUMA[0-9]+$`),
		devices: regexp.MustCompile(`^` + name + `_[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$`),
	}
	below, err := tree.UUIDs(wanted.node)
	if err != nil {
		return nil, fmt.Errorf("the node's own provider: %w", err)
	}
	for _, id := range below {
		node, err := tree.Provider(id.String())
		if err != nil {
			return nil, err
		}
		e.before = append(e.before, node)
	}
	for _, one := range wanted.places {
		if found, err := tree.Provider(one.name); err == nil && !slices.Contains(below, found.UUID) {
			return nil, fmt.Errorf("provider %q (%s) is not below %q, where this driver needs a provider of that name; rename or remove it", one.name, found.UUID, wanted.node)
		}
	}
	return e, nil
}

// previousKind is the kind of a provider that was there; ok is false for what is not the
// driver's.
func (e *editor) previousKind(node client.Node) (of kind, ok bool) {
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

// places makes what is missing, puts everything below its parent, and writes
// inventories, traits and aggregates.
func (e *editor) places() error {
	for _, one := range e.wanted.places {
		if err := e.ensureProvider(one); err != nil {
			return err
		}
		now, err := e.tree.Provider(one.name)
		if err != nil {
			return err
		}
		extra := e.extra(one.name)
		if _, err := e.tree.UpdateInventory(one.name, e.inventories(one, now, extra), nil); err != nil {
			return err
		}
		traits := slices.Concat(one.traits, extra.Traits)
		surplus := slices.DeleteFunc(e.wanted.managedTraits(one.kind), func(trait string) bool { return slices.Contains(traits, trait) })
		if err := errors.Join(e.tree.RemoveTraits(one.name, surplus...), e.tree.AddTraits(one.name, traits...),
			e.tree.AddAggregates(one.name, extra.aggregates()...)); err != nil {
			return err
		}
	}
	return nil
}

// ensureProvider creates the provider below its parent, or moves it there.
func (e *editor) ensureProvider(one *place) error {
	if one.kind == kindRoot {
		return nil // the driver does not own the position of the root
	}
	if !e.tree.Exists(one.name) {
		_, err := e.tree.NewChild(one.name, one.parent, uuid.Nil)
		return err
	}
	now, err := e.tree.Provider(one.name)
	if err != nil {
		return err
	}
	parent, err := e.tree.Provider(one.parent)
	if err != nil || now.Parent == parent.UUID {
		return err
	}
	return e.tree.Move(one.name, one.parent)
}

// inventories are what a provider should have: what others gave it, what the
// configuration adds, and what the machine has there.
func (e *editor) inventories(one *place, now client.Node, extra Extra) client.Inventories {
	all := client.Inventories{}
	for class, record := range now.Inventories {
		if _, wanted := one.inventories[class]; !wanted && (!e.wanted.manages(one.kind, class) || e.wanted.notDiscovered(class)) {
			all[class] = record
		}
	}
	for class, told := range extra.Inventories {
		all[class] = client.InventoryRecord{
			Total: told.Total, Reserved: told.Reserved, MinUnit: told.MinUnit, MaxUnit: told.MaxUnit,
			StepSize: told.StepSize, AllocationRatio: told.AllocationRatio,
		}
	}
	for class, record := range one.inventories {
		_, stands := now.Inventories[class]
		if class == classDisk && !stands && e.tree.HasSharingProvider(classDisk) {
			continue // guests' disks are on the shared one; twice would be too many
		}
		record.AllocationRatio = new(e.ratio(class, now))
		all[class] = record
	}
	return all
}

// ratio returns the ratio of the configuration; else that of the provider, or of another provider of the node from
// which the class moves, so that a value changed in the service stays.
func (e *editor) ratio(class string, now client.Node) float64 {
	ratio, enforced := e.driver.options.Config.ratio(class)
	if enforced {
		return ratio
	}
	if present, has := now.Inventories[class]; has && present.AllocationRatio != nil {
		return *present.AllocationRatio
	}
	for _, node := range e.before {
		if _, ours := e.previousKind(node); ours && node.Inventories[class].AllocationRatio != nil {
			return *node.Inventories[class].AllocationRatio
		}
	}
	return ratio
}

// extra is what the configuration adds to the provider.
func (e *editor) extra(name string) Extra {
	all := Extra{Inventories: map[string]Record{}}
	told := e.driver.options.Config.Providers
	for _, key := range slices.Sorted(maps.Keys(told)) {
		if extra := told[key]; strings.ReplaceAll(key, "{node}", e.wanted.node) == name {
			all.Traits = append(all.Traits, extra.Traits...)
			all.Aggregates = append(all.Aggregates, extra.Aggregates...)
			maps.Copy(all.Inventories, extra.Inventories)
		}
	}
	return all
}

// finish takes the driver's providers away that are no longer wanted. What stands
// below a NUMA node goes to the root first; one that still has inventory, which
// is not the driver's, stays with it.
func (e *editor) finish() error {
	for _, node := range slices.Backward(e.before) { // children before their parents
		kind, ours := e.previousKind(node)
		if !ours || kind == kindRoot || e.wanted.find(node.Name) != nil || kind == kindDevice && !e.wanted.machine.Sees(PartDevices) {
			continue
		}
		left := maps.Collect(maps.All(node.Inventories))
		maps.DeleteFunc(left, func(class string, _ client.InventoryRecord) bool {
			return e.wanted.manages(kind, class) && !(kind == kindNode && e.wanted.notDiscovered(class))
		})
		if len(left) > 0 {
			e.driver.warn("a provider is not needed any longer but has inventory that is not this agent's, so it stays", "provider", node.Name)
			_, err := e.tree.UpdateInventory(node.Name, left, nil)
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
	for told := range e.driver.options.Config.Providers {
		if name := strings.ReplaceAll(told, "{node}", e.wanted.node); e.wanted.find(name) == nil {
			e.driver.warn("the configuration gives something to a provider that this layout does not have", "provider", name)
		}
	}
	return nil
}

// manages tells whether inventory of the class on such a provider is the driver's. On
// a device all is, whatever it is called: the class of a rule that was changed since
// would offer one device twice.
func (s *desiredTree) manages(of kind, class string) bool {
	return of == kindDevice || standsOnNodes(class) || of == kindRoot && class == classDisk || s.offered(class)
}

// offered tells whether some device has the class.
func (s *desiredTree) offered(class string) bool {
	return slices.ContainsFunc(s.places, func(one *place) bool {
		_, has := one.inventories[class]
		return has && one.kind == kindDevice
	})
}

// managedTraits are those that the driver gives to and takes from such a provider.
// What cannot be seen now is not taken away.
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
