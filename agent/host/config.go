package host

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/google/uuid"
	"go.yaml.in/yaml/v3"
)

// Layout is the distribution of the resources of a machine over the tree.
type Layout string

const (
	// Flat reports CPUs, memory and the disk on the root provider of the node.
	Flat Layout = "flat"
	// NUMA reports CPUs and memory on one child provider for each NUMA node, and the disk on the root provider. The
	// traits of CPUs are on both: on the NUMA nodes for queries with traits of the provider of CPUs, and on the root
	// for queries with traits of the root.
	NUMA Layout = "numa"
)

func (l Layout) check() error {
	if l != Flat && l != NUMA {
		return fmt.Errorf("layout: %q is neither flat nor numa", string(l))
	}
	return nil
}

// Config is the configuration of the operator. docs/agent.example.yaml shows all of it.
type Config struct {
	// Node is the name of the provider of the node, for the caller of the driver.
	Node string `yaml:"node"`
	// Layout is Flat if empty.
	Layout Layout `yaml:"layout"`
	CPUs   struct {
		// Dedicated CPUs are PCPU, Shared ones VCPU; Shared is every CPU that is not
		// dedicated if it is nil, and none if it is empty.
		Dedicated CPUSet `yaml:"dedicated"`
		Shared    CPUSet `yaml:"shared"`
	} `yaml:"cpus"`
	Disk struct {
		// Path is on the file system whose size is DISK_GB, "/" by default.
		Path string `yaml:"path"`
		// TotalGB is the size itself; 0 reports no disk.
		TotalGB *int64 `yaml:"total_gb"`
	} `yaml:"disk"`
	// Reserved is the reserved part of CPUs, memory, huge pages and the disk, by class; 512 of MEMORY_MB by default.
	Reserved map[string]Reserved `yaml:"reserved"`
	// Ratios are allocation ratios by class. The driver enforces those set here. The initial value of others is 4.0 for
	// VCPU and 1.0 for the rest; the driver keeps a value that was changed in the service.
	Ratios map[string]float64 `yaml:"ratios"`
	// Devices are rules for PCI devices; the first matching rule decides.
	Devices []Rule `yaml:"devices"`
	// DefaultDevices, true by default, offers what meets no rule if it is a
	// graphics card or a network card's virtual function.
	DefaultDevices *bool `yaml:"default_devices"`
	// Providers get more on top, by their name; {node} stands for the node's.
	Providers map[string]Extra `yaml:"providers"`
}

// Reserved is an amount for the whole machine, or one for each NUMA node.
type Reserved struct {
	// Amount is spread over the NUMA nodes in equal parts in the layout NUMA.
	Amount int64
	// Nodes, if not nil, is used instead, and added up in the layout Flat.
	Nodes map[int]int64
}

// UnmarshalYAML reads a number or a map of numbers.
func (r *Reserved) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.MappingNode {
		if err := node.Decode(&r.Nodes); err != nil {
			return fmt.Errorf("line %d: what is reserved for each NUMA node is such as {0: 1024, 1: 512}", node.Line)
		}
	} else if err := node.Decode(&r.Amount); err != nil {
		return fmt.Errorf("line %d: %q is no amount; write a number, or one for each NUMA node such as {0: 1024, 1: 512}", node.Line, node.Value)
	}
	for _, amount := range append(slices.Collect(maps.Values(r.Nodes)), r.Amount) {
		if amount < 0 {
			return fmt.Errorf("line %d: an amount that is reserved cannot be below 0", node.Line)
		}
	}
	return nil
}

// sum is the amount for the whole machine.
func (r Reserved) sum() int64 {
	if r.Nodes == nil {
		return r.Amount
	}
	sum := int64(0)
	for _, amount := range r.Nodes {
		sum += amount
	}
	return sum
}

