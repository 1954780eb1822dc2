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

// Layout is the distribution of the resources of a host over the provider tree.
type Layout string

const (
	// Flat reports CPUs, memory and the disk on the root provider of the node.
	Flat Layout = "flat"
	// NUMA reports CPUs and memory on a child provider per NUMA node, and the disk on the root provider. CPU traits are
	// on both: queries may require them of the provider of VCPU or PCPU, or of the root.
	NUMA Layout = "numa"
)

// check returns an error for an unknown layout.
func (l Layout) check() error {
	if l != Flat && l != NUMA {
		return fmt.Errorf("layout: %q is neither flat nor numa", string(l))
	}
	return nil
}

// Config is the configuration by the operator. docs/agent.example.yaml has all its settings.
type Config struct {
	// Node is the name of the host's root provider, for the caller of the driver.
	Node string `yaml:"node"`
	// Layout is Flat if empty.
	Layout Layout `yaml:"layout"`
	CPUs   struct {
		// Dedicated CPUs are reported as PCPU, Shared CPUs as VCPU. A nil Shared means all
		// CPUs that are not dedicated, an empty one means none.
		Dedicated CPUSet `yaml:"dedicated"`
		Shared    CPUSet `yaml:"shared"`
	} `yaml:"cpus"`
	Disk struct {
		// Path is a path on the file system whose size is reported as DISK_GB; empty: "/".
		Path string `yaml:"path"`
		// TotalGB overrides the size; 0 reports no disk.
		TotalGB *int64 `yaml:"total_gb"`
	} `yaml:"disk"`
	// Reserved is the reserved part of CPUs, memory, huge pages and the disk, by class; 512 of MEMORY_MB by default.
	Reserved map[string]Reserved `yaml:"reserved"`
	// Ratios are allocation ratios by class. The driver enforces these ratios. Other classes start with 4.0 for VCPU and
	// 1.0 otherwise, and the driver keeps ratios that a client changed on the server.
	Ratios map[string]float64 `yaml:"ratios"`
	// Devices are rules for PCI devices; the first matching rule decides.
	Devices []Rule `yaml:"devices"`
	// DefaultDevices reports GPUs and virtual functions of network cards that match no rule; nil: true.
	DefaultDevices *bool `yaml:"default_devices"`
	// Providers has extra traits, aggregates and inventories by provider name, in which {node} is replaced by the name
	// of the root.
	Providers map[string]Extra `yaml:"providers"`
}

// Reserved is an amount for the whole host, or one for each NUMA node.
type Reserved struct {
	// Amount is divided equally among the NUMA nodes in the layout NUMA.
	Amount int64
	// Nodes overrides Amount if it is not nil. Its sum is used in the layout Flat.
	Nodes map[int]int64
}

// UnmarshalYAML parses a number or a map of numbers.
func (r *Reserved) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.MappingNode {
		if err := node.Decode(&r.Nodes); err != nil {
			return fmt.Errorf("line %d: invalid amounts per NUMA node; write for example {0: 1024, 1: 512}", node.Line)
		}
	} else if err := node.Decode(&r.Amount); err != nil {
		return fmt.Errorf("line %d: %q is not an amount; write a number, or amounts per NUMA node, for example {0: 1024, 1: 512}", node.Line, node.Value)
	}
	for _, amount := range append(slices.Collect(maps.Values(r.Nodes)), r.Amount) {
		if amount < 0 {
			return fmt.Errorf("line %d: a reserved amount cannot be negative", node.Line)
		}
	}
	return nil
}

// sum returns the amount for the whole host.
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
	// Class is a prefix of the PCI class: 03 matches any display controller, 0302 a 3D
	// controller.
	Class string `yaml:"class"`
	// Address is a pattern for the PCI address, for example 0000:3b:00.* (see path.Match).
	Address string `yaml:"address"`

	// Ignore excludes the device.
	Ignore bool `yaml:"ignore"`
	// ResourceClass replaces the default class of the device.
	ResourceClass string `yaml:"resource_class"`
	// MediatedType is the mediated device type (mdev) whose instances are reported as VGPU.
	MediatedType string   `yaml:"mediated_type"`
	Traits       []string `yaml:"traits"`
}

// matches reports whether a device matches all fields of the rule.
func (r Rule) matches(device Device) bool {
	if ok, err := path.Match(r.Address, device.Address); r.Address != "" && (err != nil || !ok) {
		return false
	}
	return (r.Vendor == "" || strings.EqualFold(r.Vendor, device.Vendor)) &&
		(r.Product == "" || strings.EqualFold(r.Product, device.Product)) &&
		strings.HasPrefix(device.Class, strings.ToLower(r.Class))
}

// Extra is a set of additional traits, aggregates and inventories of a provider. The driver adds them and never removes
// them: an operator removes them with requests to the server.
type Extra struct {
	Traits      []string          `yaml:"traits"`
	Aggregates  []Aggregate       `yaml:"aggregates"`
	Inventories map[string]Record `yaml:"inventories"`
}

// aggregates returns the UUIDs of the aggregates.
func (e Extra) aggregates() []uuid.UUID {
	var all []uuid.UUID
	for _, aggregate := range e.Aggregates {
		all = append(all, aggregate.UUID)
	}
	return all
}

// Aggregate is the UUID of an aggregate.
type Aggregate struct{ uuid.UUID }

