package bruteforce

import (
	"crypto/sha1"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// ID returns the UUID of a named provider or aggregate.
func ID(name string) string {
	sum := sha1.Sum([]byte(name))
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}

// sharingShort is the abbreviation of Sharing in the notation.
const sharingShort = "SHARES"

// Unlimited is the default max_unit of an inventory.
const Unlimited = 1<<31 - 1

// NewInventory returns an inventory with default values.
func NewInventory(total int64) Inventory {
	return Inventory{Total: total, MinUnit: 1, MaxUnit: Unlimited, StepSize: 1, Ratio: 1}
}

// ParseDeployment parses the notation of the worked examples in the contract: trees by indentation,
// one line per provider, and lines with usages.
//
//	cn  VCPU=4(reserved=1) MEMORY_MB=64  traits:CUSTOM_FAST  aggs:A,B
//	  nic  SRIOV_NET_VF=8
//	used: cn VCPU:2
func ParseDeployment(text string) (*Deployment, error) {
	parsed := &Deployment{Aggregates: map[string]string{}}
	var above []*Provider // by depth
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if words[0] == "used:" {
			if err := parsed.readUsed(words[1:]); err != nil {
				return nil, err
			}
			continue
		}
		depth := (len(line) - len(strings.TrimLeft(line, " "))) / 2
		if depth > len(above) {
			return nil, fmt.Errorf("no parent for %s", words[0])
		}
		provider := &Provider{UUID: ID(words[0]), Name: words[0], Inventories: map[string]Inventory{}, Used: map[string]int64{}}
		if depth > 0 {
			provider.Parent = above[depth-1].Name
		}
		above = append(above[:depth], provider)
		for _, word := range words[1:] {
			if err := parsed.readWord(provider, word); err != nil {
				return nil, fmt.Errorf("%s: %w", words[0], err)
			}
		}
		parsed.Providers = append(parsed.Providers, provider)
		provider.Number = len(parsed.Providers)
	}
	return parsed, nil
}

// readUsed parses the rest of a line such as "used: p VCPU:4 DISK_GB:1".
func (d *Deployment) readUsed(words []string) error {
	provider := d.Named(words[0])
	if provider == nil {
		return fmt.Errorf("used: no provider %s", words[0])
	}
	for _, word := range words[1:] {
		class, amount, _ := strings.Cut(word, ":")
		used, err := strconv.ParseInt(amount, 10, 64)
		if err != nil {
			return err
		}
		provider.Used[class] = used
	}
	return nil
}

// readWord parses one inventory, trait list or aggregate list of a provider.
func (d *Deployment) readWord(provider *Provider, word string) error {
	if list, ok := strings.CutPrefix(word, "traits:"); ok {
		for trait := range strings.SplitSeq(list, ",") {
			if trait == sharingShort {
				trait = Sharing
			}
			provider.Traits = append(provider.Traits, trait)
		}
		return nil
	}
	if list, ok := strings.CutPrefix(word, "aggs:"); ok {
		for name := range strings.SplitSeq(list, ",") {
			d.Aggregates[ID(name)] = name
			provider.Aggregates = append(provider.Aggregates, ID(name))
		}
		return nil
	}
	class, text, _ := strings.Cut(word, "=")
	amount, options, _ := strings.Cut(strings.TrimSuffix(text, ")"), "(")
	total, err := strconv.ParseInt(amount, 10, 64)
	if err != nil {
		return err
	}
	inventory := NewInventory(total)
	for option := range strings.SplitSeq(options, ",") {
		if err := inventory.readOption(option); err != nil {
			return err
		}
	}
	provider.Inventories[class] = inventory
	return nil
}

func (i *Inventory) readOption(option string) (err error) {
	name, value, _ := strings.Cut(option, "=")
	switch name {
	case "":
	case "allocation_ratio":
		i.Ratio, err = strconv.ParseFloat(value, 64)
	default:
		field := i.fields()[name]
		if field == nil {
			return fmt.Errorf("no inventory has a %s", name)
		}
		*field, err = strconv.ParseInt(value, 10, 64)
	}
	return err
}

// fields are the integer fields that the notation omits at their default values.
func (i *Inventory) fields() map[string]*int64 {
	return map[string]*int64{"reserved": &i.Reserved, "min_unit": &i.MinUnit, "max_unit": &i.MaxUnit, "step_size": &i.StepSize}
}

// String returns the notation that ParseDeployment parses.
func (d *Deployment) String() string {
	var b strings.Builder
	var write func(parent, indent string)
	write = func(parent, indent string) {
		for _, provider := range d.Providers {
			if provider.Parent == parent {
				b.WriteString(indent + d.line(provider) + "\n")
				write(provider.Name, indent+"  ")
			}
		}
	}
	write("", "")
	for _, provider := range d.Providers {
		if len(provider.Used) == 0 {
			continue
		}
		b.WriteString("used: " + provider.Name)
		for _, class := range slices.Sorted(maps.Keys(provider.Used)) {
			fmt.Fprintf(&b, " %s:%d", class, provider.Used[class])
		}
		b.WriteString("\n")
	}
	return b.String()
}

// line returns the line of one provider.
func (d *Deployment) line(provider *Provider) string {
	words := []string{provider.Name}
	for _, class := range slices.Sorted(maps.Keys(provider.Inventories)) {
		words = append(words, class+"="+provider.Inventories[class].String())
	}
	if len(provider.Traits) > 0 {
		words = append(words, "traits:"+strings.ReplaceAll(strings.Join(provider.Traits, ","), Sharing, sharingShort))
	}
	if len(provider.Aggregates) > 0 {
		var names []string
		for _, uuid := range provider.Aggregates {
			names = append(names, d.Aggregates[uuid])
		}
		words = append(words, "aggs:"+strings.Join(names, ","))
	}
	return strings.Join(words, "  ")
}

// String omits default values.
func (i Inventory) String() string {
	usual := NewInventory(i.Total)
	var options []string
	for _, name := range slices.Sorted(maps.Keys(usual.fields())) {
		if value := *i.fields()[name]; value != *usual.fields()[name] {
			options = append(options, fmt.Sprintf("%s=%d", name, value))
		}
	}
	if i.Ratio != usual.Ratio {
		options = append(options, "allocation_ratio="+strconv.FormatFloat(i.Ratio, 'g', -1, 64))
	}
	if options == nil {
		return strconv.FormatInt(i.Total, 10)
	}
	return fmt.Sprintf("%d(%s)", i.Total, strings.Join(options, ","))
}

// Expand replaces {name} in a query by the UUID of the provider or aggregate.
func Expand(query string) string {
	for {
		before, rest, found := strings.Cut(query, "{")
		if !found {
			return query
		}
		name, after, _ := strings.Cut(rest, "}")
		query = before + ID(name) + after
	}
}
