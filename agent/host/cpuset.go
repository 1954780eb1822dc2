package host

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// CPUSet is a sorted list of CPUs. In YAML and JSON it is a text in the kernel's list format, for example 4-15,20.
type CPUSet []int

// UnmarshalYAML parses the list. "none" is an empty list, an empty text is nil.
func (s *CPUSet) UnmarshalYAML(node *yaml.Node) error {
	if node.Value == "none" {
		*s = CPUSet{}
		return nil
	}
	if node.Kind != yaml.ScalarNode {
		return fmt.Errorf("line %d: a CPU list must be a text, for example 4-15,20", node.Line)
	}
	cpus, err := ParseCPUs(node.Value)
	if err != nil {
		return fmt.Errorf("line %d: %w", node.Line, err)
	}
	*s = cpus
	return nil
}

// MarshalText returns the list in the kernel's format.
func (s CPUSet) MarshalText() ([]byte, error) { return []byte(formatCPUs(s)), nil }

// UnmarshalText parses a list in the kernel's format.
func (s *CPUSet) UnmarshalText(text []byte) (err error) {
	*s, err = ParseCPUs(string(text))
	return err
}

// maxCPUs limits CPU numbers, and so the length of a list. The kernel's limit is lower.
const maxCPUs = 1 << 16

// ParseCPUs parses a list in the kernel's format, for example "4-15,20". It returns a sorted list without duplicates;
// nil for an empty text.
func ParseCPUs(list string) ([]int, error) {
	var all []int
	for part := range strings.SplitSeq(strings.TrimSpace(list), ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			if strings.TrimSpace(list) == "" {
				return nil, nil
			}
			return nil, fmt.Errorf("CPU list %q: an element is empty; write for example 4-15,20", list)
		}
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		from, err := strconv.Atoi(strings.TrimSpace(first))
		to, err2 := strconv.Atoi(strings.TrimSpace(last))
		if err != nil || err2 != nil || from < 0 || to < from || to >= maxCPUs {
			return nil, fmt.Errorf("CPU list %q: %q is neither a CPU number nor an ascending range; write for example 4-15,20", list, part)
		}
		for cpu := from; cpu <= to; cpu++ {
			all = append(all, cpu)
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// formatCPUs returns a list in the kernel's format.
func formatCPUs(cpus []int) string {
	var parts []string
	for i := 0; i < len(cpus); {
		end := i
		for end+1 < len(cpus) && cpus[end+1] == cpus[end]+1 {
			end++
		}
		if part := strconv.Itoa(cpus[i]); end == i {
			parts = append(parts, part)
		} else {
			parts = append(parts, part+"-"+strconv.Itoa(cpus[end]))
		}
		i = end + 1
	}
	return strings.Join(parts, ",")
}

func number(value int64) string { return strconv.FormatInt(value, 10) }