// Rule is a rule for the devices that match all of its fields, and the treatment of these devices.
type Rule struct {
	// Vendor and Product are four hexadecimal digits.
	Vendor  string `yaml:"vendor"`
	Product string `yaml:"product"`
	// Class is the beginning of the PCI class: 03 is any display, 0302 a 3D
	// controller.
	Class string `yaml:"class"`
	// Address is such as 0000:3b:00.0, with * and ? as in file names.
	Address string `yaml:"address"`

	// Ignore excludes the device.
	Ignore bool `yaml:"ignore"`
	// ResourceClass replaces the default class of the device.
	ResourceClass string `yaml:"resource_class"`
	// MediatedType reports as many VGPU as the device supports of this type.
	MediatedType string   `yaml:"mediated_type"`
	Traits       []string `yaml:"traits"`
}

func (r Rule) meets(device Device) bool {
	if ok, err := path.Match(r.Address, device.Address); r.Address != "" && (err != nil || !ok) {
		return false
	}
	return (r.Vendor == "" || strings.EqualFold(r.Vendor, device.Vendor)) &&
		(r.Product == "" || strings.EqualFold(r.Product, device.Product)) &&
		strings.HasPrefix(device.Class, strings.ToLower(r.Class))
}

// Extra is additional traits, aggregates and inventories of a provider. The driver adds them and never removes them:
// the operator removes them in the service.
type Extra struct {
	Traits      []string          `yaml:"traits"`
	Aggregates  []Aggregate       `yaml:"aggregates"`
	Inventories map[string]Record `yaml:"inventories"`
}

// aggregates are the bare uuids.
func (e Extra) aggregates() []uuid.UUID {
	var all []uuid.UUID
	for _, aggregate := range e.Aggregates {
		all = append(all, aggregate.UUID)
	}
	return all
}

// Aggregate is the UUID of an aggregate.
type Aggregate struct{ uuid.UUID }

// UnmarshalYAML reads it.
func (a *Aggregate) UnmarshalYAML(node *yaml.Node) (err error) {
	if a.UUID, err = uuid.Parse(node.Value); err != nil {
		return fmt.Errorf("line %d: the aggregate %q is no uuid", node.Line, node.Value)
	}
	return nil
}

// Record is an inventory of a class that this driver does not report itself.
type Record struct {
	Total           int32    `yaml:"total"`
	Reserved        *int32   `yaml:"reserved"`
	MinUnit         *int32   `yaml:"min_unit"`
	MaxUnit         *int32   `yaml:"max_unit"`
	StepSize        *int32   `yaml:"step_size"`
	AllocationRatio *float64 `yaml:"allocation_ratio"`
}

// LoadConfig reads a configuration file. It returns all errors together, syntax errors with their lines.
func LoadConfig(file string) (*Config, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	config, err := ParseConfig(content)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return config, nil
}

// unknownField is how the parser words a key that no field has, with the name of a
// Go type that tells the reader nothing.
var unknownField = regexp.MustCompile(`field (\S+) not found in type \S+`)

// ParseConfig is LoadConfig for a text. An empty text is a valid configuration.
func ParseConfig(content []byte) (*Config, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	decoder.KnownFields(true)
	config := &Config{}
	err := decoder.Decode(config)
	var mistakes *yaml.TypeError
	switch {
	case errors.As(err, &mistakes):
		lines := make([]string, len(mistakes.Errors))
		for i, line := range mistakes.Errors {
			lines[i] = unknownField.ReplaceAllString(line, `there is no setting "$1"`)
		}
		return nil, errors.New(strings.Join(lines, "\n"))
	case err != nil && !errors.Is(err, io.EOF):
		return nil, err
	}
	if err := decoder.Decode(&yaml.Node{}); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more than one YAML document; only one configuration can be meant")
	}
	if err := config.check(); err != nil {
		return nil, err
	}
	return config, nil
}

