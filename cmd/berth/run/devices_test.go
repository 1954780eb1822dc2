package run_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
)

// gpuHost is a site with a made-up host gpu-1 in its directory: four CPUs, three GPUs of NVIDIA, whose driver shows two UUIDs,
// and two of AMD, which the KFD topology lists in the reverse order. `berth agent` reports all but the third.
func gpuHost(t *testing.T) *site {
	t.Helper()
	s := newSite(t)
	for address, device := range map[string][3]string{
		"0000:3b:00.0": {"10de", "20b0", "030200"}, "0000:5e:00.0": {"10de", "20b0", "030200"}, "0000:af:00.0": {"10de", "20b0", "030200"},
		"0000:03:00.0": {"1002", "740f", "038000"}, "0000:83:00.0": {"1002", "740f", "038000"},
	} {
		at := "host/sys/bus/pci/devices/" + address
		s.file(at+"/vendor", "0x"+device[0]+"\n")
		s.file(at+"/device", "0x"+device[1]+"\n")
		s.file(at+"/class", "0x"+device[2]+"\n")
	}
	for address, number := range map[string]int{"0000:3b:00.0": 1, "0000:5e:00.0": 2} {
		s.file("host/proc/driver/nvidia/gpus/"+address+"/information", fmt.Sprintf("Model: \t\t Recorded\nGPU UUID: \t GPU-%032d\n", number))
	}
	s.file("host/sys/class/kfd/kfd/topology/nodes/0/properties", "simd_count 0\nlocation_id 0\n")
	s.file("host/sys/class/kfd/kfd/topology/nodes/1/properties", "simd_count 440\nlocation_id 33536\ndomain 0\n")
	s.file("host/sys/class/kfd/kfd/topology/nodes/2/properties", "simd_count 440\nlocation_id 768\ndomain 0\n")
	for cpu := range 4 {
		s.file("host/proc/cpuinfo", s.content("host/proc/cpuinfo")+fmt.Sprintf("processor\t: %d\nvendor_id\t: GenuineIntel\nflags\t\t: sse2\n\n", cpu))
	}
	s.file("host/proc/meminfo", "MemTotal:        8388608 kB\n")
	s.file("host/etc/machine-id", "3d1219c7c4c5404aaa1f6d2a48adfda4\n")
	config := s.file("agent.yaml", `devices:
- {address: "0000:83:00.0", resource_class: CUSTOM_MI, traits: [CUSTOM_LAST]}
- {vendor: "1002", resource_class: CUSTOM_MI}
- {address: "0000:af:00.0", ignore: true}
`)
	agent := s.command("agent", "--once", "--root", s.path("host"), "--name", "gpu-1", "--config", config)
	if printed, err := agent.CombinedOutput(); err != nil {
		t.Fatalf("berth agent: %v\n%s", err, printed)
	}
	return s
}

// content returns the content of a file; "" if it does not exist.
func (s *site) content(name string) string {
	content, _ := os.ReadFile(s.path(name))
	return string(content)
}

// visible runs a command on the host and returns its variables for GPUs: CUDA, NVIDIA, ROCR, and the order of CUDA. An unset
// variable is "-".
func (s *site) visible(arguments ...string) string {
	s.t.Helper()
	const script = `echo "${CUDA_VISIBLE_DEVICES--} ${NVIDIA_VISIBLE_DEVICES--} ${ROCR_VISIBLE_DEVICES--} ${CUDA_DEVICE_ORDER--}"`
	j := s.startWith(append(arguments, "--root", s.path("host"), "--", "sh", "-c", script)...)
	j.expect(0)
	return strings.TrimSuffix(j.stdout.String(), "\n")
}

func TestRun_GPUsOfAgent_AreVisibleToCommand(t *testing.T) {
	t.Parallel()
	s := gpuHost(t)
	other := s.host("gpu-2", uuid.Nil, client.Resources{"DISK_GB": 10})
	s.host("gpu-2_0000:3b:00.0", other, client.Resources{"PGPU": 1})
	both := []string{"--host", "gpu-1", "--group", "_A:resources=PGPU:1", "--group", "_B:resources=PGPU:1", "--isolate", "_A,_B"}
	const first, second = "GPU-00000000000000000000000000000001", "GPU-00000000000000000000000000000002"
	for name, c := range map[string]struct {
		want      string
		arguments []string
	}{
		"two of NVIDIA": {first + "," + second + " " + first + "," + second + "  -", both},
		"one of AMD":    {" void 0 -", []string{"--host", "gpu-1", "--group", "_A:resources=CUSTOM_MI:1;required=CUSTOM_LAST"}},
		"no GPU":        {" void  -", []string{"--host", "gpu-1", "--resources", "VCPU=1"}},
		"another host":  {"- - - -", []string{"--anywhere", "--resources", "DISK_GB=1,PGPU=1", "--in-tree", "gpu-2"}},
	} {
		if got := s.visible(c.arguments...); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if err := os.Remove(s.path("host/proc/driver/nvidia/gpus/0000:5e:00.0/information")); err != nil {
		t.Fatal(err)
	}
	if got, want := s.visible(both...), "0,1 0,1  PCI_BUS_ID"; got != want {
		t.Errorf("without a UUID: %q, want %q", got, want)
	}
	s.expectFree()
}

// TestRun_TreeWithoutDevicesOfAgent_LeavesVariables runs on a host whose tree was written by hand.
func TestRun_TreeWithoutDevicesOfAgent_LeavesVariables(t *testing.T) {
	t.Parallel()
	s := gpuHost(t)
	root := s.host("gpu-3", uuid.Nil, client.Resources{"PCPU": 4})
	s.host("gpu-3-card", root, client.Resources{"PGPU": 1})
	if got := s.visible("--host", "gpu-3", "--resources", "PGPU=1"); got != "- - - -" {
		t.Errorf("variables = %q", got)
	}
}
