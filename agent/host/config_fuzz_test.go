package host

import (
	"slices"
	"testing"
)

// FuzzCPUs checks that ParseCPUs returns sorted lists without duplicates, which formatCPUs converts to an equivalent
// text.
func FuzzCPUs(f *testing.F) {
	for _, seed := range []string{"", "4-15,20", "20,4", "0-65536", "1-0", "-1", "0-99999999999999999999", " 1 , 2 ", "1,,2", "0x1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, list string) {
		cpus, err := ParseCPUs(list)
		if err != nil {
			return
		}
		if !slices.IsSorted(cpus) || len(slices.Compact(slices.Clone(cpus))) != len(cpus) {
			t.Fatalf("ParseCPUs(%q) = %v, want a sorted list without duplicates", list, cpus)
		}
		if again, err := ParseCPUs(formatCPUs(cpus)); err != nil || !slices.Equal(again, cpus) {
			t.Errorf("%q: %d CPUs, formatted as %q and parsed as %v, %v", list, len(cpus), formatCPUs(cpus), again, err)
		}
	})
}

// FuzzConfig checks that ParseConfig returns either a configuration or an error with a text.
func FuzzConfig(f *testing.F) {
	for _, seed := range []string{"", "{}", "x: 1", "- a", "a: &a [*a]", "? {a: b}\n: c", "\xff", "reserved: {cpus: 0-1}", "!!binary x"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		if config, err := ParseConfig(content); (config == nil) == (err == nil) || err != nil && err.Error() == "" {
			t.Errorf("ParseConfig(%q) = %v, %v", content, config, err)
		}
	})
}
