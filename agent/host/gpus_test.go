package host

import (
	"fmt"
	"slices"
	"testing"
)

func TestAgent_GPUsOfHost_HaveUUIDsAndIndexesOfRuntimes(t *testing.T) {
	t.Parallel()
	r := newRecorded(t)
	for address, gpu := range map[string]string{"0000:03:00.0": "73bf", "0000:83:00.0": "73bf"} {
		r.pci(address, "1002", gpu, "038000", -1)
	}
	for _, address := range []string{"0000:3b:00.0", "0000:5e:00.0", "0000:af:00.0"} {
		r.pci(address, "10de", "20b0", "030200", -1)
	}
	r.pci("0000:5e:00.1", "10de", "10f0", "040300", -1) // its sound
	r.pci("0000:02:00.0", "102b", "0536", "030000", -1)
	const head = "Model: \t\t Recorded\nIRQ:   \t\t 40\nGPU UUID: \t "
	r.file("proc/driver/nvidia/gpus/0000:3b:00.0/information", head+"GPU-11111111-0000-4000-8000-000000000001\nVideo BIOS: \t ??")
	r.file("proc/driver/nvidia/gpus/0000:5e:00.0/information", head+"GPU-????????-????-????-????-????????????")
	for number, properties := range []string{"simd_count 0\nlocation_id 0", "simd_count 64\nlocation_id 33536\ndomain 0", "simd_count 64\nlocation_id 768\ndomain 0"} {
		r.file(fmt.Sprintf("sys/class/kfd/kfd/topology/nodes/%d/properties", number), properties)
	}
	want := []GPU{
		{"0000:02:00.0", "102b", 0, ""},
		{"0000:03:00.0", "1002", 1, ""},
		{"0000:3b:00.0", "10de", 0, "GPU-11111111-0000-4000-8000-000000000001"},
		{"0000:5e:00.0", "10de", 1, ""},
		{"0000:83:00.0", "1002", 0, ""},
		{"0000:af:00.0", "10de", 2, ""},
	}
	if got := GPUs(r.root); !slices.Equal(got, want) {
		t.Errorf("GPUs = %+v, want %+v", got, want)
	}
}

func TestAgent_NameOfDeviceProvider_HasItsAddress(t *testing.T) {
	t.Parallel()
	if got, known := DeviceAddress("gpu-1", deviceName("gpu-1", "0000:3b:00.0")); !known || got != "0000:3b:00.0" {
		t.Errorf("address = %q, %v", got, known)
	}
	if got, known := DeviceAddress("gpu-1", "gpu-10_0000:3b:00.0"); known {
		t.Errorf("address of another host = %q", got)
	}
}