// check reports everything that is wrong about the values.
func (c *Config) check() error {
	var wrong []error
	note := func(text string, values ...any) { wrong = append(wrong, fmt.Errorf(text, values...)) }
	if c.Layout != "" {
		wrong = append(wrong, c.Layout.check())
	}
	for _, cpu := range c.CPUs.Dedicated {
		if slices.Contains(c.CPUs.Shared, cpu) {
			note("cpus: CPU %d is both dedicated and shared; it can be one of them", cpu)
		}
	}
	if total := c.Disk.TotalGB; total != nil && (*total < 0 || *total > maxTotal) {
		note("disk.total_gb: %d is not between 0 and %d", *total, maxTotal)
	}
	for class, reserved := range c.Reserved {
		if !standsOnNodes(class) && class != classDisk {
			note("reserved: of %s nothing can be kept back; VCPU, PCPU, MEMORY_MB, DISK_GB and CUSTOM_MEMORY_HUGEPAGES_… can", class)
		} else if class == classDisk && reserved.Nodes != nil {
			note("reserved.DISK_GB: the disk belongs to no NUMA node; give one number")
		}
	}
	for class, ratio := range c.Ratios {
		if !validName.MatchString(class) || ratio <= 0 {
			note("ratios: %s: %g; it takes the name of a resource class and a number above 0", class, ratio)
		}
	}
	for i, rule := range c.Devices {
		wrong = append(wrong, rule.check(i+1)...)
	}
	for name, extra := range c.Providers {
		wrong = append(wrong, extra.check(name)...)
	}
	wrong = slices.DeleteFunc(wrong, func(err error) bool { return err == nil })
	slices.SortFunc(wrong, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(wrong...)
}

func (r Rule) check(number int) (wrong []error) {
	note := func(text string, values ...any) {
		wrong = append(wrong, fmt.Errorf("devices, rule %d: "+text, append([]any{number}, values...)...))
	}
	if r.Vendor == "" && r.Product == "" && r.Class == "" && r.Address == "" {
		note("it chooses nothing; give at least one of vendor, product, class and address")
	}
	if _, err := path.Match(r.Address, ""); err != nil {
		note("address %q is not a pattern: %w", r.Address, err)
	}
	if r.ResourceClass != "" && (!validName.MatchString(r.ResourceClass) || standsOnNodes(r.ResourceClass) || r.ResourceClass == classDisk) {
		note("resource_class %q cannot be that of a device; custom ones are CUSTOM_ with capital letters, digits and _", r.ResourceClass)
	}
	for _, trait := range r.Traits {
		if !validName.MatchString(trait) {
			note("trait %q: names are capital letters, digits and _", trait)
		}
	}
	return wrong
}

func (e Extra) check(name string) (wrong []error) {
	note := func(text string, values ...any) {
		wrong = append(wrong, fmt.Errorf("providers.%s: "+text, append([]any{name}, values...)...))
	}
	for _, trait := range e.Traits {
		if !validName.MatchString(trait) {
			note("trait %q: names are capital letters, digits and _", trait)
		}
	}
	for class, record := range e.Inventories {
		switch {
		case !validName.MatchString(class):
			note("resource class %q: names are capital letters, digits and _", class)
		case standsOnNodes(class) || slices.Contains([]string{classDisk, classPGPU, classVGPU, classVF}, class):
			note("inventory of %s is what this agent finds out itself; it cannot be given here", class)
		case record.Total < 1:
			note("inventory of %s: the total has to be 1 or more", class)
		}
	}
	return wrong
}

// maxTotal is the highest total that the service takes.
const maxTotal = 1<<31 - 1

// standsOnNodes tells whether a class belongs to the NUMA nodes of a machine.
func standsOnNodes(class string) bool {
	return class == classVCPU || class == classPCPU || class == classMemory || isHugePages(class)
}

// ratio is what an inventory of the class begins with, and whether it is enforced.
func (c *Config) ratio(class string) (ratio float64, enforced bool) {
	if ratio, enforced = c.Ratios[class]; enforced {
		return ratio, true
	}
	if class == classVCPU {
		return 4, false
	}
	return 1, false
}

// defaultReservedMB is what is kept back of MEMORY_MB if nothing else is told.
const defaultReservedMB = 512

// reserved is what is to be kept back of a class of which there is so much.
func (c *Config) reserved(class string, total int64) Reserved {
	if reserved, told := c.Reserved[class]; told {
		return reserved
	}
	if class == classMemory {
		return Reserved{Amount: min(defaultReservedMB, total)}
	}
	return Reserved{}
}
