package host

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// recorded is a directory with the files of a host that Discover reads.
type recorded struct {
	t    testing.TB
	root string
	// cpuinfo is the content of /proc/cpuinfo.
	cpuinfo strings.Builder
}

func newRecorded(t testing.TB) *recorded {
	t.Helper()
	return &recorded{t: t, root: t.TempDir()}
}

func (r *recorded) file(path, content string) {
	r.t.Helper()
	path = filepath.Join(r.root, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content+"\n"), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

func (r *recorded) link(path, to string) {
	r.t.Helper()
	path = filepath.Join(r.root, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.Symlink(to, path); err != nil {
		r.t.Fatal(err)
	}
}

// processor adds a logical CPU to /proc/cpuinfo only.
func (r *recorded) processor(id int, vendor, flags string) {
	fmt.Fprintf(&r.cpuinfo, "processor\t: %d\nvendor_id\t: %s\nmodel name\t: Recorded\nflags\t\t: %s\n\n", id, vendor, flags)
	r.file("proc/cpuinfo", r.cpuinfo.String())
}

// sockets adds CPUs in the numbering of Linux: the first threads of all cores come first.
func (r *recorded) sockets(sockets, cores, threads int, vendor, flags string) {
	for id := range sockets * cores * threads {
		socket, core := id%(sockets*cores)/cores, id%cores
		at := fmt.Sprintf("sys/devices/system/cpu/cpu%d/", id)
		r.file(at+"topology/physical_package_id", strconv.Itoa(socket))
		r.file(at+"topology/core_id", strconv.Itoa(core))
		r.processor(id, vendor, flags)
	}
}

func (r *recorded) memory(megabytes int64) {
	r.file("proc/meminfo", fmt.Sprintf("MemTotal:       %d kB\nMemFree:        1024 kB\nHugepagesize:       2048 kB", megabytes*1024))
	r.file("sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "0")
}

func (r *recorded) node(id int, cpus string, megabytes int64) {
	at := fmt.Sprintf("sys/devices/system/node/node%d/", id)
	r.file(at+"cpulist", cpus)
	r.file(at+"meminfo", fmt.Sprintf("Node %d MemTotal:       %d kB\nNode %d MemFree:        1024 kB", id, megabytes*1024, id))
	r.pages(fmt.Sprintf("sys/devices/system/node/node%d/hugepages", id), 2048, 0)
}

func (r *recorded) pages(at string, sizeKB, total int64) {
	r.file(fmt.Sprintf("%s/hugepages-%dkB/nr_hugepages", at, sizeKB), strconv.FormatInt(total, 10))
}

// pci records a device and returns its directory.
func (r *recorded) pci(address, vendor, product, class string, node int) string {
	at := "sys/bus/pci/devices/" + address + "/"
	r.file(at+"vendor", "0x"+vendor)
	r.file(at+"device", "0x"+product)
	r.file(at+"class", "0x"+class)
	r.file(at+"numa_node", strconv.Itoa(node))
	return at
}

// card records a network card with virtual functions at the addresses.
func (r *recorded) card(address, vendor, product string, node, totalVFs int, functions ...string) {
	at := r.pci(address, vendor, product, "020000", node)
	r.file(at+"sriov_totalvfs", strconv.Itoa(totalVFs))
	r.file(at+"sriov_numvfs", strconv.Itoa(len(functions)))
	r.link(at+"driver", "../../../bus/pci/drivers/i40e")
	r.file("sys/devices/pci0000:00/"+address+"/net/ens"+product+"/address", "3c:fd:fe:00:00:01")
	r.file("sys/devices/pci0000:00/"+address+"/net/ens"+product+"/addr_assign_type", "0")
	r.link("sys/devices/pci0000:00/"+address+"/net/ens"+product+"/device", "../../../"+address)
	r.link("sys/devices/pci0000:00/"+address+"/subsystem", "../../../bus/pci")
	r.link("sys/class/net/ens"+product, "../../devices/pci0000:00/"+address+"/net/ens"+product)
	for i, function := range functions {
		r.link(at+"virtfn"+strconv.Itoa(i), "../"+function)
		r.link(r.pci(function, vendor, "154c", "020000", node)+"physfn", "../"+address)
	}
}

func (r *recorded) divided(device, id, description string, available int, existing ...string) {
	at := device + "mdev_supported_types/" + id + "/"
	r.file(at+"name", "GRID "+id)
	r.file(at+"description", description)
	r.file(at+"available_instances", strconv.Itoa(available))
	for _, one := range existing {
		r.link(at+"devices/"+one, "../../../"+one)
	}
}

func (r *recorded) disk(name string, gigabytes int64, rotational string) {
	r.file("sys/block/"+name+"/size", strconv.FormatInt(gigabytes<<30/512, 10))
	r.file("sys/block/"+name+"/queue/rotational", rotational)
	r.file("sys/block/"+name+"/removable", "0")
}

const flagsOfXeon = "fpu ht lm nopl avx2 vmx ssbd"

// twoSockets adds two sockets with hyperthreading and a NUMA node each.
func twoSockets(r *recorded) {
	r.sockets(2, 4, 2, "GenuineIntel", flagsOfXeon)
	r.memory(131072)
	r.node(0, "0-3,8-11", 65536)
	r.node(1, "4-7,12-15", 65536)
	r.file("sys/devices/system/cpu/isolated", "2-3,10-11")
	r.disk("sda", 900, "0")
	r.disk("sdb", 900, "0")
}

// machines has recorded hosts by their special feature.
var machines = map[string]func(*recorded){
	// virtual is a small virtual machine: one node, no threads, a virtual disk.
	"virtual": func(r *recorded) {
		r.sockets(1, 2, 1, "GenuineIntel", flagsOfXeon)
		r.memory(24000)
		r.node(0, "0-1", 24000)
		r.pci("0000:00:01.0", "1af4", "1042", "018000", -1)
		r.file(r.pci("0000:00:02.0", "1234", "1111", "030000", -1)+"boot_vga", "1")
		r.disk("vda", 250, "1")
	},
	"two-sockets": twoSockets,
	// network has a card with virtual functions on its second NUMA node, and a card
	// without.
	"network": func(r *recorded) {
		twoSockets(r)
		r.card("0000:af:00.0", "8086", "1572", 1, 64, "0000:af:02.0", "0000:af:02.1", "0000:af:02.2")
		r.card("0000:3b:00.0", "8086", "158b", 0, 64)
		r.pci("0000:3c:00.0", "8086", "37c8", "0b4000", 0)
	},
	// graphics has a GPU without mediated device types, one with one type, one with
	// two, and the display of the management controller.
	"graphics": func(r *recorded) {
		twoSockets(r)
		r.pci("0000:17:00.0", "10de", "20f1", "030200", 0)
		only := r.pci("0000:65:00.0", "10de", "1eb8", "030200", 0)
		r.divided(only, "nvidia-222", "num_heads=4, frl_config=45, framebuffer=1024M, max_resolution=5120x2880, max_instance=16", 14, "a1", "a2")
		either := r.pci("0000:ca:00.0", "10de", "1eb8", "030200", 1)
		r.divided(either, "nvidia-222", "num_heads=4, framebuffer=1024M, max_resolution=3840x2160", 16)
		r.divided(either, "nvidia-230", "num_heads=3, framebuffer=2048M, max_resolution=7680x4320", 8)
		r.file(r.pci("0000:03:00.0", "102b", "0538", "030000", 0)+"boot_vga", "1")
	},
	// hugePages has huge pages of two sizes, in different numbers per NUMA node.
	"huge-pages": func(r *recorded) {
		twoSockets(r)
		r.pages("sys/kernel/mm/hugepages", 2048, 6144)
		r.pages("sys/kernel/mm/hugepages", 1048576, 16)
		r.pages("sys/kernel/mm/hugepages", 64, 0)
		r.pages("sys/devices/system/node/node0/hugepages", 2048, 4096)
		r.pages("sys/devices/system/node/node1/hugepages", 2048, 2048)
		r.pages("sys/devices/system/node/node1/hugepages", 1048576, 16)
	},
	// container has no /sys.
	"container": func(r *recorded) {
		for id := range 3 {
			r.processor(id, "AuthenticAMD", "fpu lm sse sse2 svm ibpb ssbd")
		}
		r.file("proc/meminfo", "MemTotal:       4096000 kB")
	},
}

// survey returns the hardware of a recorded host. It sets the size of the file system, because Discover reads that of
// the test.
func survey(t testing.TB, name string) *Machine {
	t.Helper()
	made := newRecorded(t)
	machines[name](made)
	machine, err := Discover(t.Context(), SurveyOptions{Root: made.root})
	if err != nil {
		t.Fatal(err)
	}
	if machine.Filesystem == nil {
		t.Fatal("Discover did not read the file system")
	}
	machine.Filesystem.TotalGB = 1000
	return machine
}

func sorted[M ~map[string]V, V any](all M) []string {
	var keys []string
	for key := range all {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
