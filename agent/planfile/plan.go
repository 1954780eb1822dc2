// Package planfile reshapes the trees of hosts by a plan file, which lists the inventories to move, their destinations,
// and the share of each consumer. A Plan is an agent.Driver.
//
// A file is YAML, or JSON, which is YAML too. It has one document for each host:
//
//	root: compute-1              # a root provider, by name or UUID
//	moves:
//	  - class: VGPU
//	    from: compute-1          # default: the root
//	    to:                      # the inventories of the destinations after the move
//	      compute-1_gpu0: {total: 2}
//	      compute-1_gpu1: {total: 2}
//	    consumers:
//	      6f0c1d8e-5a0b-4c6f-9d8a-3c1f6b0e7a21: {compute-1_gpu0: 1}
//	  - class: VCPU
//	    as: PCPU                 # another class; without to, on the same provider
//	    consumers: all
//	providers:                   # parents, UUIDs, traits and aggregates
//	  compute-1_gpu0: {parent: compute-1, traits: [CUSTOM_A100]}
//	remove: [compute-1_old]
//
// Missing destinations are created below the source, or below the root if the plan removes the source, unless providers
// declares another parent. With keep: {total: 4} the source keeps this inventory, and consumers that are not in the
// table keep their allocations. Instead of a table, consumers can be:
//
//   - all: all consumers move to the only destination.
//   - a list of UUIDs: these consumers move to the only destination with all their allocations of the class.
//   - spread: consumers move to destinations with free capacity, the largest first, undivided if possible.
//
// The package applies a plan completely or not at all. It is not for the hardware of a host, which package host
// discovers.
package planfile

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"
	"go.yaml.in/yaml/v3"

	"github.com/berthd/berth/client"
)

// Plan is the content of a plan file. It is an agent.Driver.
type Plan struct {
	Hosts []*Host
}

// Host is the plan for the tree of one host. It names providers by name or UUID.
type Host struct {
	Root  string  `yaml:"root"`
	Moves []*Move `yaml:"moves,omitempty"`
	// Providers declares providers, which are created if they are missing.
	Providers map[string]*Provider `yaml:"providers,omitempty"`
	// Remove lists the providers to remove, which must have no inventory after the moves.
	Remove []string `yaml:"remove,omitempty,flow"`
}

// Move is the move of a resource class away from a provider.
type Move struct {
	Class string `yaml:"class"`
	// As is the class at the destinations. Load sets it to Class if it is missing.
	As string `yaml:"as,omitempty"`
	// From is the source. Load sets it to the root if it is missing.
	From string `yaml:"from"`
	// Keep is the inventory that stays at the source; nil: none.
	Keep *Record `yaml:"keep,omitempty"`
	// To has the inventories of the destinations after the move. A nil record means the inventory of the source before
	// the move.
	To map[string]*Record `yaml:"to,omitempty"`
	// Consumers selects the destinations of the allocations.
	Consumers Consumers `yaml:"consumers,omitempty"`
}

// Provider is the declaration of a provider.
type Provider struct {
	// Parent is the parent of a created provider; empty: the source of the move to it, or the root.
	Parent string `yaml:"parent,omitempty"`
	// UUID is the UUID of a created provider; nil: a random one.
	UUID *uuid.UUID `yaml:"uuid,omitempty"`
	// Traits and Aggregates are added; WithoutTraits and WithoutAggregates are removed.
	Traits            []string    `yaml:"traits,omitempty,flow"`
	WithoutTraits     []string    `yaml:"without_traits,omitempty,flow"`
	Aggregates        []uuid.UUID `yaml:"aggregates,omitempty,flow"`
	WithoutAggregates []uuid.UUID `yaml:"without_aggregates,omitempty,flow"`
}

// Record is an inventory with the member names of the API.
type Record struct {
	Total           int32    `yaml:"total"`
	Reserved        *int32   `yaml:"reserved,omitempty"`
	MinUnit         *int32   `yaml:"min_unit,omitempty"`
	MaxUnit         *int32   `yaml:"max_unit,omitempty"`
	StepSize        *int32   `yaml:"step_size,omitempty"`
	AllocationRatio *float64 `yaml:"allocation_ratio,omitempty"`
}

// Consumers is the table of destinations by consumer, or a rule instead of it. The zero value is an empty table.
type Consumers struct {
	// All moves all consumers to the only destination; Spread distributes them by free capacity.
	All, Spread bool
	// Each has amounts by consumer and destination; Only lists the consumers that move to the only destination with all
	// of their allocations.
	Each map[uuid.UUID]map[string]int64
	Only []uuid.UUID
}

// MarshalYAML omits values that Load adds.
func (m *Move) MarshalYAML() (any, error) {
	type plain Move
	written := plain(*m)
	if written.As == written.Class {
		written.As = ""
	}
	if record, inPlace := m.To[m.From]; inPlace && record == nil {
		written.To = nil
	}
	return written, nil
}

// MarshalYAML returns a record as one line.
func (r *Record) MarshalYAML() (any, error) {
	type plain Record
	node := &yaml.Node{}
	err := node.Encode((*plain)(r))
	node.Style = yaml.FlowStyle
	return node, err
}

// IsZero reports whether the table is empty, so that YAML omits it.
func (c Consumers) IsZero() bool {
	return !c.All && !c.Spread && len(c.Each) == 0 && len(c.Only) == 0
}

// MarshalYAML returns the form that Load reads.
func (c Consumers) MarshalYAML() (any, error) {
	switch {
	case c.All:
		return "all", nil
	case c.Spread:
		return "spread", nil
	case len(c.Only) > 0:
		return c.Only, nil
	}
	table := &yaml.Node{Kind: yaml.MappingNode}
	consumers := slices.SortedFunc(maps.Keys(c.Each), func(x, y uuid.UUID) int { return bytes.Compare(x[:], y[:]) })
	for _, consumer := range consumers {
		shares := &yaml.Node{Style: yaml.FlowStyle}
		if err := shares.Encode(c.Each[consumer]); err != nil {
			return nil, err
		}
		shares.Style = yaml.FlowStyle
		table.Content = append(table.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: consumer.String()}, shares)
	}
	return table, nil
}

// Roots returns the roots of the hosts, as in the file.
func (p *Plan) Roots() []string {
	roots := make([]string, len(p.Hosts))
	for i, host := range p.Hosts {
		roots[i] = host.Root
	}
	return roots
}

// Encode writes the plan as YAML for Load, with the note as a comment at the beginning.
func (p *Plan) Encode(to io.Writer, note string) error {
	for line := range strings.Lines(note) {
		if _, err := fmt.Fprintf(to, "# %s\n", strings.TrimSuffix(line, "\n")); err != nil {
			return err
		}
	}
	encoder := yaml.NewEncoder(to)
	encoder.SetIndent(2)
	for _, host := range p.Hosts {
		if err := encoder.Encode(host); err != nil {
			return err
		}
	}
	return encoder.Close()
}

// recordOf converts an inventory of the client.
func recordOf(from client.InventoryRecord) *Record {
	return &Record{
		Total: from.Total, Reserved: from.Reserved, MinUnit: from.MinUnit, MaxUnit: from.MaxUnit,
		StepSize: from.StepSize, AllocationRatio: from.AllocationRatio,
	}
}

// inventory converts the record to an inventory of the client.
func (r *Record) inventory() client.InventoryRecord {
	return client.InventoryRecord{
		Total: r.Total, Reserved: r.Reserved, MinUnit: r.MinUnit, MaxUnit: r.MaxUnit,
		StepSize: r.StepSize, AllocationRatio: r.AllocationRatio,
	}
}
