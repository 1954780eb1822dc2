package apicommand

import (
	"maps"
	"strings"
	"testing"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/frame"
)

// TestCLI_AmountsWithColonOrEquals_AreEqual parses both notations of an amount with the parser of each flag.
func TestCLI_AmountsWithColonOrEquals_AreEqual(t *testing.T) {
	t.Parallel()
	want := client.Resources{"VCPU": 4, "MEMORY_MB": 512}
	for _, text := range []string{"VCPU:4,MEMORY_MB:512", "VCPU=4,MEMORY_MB=512", "VCPU=4,MEMORY_MB:512"} {
		got, err := parseResources("resources", text)
		if err != nil || !maps.Equal(got, want) {
			t.Errorf("parseResources(%q) = %v, %v, want %v", text, got, err, want)
		}
		if got, err := queryAmounts("resources", text); err != nil || got != "VCPU:4,MEMORY_MB:512" {
			t.Errorf("queryAmounts(%q) = %q, %v", text, got, err)
		}
		group, err := parseGroup("_A:resources="+text+";in-tree=x", aggregateNames{})
		if err != nil || group.Resources != "VCPU:4,MEMORY_MB:512" {
			t.Errorf("parseGroup(%q) = %q, %v", text, group.Resources, err)
		}
	}
	for _, text := range []string{"VCPU=4", "VCPU:4", "VCPU:total=4"} {
		edits, err := parseInventoryEdits([]string{text})
		if err != nil || len(edits) != 1 {
			t.Fatalf("parseInventoryEdits(%q) = %v, %v, want the total of VCPU", text, edits, err)
		}
		var record client.InventoryRecord
		if edits["VCPU"].set(&record); record.Total != 4 {
			t.Errorf("parseInventoryEdits(%q) sets the total %d, want 4", text, record.Total)
		}
	}
	for _, text := range []string{"VCPU", "VCPU:", "VCPU:reserved", ":4", "=4", "VCPU:4=5"} {
		if _, err := parseInventoryEdit(text); err == nil {
			t.Errorf("parseInventoryEdit(%q) = nil error", text)
		}
	}
}

// TestCLI_InvalidValues_NameTheFlag parses values that the service would reject with its own words.
func TestCLI_InvalidValues_NameTheFlag(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"VCPU", "VCPU=", "VCPU=0", "VCPU=-1", "VCPU=x", "=4", "VCPU=4,", "VCPU=4=5"} {
		if _, err := queryAmounts("resources", text); err == nil || !strings.Contains(err.Error(), "(flag --resources) contains ") {
			t.Errorf("queryAmounts(%q): %v", text, err)
		}
	}
	const id = "0b8fd1f3-2a3f-4dbe-a9a4-8b4de26bd4d8"
	for text, valid := range map[string]bool{
		id: true, "!" + id: true, "in:" + id + "," + id: true, "!in:" + id: true, "rack-9": false, "Rack-1": true, "!in:rack 1,rack_2": true, "in:" + id + ",": false, "": false, "!": false,
	} {
		if _, err := (aggregateNames{&frame.Frame{}}).uuids("member-of", []string{id, text}); (err == nil) != valid {
			t.Errorf("aggregates of %q: %v", text, err)
		}
	}
}

// TestCLI_AmountsOfProvider_BeginAfterItsName splits values of --on whose names contain separators.
func TestCLI_AmountsOfProvider_BeginAfterItsName(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"compute-1=VCPU:2": "compute-1", "compute-1=VCPU=2,MEMORY_MB=512": "compute-1", "rack=3=VCPU=2": "rack=3", "rack=3=VCPU:2,VGPU=1": "rack=3",
		"h=VCPU": "h", "h=VCPU:x": "h",
	} {
		if at := amountsBegin(text); at < 0 || text[:at] != want {
			t.Errorf("amountsBegin(%q) = %d, want %d", text, at, len(want))
		}
	}
	for _, text := range []string{"VCPU:2", ""} {
		if at := amountsBegin(text); at != -1 {
			t.Errorf("amountsBegin(%q) = %d, want -1", text, at)
		}
	}
}

func TestCLI_AmountsWithUnits_CountedInUnitsOfClass(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"vcpu=2,Memory_MB:4GiB":       "VCPU:2,MEMORY_MB:4096",
		"DISK_GB=4GiB":                "DISK_GB:4",
		"DISK_GB=1TiB":                "DISK_GB:1024",
		"DISK_GB=2048MiB":             "DISK_GB:2",
		"CUSTOM_PMEM_GB=3072MiB":      "CUSTOM_PMEM_GB:3",
		"DISK_GB=500MiB":              "error",
		"VCPU=1GiB":                   "error",
		"MEMORY_MB=4GB":               "error",
		"MEMORY_MB=1.5GiB":            "error",
		"MEMORY_MB=0GiB":              "error",
		"MEMORY_MB=9000000000000PiB":  "error",
		"MEMORY_MB=99999999999999GiB": "MEMORY_MB:102399999999998976",
		"vcpu=1,VCPU=2":               "error",
	} {
		got, err := queryAmounts("resources", text)
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%s: %s (%v), want %s", text, got, err, want)
		}
	}
	for value, want := range map[string]string{"hw_x,!custom_y": "HW_X,!CUSTOM_Y", "in:hw_x,Hw_Y": "in:HW_X,HW_Y", "!in:a,b": "!in:A,B", "": ""} {
		if got := upperTraits(value); got != want {
			t.Errorf("%s: %s, want %s", value, got, want)
		}
	}
	for text, want := range map[string]string{"pack:vcpu": "pack:VCPU", "random": "random", "": ""} {
		if got := orderOf(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
