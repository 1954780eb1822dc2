package host

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestAgent_ExampleConfig_Loads(t *testing.T) {
	t.Parallel()
	config, err := LoadConfig("../../docs/agent.example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if config.Node != "compute-17" || config.Layout != Flat || !slices.Equal(config.CPUs.Shared, []int{0, 1, 2, 3}) || len(config.CPUs.Dedicated) != 13 {
		t.Errorf("config = %+v", config)
	}
	if *config.Disk.TotalGB != 900 || config.Reserved["VCPU"].sum() != 1 || config.Reserved["MEMORY_MB"].Amount != 512 {
		t.Errorf("config = %+v", config)
	}
	if len(config.Devices) != 3 || config.Devices[0].MediatedType != "nvidia-63" || config.Providers["{node}"].Inventories["CUSTOM_LICENSE"].Total != 20 {
		t.Errorf("config = %+v", config)
	}
}

// TestAgent_ExampleConfig_CoversAllSettings reads the fields of the configuration by reflection.
func TestAgent_ExampleConfig_CoversAllSettings(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/agent.example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	fields := 0
	for _, kind := range []reflect.Type{reflect.TypeFor[Config](), reflect.TypeFor[Rule](), reflect.TypeFor[Extra]()} {
		for field := range kind.Fields() {
			fields++
			if name := field.Tag.Get("yaml"); name == "" || !strings.Contains(string(text), name+":") {
				t.Errorf("the example lacks %s of %s", field.Name, kind)
			}
		}
	}
	if fields < 18 {
		t.Errorf("fields = %d, want at least 18", fields)
	}
}

func TestAgent_EmptyConfig_UsesDefaults(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "# nothing\n", "---\n"} {
		config, err := ParseConfig([]byte(text))
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if ratio, enforced := config.ratio(classVCPU); ratio != 4 || enforced {
			t.Errorf("ratio of VCPU = %g, enforced %t, want 4, false", ratio, enforced)
		}
		if config.reserved(classMemory, 4000).Amount != 512 || config.reserved(classMemory, 100).Amount != 100 || config.reserved(classVCPU, 4).Amount != 0 {
			t.Errorf("config = %+v", config)
		}
	}
}

func TestAgent_InvalidConfig_ReportsLineOrSetting(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct{ text, wanted string }{
		"unknown setting":            {"node: a\nlayuot: flat\n", `line 2: unknown setting "layuot"`},
		"unknown nested setting":     {"devices:\n  - vendor: \"8086\"\n    clas: \"02\"\n", `line 3: unknown setting "clas"`},
		"duplicate setting":          {"node: a\nnode: b\n", "line 2"},
		"invalid YAML":               {"node: [a\n", "line"},
		"two documents":              {"node: a\n---\nnode: b\n", "more than one YAML document"},
		"unknown layout":             {"layout: round\n", `layout: "round" is neither flat nor numa`},
		"invalid CPU list":           {"node: a\ncpus:\n  dedicated: 4-x\n", `line 3: CPU list "4-x"`},
		"CPUs as a sequence":         {"cpus:\n  shared: [1, 2]\n", "line 2: a CPU list must be a text"},
		"shared and dedicated CPU":   {"cpus: {shared: 0-3, dedicated: \"3\"}\n", "CPU 3 is both dedicated and shared"},
		"invalid amount":             {"reserved:\n  MEMORY_MB: much\n", `line 2: "much" is not an amount`},
		"negative amount":            {"reserved:\n  MEMORY_MB: {0: -1}\n", "line 2: a reserved amount cannot be negative"},
		"class without reserved":     {"reserved: {VGPU: 1}\n", "reserved: VGPU cannot be reserved"},
		"disk per NUMA node":         {"reserved: {DISK_GB: {0: 1}}\n", "reserved.DISK_GB: the disk belongs to no NUMA node"},
		"ratio of 0":                 {"ratios: {VCPU: 0}\n", "ratios: VCPU: 0"},
		"negative size":              {"disk: {total_gb: -1}\n", "disk.total_gb: -1"},
		"rule without a condition":   {"devices: [{ignore: true}]\n", "devices, rule 1: the rule has no condition"},
		"invalid pattern":            {"devices: [{address: \"[\"}]\n", "devices, rule 1: address"},
		"class of CPUs for a device": {"devices: [{vendor: \"8086\", resource_class: VCPU}]\n", `resource_class "VCPU"`},
		"invalid trait":              {"providers: {a: {traits: [fast]}}\n", `providers.a: invalid trait "fast"`},
		"discovered inventory":       {"providers: {a: {inventories: {VCPU: {total: 1}}}}\n", "the agent discovers the inventory of VCPU"},
		"total of 0":                 {"providers: {a: {inventories: {CUSTOM_X: {}}}}\n", "the total must be at least 1"},
		"invalid aggregate":          {"providers: {a: {aggregates: [x]}}\n", "line 1: the aggregate \"x\" is not a UUID"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := ParseConfig([]byte(one.text))
			if err == nil || !strings.Contains(err.Error(), one.wanted) || strings.Contains(err.Error(), "host.") {
				t.Errorf("error = %v, want %s", err, one.wanted)
			}
		})
	}
}

func TestAgent_SeveralConfigErrors_AllReportedWithFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "agent.yaml")
	if err := os.WriteFile(file, []byte("layout: x\nratios: {VCPU: -1}\ncpus: {shared: 1, dedicated: 1}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := LoadConfig(file)
	for _, wanted := range []string{file, "layout", "ratios", "CPU 1"} {
		if err == nil || !strings.Contains(err.Error(), wanted) {
			t.Errorf("error = %v, want %s in it", err, wanted)
		}
	}
	if _, err := LoadConfig(file + ".none"); err == nil {
		t.Error("LoadConfig returns no error for a missing file")
	}
}

func TestAgent_CPUList_RoundTrips(t *testing.T) {
	t.Parallel()
	for range 200 {
		var cpus []int
		for cpu := range 40 {
			if rand.IntN(2) == 0 {
				cpus = append(cpus, cpu)
			}
		}
		if read, err := ParseCPUs(formatCPUs(cpus)); err != nil || !slices.Equal(read, cpus) {
			t.Fatalf("%v formatted as %q, parsed as %v: %v", cpus, formatCPUs(cpus), read, err)
		}
	}
	for _, wrong := range []string{"1,,2", "a", "3-1", "-1", "1-", "0-99999999"} {
		if cpus, err := ParseCPUs(wrong); err == nil {
			t.Errorf("ParseCPUs(%q) = %v, want an error", wrong, cpus)
		}
	}
}
