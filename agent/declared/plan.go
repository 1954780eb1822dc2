// Package declared reshapes by a file: an operator writes down which resource
// class of which provider moves where, and which consumer has how much of it, and
// the package makes it so. A Plan is a driver in the sense of package agent.
//
// A file is YAML, or JSON, which is YAML too. It has one document for each host:
//
//	root: compute-1              # a root provider, by name or uuid
//	moves:
//	  - class: VGPU
//	    from: compute-1          # left out: the root
//	    to:                      # what the destinations have afterwards
//	      compute-1_gpu0: {total: 2}
//	      compute-1_gpu1: {total: 2}
//	    consumers:
//	      6f0c1d8e-5a0b-4c6f-9d8a-3c1f6b0e7a21: {compute-1_gpu0: 1}
//	  - class: VCPU
//	    as: PCPU                 # another class, here in place, since to is missing
//	    consumers: all
//	providers:                   # for those that need more than a name
//	  compute-1_gpu0: {parent: compute-1, traits: [CUSTOM_A100]}
//	remove: [compute-1_old]
//
// Destinations that do not exist become children of the provider that the class
// comes from, or of the root if that one is removed, unless providers says
// otherwise. With keep: {total: 4} the source
// keeps some of the class, and consumers that the table leaves out stay there.
// Instead of a table, consumers is all (to the only destination), a list of uuids
// (these, with all that they have, to the only destination), or spread: to where
// room is, the biggest first, whole where that is possible.
//
// A plan is carried out or it is not; it never asks a host what is true there.
// That is package host's.
package declared

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

// Plan is what a file says.
type Plan struct {
	Hosts []*Host
}

// Host is what is to become of the tree of one host. Providers are named by name
// or by uuid throughout.
type Host struct {
	Root  string  `yaml:"root"`
	Moves []*Move `yaml:"moves,omitempty"`
	// Providers are created if they are missing, and have at least these traits
	// and aggregates.
	Providers map[string]*Provider `yaml:"providers,omitempty"`
	// Remove names providers that have no inventory when all is moved.
	Remove []string `yaml:"remove,omitempty,flow"`
}

// Move takes a resource class away from a provider.
type Move struct {
	Class string `yaml:"class"`
	// As is the class at the destinations. Load sets it to Class if it is left out.
	As string `yaml:"as,omitempty"`
	// From is the source. Load sets it to the root if it is left out.
	From string `yaml:"from"`
	// Keep is what stays at the source; nil: nothing.
	Keep *Record `yaml:"keep,omitempty"`
	// To has the inventories of the destinations as they are afterwards. A nil
	// record is the one that the source has now.
	To map[string]*Record `yaml:"to,omitempty"`
	// Consumers says whose units go where.
	Consumers Consumers `yaml:"consumers,omitempty"`
}

// Provider is what a provider needs beside its name.
type Provider struct {
	// Parent of one that is created; empty: the source of the move to it, or the
	// root.
	Parent string `yaml:"parent,omitempty"`
	// UUID of one that is created; nil: a random one.
	UUID *uuid.UUID `yaml:"uuid,omitempty"`
	// Traits and Aggregates are added, those of the other two lists taken away.
	Traits            []string    `yaml:"traits,omitempty,flow"`
	WithoutTraits     []string    `yaml:"without_traits,omitempty,flow"`
	Aggregates        []uuid.UUID `yaml:"aggregates,omitempty,flow"`
	WithoutAggregates []uuid.UUID `yaml:"without_aggregates,omitempty,flow"`
}

// Record is an inventory record in the words of the API.
type Record struct {
	Total           int32    `yaml:"total"`
	Reserved        *int32   `yaml:"reserved,omitempty"`
	MinUnit         *int32   `yaml:"min_unit,omitempty"`
	MaxUnit         *int32   `yaml:"max_unit,omitempty"`
	StepSize        *int32   `yaml:"step_size,omitempty"`
	AllocationRatio *float64 `yaml:"allocation_ratio,omitempty"`
}

// Consumers says where the units of consumers go. The zero value is an empty table.
type Consumers struct {
	// All moves everybody to the only destination; Spread finds room.
	All, Spread bool
	// Each has amounts by consumer and destination; Only lists those that move to
	// the only destination with all that they have.
	Each map[uuid.UUID]map[string]int64
	Only []uuid.UUID
}

// MarshalYAML leaves out what Load would add.
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

// MarshalYAML writes a record into one line.
func (r *Record) MarshalYAML() (any, error) {
	type plain Record
	node := &yaml.Node{}
	err := node.Encode((*plain)(r))
	node.Style = yaml.FlowStyle
	return node, err
}

// IsZero tells YAML to leave an empty table out.
func (c Consumers) IsZero() bool {
	return !c.All && !c.Spread && len(c.Each) == 0 && len(c.Only) == 0
}

// MarshalYAML writes the form that Load reads.
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

// Roots are the roots of the hosts, as the file spells them.
func (p *Plan) Roots() []string {
	roots := make([]string, len(p.Hosts))
	for i, host := range p.Hosts {
		roots[i] = host.Root
	}
	return roots
}

// Encode writes a plan as a file that Load reads; the note becomes its comment.
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

// recordOf and inventory turn records into those of the client and back.
func recordOf(from client.InventoryRecord) *Record {
	return &Record{
		Total: from.Total, Reserved: from.Reserved, MinUnit: from.MinUnit, MaxUnit: from.MaxUnit,
		StepSize: from.StepSize, AllocationRatio: from.AllocationRatio,
	}
}

func (r *Record) inventory() client.InventoryRecord {
	return client.InventoryRecord{
		Total: r.Total, Reserved: r.Reserved, MinUnit: r.MinUnit, MaxUnit: r.MaxUnit,
		StepSize: r.StepSize, AllocationRatio: r.AllocationRatio,
	}
}
