package draw

import (
	"cmp"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// ConsumerChange is a consumer whose project, user, type or lease changes.
type ConsumerChange struct {
	Consumer uuid.UUID     `json:"consumer_uuid"`
	Fields   []OwnerChange `json:"fields"`
}

// OwnerChange is the change of one field of a consumer; Field is "project", "user", "type" or "lease".
type OwnerChange struct {
	Field string `json:"field"`
	From  string `json:"from"`
	To    string `json:"to"`
}

// NameChange is an added or removed name; Kind is "resource class" or "trait".
type NameChange struct {
	Change string `json:"change"`
	Kind   string `json:"kind"`
	Name   string `json:"name"`
}

// owners draws the changed fields of consumers. first is set if nothing is drawn above them.
func (d *difference) owners(first bool) {
	if len(d.Consumers) == 0 {
		return
	}
	if !first {
		d.put(nil)
	}
	d.put(line{{"Consumers that change:", bold}})
	for _, changed := range d.Consumers {
		d.put(line{{"  " + changed.Consumer.String(), bold}})
		for _, field := range changed.Fields {
			text := field.Field + " " + d.safe(field.From) + " " + d.arrow + " " + d.safe(field.To)
			d.put(line{{"    " + text, plain}})
		}
	}
}

// resourceNames draws the added and removed names. first is set if nothing is drawn above them.
func (d *difference) resourceNames(first bool) {
	if len(d.Names) == 0 {
		return
	}
	if !first {
		d.put(nil)
	}
	for _, name := range d.sortedNames() {
		m := markOf(name.Change)
		d.put(m.gutter(line{{name.Kind + " " + d.safe(name.Name), m.paint}}))
	}
}

func (c *Changes) sortedNames() []NameChange {
	return slices.SortedFunc(slices.Values(c.Names), func(x, y NameChange) int {
		return cmp.Or(cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Name, y.Name))
	})
}

// summaryOfNames returns the number of changed names of each kind, for example "1 resource class added".
func (c *Changes) summaryOfNames() []string {
	var parts []string
	for _, kind := range []struct{ name, plural string }{{"resource class", "resource classes"}, {"trait", "traits"}} {
		counts := map[string]int{}
		for _, name := range c.Names {
			if name.Kind == kind.name {
				counts[name.Change]++
			}
		}
		var texts []string
		for _, change := range []string{Added, Removed} {
			n := counts[change]
			switch {
			case n == 0:
			case len(texts) > 0:
				texts = append(texts, count(n)+" "+change)
			case n == 1:
				texts = append(texts, "1 "+kind.name+" "+change)
			default:
				texts = append(texts, count(n)+" "+kind.plural+" "+change)
			}
		}
		if len(texts) > 0 {
			parts = append(parts, strings.Join(texts, ", "))
		}
	}
	return parts
}
