package host

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files")

// golden compares a text with a golden file.
func golden(t *testing.T, name, found string) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(file, []byte(found), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	wanted, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if found != string(wanted) {
		t.Errorf("%s differs; run go test with -update and review the diff. Got\n%s\nwant\n%s", file, found, wanted)
	}
}

func TestAgent_RecordedHardware_DiscoveryMatchesGolden(t *testing.T) {
	t.Parallel()
	for name := range machines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			machine := survey(t, name)
			written, err := json.MarshalIndent(machine, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			golden(t, "machine-"+name, string(written)+"\n")
			var read Machine
			if err := json.Unmarshal(written, &read); err != nil {
				t.Fatal(err)
			}
			again, err := json.MarshalIndent(read, "", "  ")
			if err != nil || string(again) != string(written) {
				t.Errorf("after a round trip through JSON: %s, %v", again, err)
			}
		})
	}
}

func TestAgent_EmptySysfs_AllPartsReportedMissing(t *testing.T) {
	t.Parallel()
	machine, err := Discover(t.Context(), SurveyOptions{Root: t.TempDir(), DiskPath: "/var/lib/guests"})
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []Part{PartCPUs, PartMemory, PartNodes, PartHugePages, PartFilesystem, PartDisks, PartDevices, PartNICs} {
		if machine.Sees(part) {
			t.Errorf("Sees(%s) = true, want false", part)
		}
	}
	for _, missing := range machine.Missing {
		if len(missing.Why) < 20 || strings.Contains(missing.Why, os.TempDir()) {
			t.Errorf("reason = %s, want at least 20 characters without the path of the root", missing)
		}
	}
}

// TestAgent_PartialNodeMemory_ScaledToTotal records a kernel that initializes memory gradually.
func TestAgent_PartialNodeMemory_ScaledToTotal(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		blocks []int
		wanted []int64
	}{
		"by memory blocks":      {[]int{24, 8}, []int64{24000, 8000}},
		"by initialized memory": {[]int{0, 0}, []int64{28000, 4000}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			made := newRecorded(t)
			made.sockets(2, 1, 1, "GenuineIntel", flagsOfXeon)
			made.memory(32000)
			made.node(0, "0", 7000)
			made.node(1, "1", 1000)
			for node, blocks := range one.blocks {
				for block := range blocks {
					made.file(fmt.Sprintf("sys/devices/system/node/node%d/memory%d/state", node, 100*node+block), "online")
				}
				made.file(fmt.Sprintf("sys/devices/system/node/node%d/memory%d/state", node, 100*node+99), "offline")
			}
			machine, err := Discover(t.Context(), SurveyOptions{Root: made.root})
			if err != nil {
				t.Fatal(err)
			}
			for i, wanted := range one.wanted {
				if found := machine.Nodes[i].MemoryMB; found != wanted {
					t.Errorf("memory of node %d = %d MiB, want %d", i, found, wanted)
				}
			}
		})
	}
}

func TestAgent_ContextCanceled_DiscoveryReturnsError(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Discover(ended, SurveyOptions{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestAgent_LocalHost_DiscoveryIsPlausible discovers the hardware of the host that runs the test.
func TestAgent_LocalHost_DiscoveryIsPlausible(t *testing.T) {
	t.Parallel()
	machine, err := Discover(t.Context(), SurveyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d CPUs in %d nodes, %d MiB, %d devices; missing: %v", len(machine.CPUs), len(machine.Nodes), machine.MemoryMB, len(machine.Devices), machine.Missing)
	// The CPU affinity of the process may exclude online CPUs.
	if len(machine.CPUs) < runtime.NumCPU() {
		t.Errorf("%d CPUs, want at least the %d of this process", len(machine.CPUs), runtime.NumCPU())
	}
	if online, err := ParseCPUs(readLine("/sys/devices/system/cpu/online")); err == nil && online != nil && len(online) != len(machine.CPUs) {
		t.Errorf("%d CPUs, want the online CPUs %v", len(machine.CPUs), online)
	}
	if total := kernelMemoryMB(t); machine.MemoryMB < total*9/10 || machine.MemoryMB > total*11/10 {
		t.Errorf("memory = %d MiB, want about %d", machine.MemoryMB, total)
	}
	inNodes, memory := 0, int64(0)
	for _, node := range machine.Nodes {
		inNodes += len(node.CPUs)
		memory += node.MemoryMB
	}
	if machine.Sees(PartNodes) && (inNodes != len(machine.CPUs) || memory < machine.MemoryMB*9/10 || memory > machine.MemoryMB*11/10) {
		t.Errorf("the NUMA nodes have %d CPUs and %d MiB, want %d and about %d", inNodes, memory, len(machine.CPUs), machine.MemoryMB)
	}
	if machine.Filesystem == nil || machine.Filesystem.TotalGB <= 0 {
		t.Errorf("file system: %v", machine.Filesystem)
	}
	if machine.Architecture != map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH] {
		t.Errorf("architecture %q on %s", machine.Architecture, runtime.GOARCH)
	}
}

func kernelMemoryMB(t *testing.T) int64 {
	t.Helper()
	content, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(content))
	total, err := strconv.ParseInt(fields[slices.Index(fields, "MemTotal:")+1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return total / 1024
}