// UnmarshalYAML parses the UUID.
func (a *Aggregate) UnmarshalYAML(node *yaml.Node) (err error) {
	if a.UUID, err = uuid.Parse(node.Value); err != nil {
		return fmt.Errorf("line %d: the aggregate %q is not a UUID", node.Line, node.Value)
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

// LoadConfig reads a configuration file. It returns all errors joined, syntax errors with their lines.
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

// unknownField matches the parser's message for an unknown key, which contains the name of a Go type.
var unknownField = regexp.MustCompile(`field (\S+) not found in type \S+`)

// ParseConfig parses a configuration. An empty text is a valid configuration.
func ParseConfig(content []byte) (*Config, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	decoder.KnownFields(true)
	config := &Config{}
	err := decoder.Decode(config)
	var typeErrors *yaml.TypeError
	switch {
	case errors.As(err, &typeErrors):
		lines := make([]string, len(typeErrors.Errors))
		for i, line := range typeErrors.Errors {
			lines[i] = unknownField.ReplaceAllString(line, `unknown setting "$1"`)
		}
		return nil, errors.New(strings.Join(lines, "\n"))
	case err != nil && !errors.Is(err, io.EOF):
		return nil, err
	}
	if err := decoder.Decode(&yaml.Node{}); !errors.Is(err, io.EOF) {
		return nil, errors.New("the file contains more than one YAML document; write one configuration per file")
	}
	if err := config.check(); err != nil {
		return nil, err
	}
	return config, nil
}

// check validates the values and returns all errors.
func (c *Config) check() error {
	var errs []error
	addf := func(text string, values ...any) { errs = append(errs, fmt.Errorf(text, values...)) }
	if c.Layout != "" {
		errs = append(errs, c.Layout.check())
	}
	for _, cpu := range c.CPUs.Dedicated {
		if slices.Contains(c.CPUs.Shared, cpu) {
			addf("cpus: CPU %d is both dedicated and shared; remove it from one list", cpu)
		}
	}
	if total := c.Disk.TotalGB; total != nil && (*total < 0 || *total > maxTotal) {
		addf("disk.total_gb: %d is not between 0 and %d", *total, maxTotal)
	}
	for class, reserved := range c.Reserved {
		if !isNodeClass(class) && class != classDisk {
			addf("reserved: %s cannot be reserved; choose from VCPU, PCPU, MEMORY_MB, DISK_GB and CUSTOM_MEMORY_HUGEPAGES_…", class)
		} else if class == classDisk && reserved.Nodes != nil {
			addf("reserved.DISK_GB: the disk belongs to no NUMA node; write one number")
		}
	}
	for class, ratio := range c.Ratios {
		if !validName.MatchString(class) || ratio <= 0 {
			addf("ratios: %s: %g is invalid; write the name of a resource class and a number above 0", class, ratio)
		}
	}
	for i, rule := range c.Devices {
		errs = append(errs, rule.check(i+1)...)
	}
	for name, extra := range c.Providers {
		errs = append(errs, extra.check(name)...)
	}
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(errs...)
}

// check validates the rule with a number and returns all errors.
func (r Rule) check(number int) (errs []error) {
	addf := func(text string, values ...any) {
		errs = append(errs, fmt.Errorf("devices, rule %d: "+text, append([]any{number}, values...)...))
	}
	if r.Vendor == "" && r.Product == "" && r.Class == "" && r.Address == "" {
		addf("the rule has no condition; set at least one of vendor, product, class and address")
	}
	if _, err := path.Match(r.Address, ""); err != nil {
		addf("address %q is not a valid pattern: %w", r.Address, err)
	}
	if r.ResourceClass != "" && (!validName.MatchString(r.ResourceClass) || isNodeClass(r.ResourceClass) || r.ResourceClass == classDisk) {
		addf("resource_class %q is not valid for a device; write a standard class, or CUSTOM_ with capital letters, digits and _", r.ResourceClass)
	}
	for _, trait := range r.Traits {
		if !validName.MatchString(trait) {
			addf("invalid trait %q; use capital letters, digits and _", trait)
		}
	}
	return errs
}

// check validates the extras of a provider and returns all errors.
func (e Extra) check(name string) (errs []error) {
	addf := func(text string, values ...any) {
		errs = append(errs, fmt.Errorf("providers.%s: "+text, append([]any{name}, values...)...))
	}
	for _, trait := range e.Traits {
		if !validName.MatchString(trait) {
			addf("invalid trait %q; use capital letters, digits and _", trait)
		}
	}
	for class, record := range e.Inventories {
		switch {
		case !validName.MatchString(class):
			addf("invalid resource class %q; use capital letters, digits and _", class)
		case isNodeClass(class) || slices.Contains([]string{classDisk, classPGPU, classVGPU, classVF}, class):
			addf("the agent discovers the inventory of %s; it cannot be configured", class)
		case record.Total < 1:
			addf("inventory of %s: the total must be at least 1", class)
		}
	}
	return errs
}

// maxTotal is the maximum total of an inventory.
const maxTotal = 1<<31 - 1

// isNodeClass reports whether the layout NUMA has the class on the providers of NUMA nodes.
func isNodeClass(class string) bool {
	return class == classVCPU || class == classPCPU || class == classMemory || isHugePages(class)
}

// ratio returns the initial allocation ratio of a class, and whether the driver enforces it.
func (c *Config) ratio(class string) (ratio float64, enforced bool) {
	if ratio, enforced = c.Ratios[class]; enforced {
		return ratio, true
	}
	if class == classVCPU {
		return 4, false
	}
	return 1, false
}

// defaultReservedMB is the default of reserved for MEMORY_MB.
const defaultReservedMB = 512

// reserved returns the reserved amount of a class with a total.
func (c *Config) reserved(class string, total int64) Reserved {
	if reserved, configured := c.Reserved[class]; configured {
		return reserved
	}
	if class == classMemory {
		return Reserved{Amount: min(defaultReservedMB, total)}
	}
	return Reserved{}
}
