package consumers_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/agent/consumers"
	"github.com/berthd/berth/client"
)

// kernel is the root of a file system with two NUMA nodes of four CPUs.
type kernel struct {
	t    *testing.T
	root string
}

func newKernel(t *testing.T) kernel {
	k := kernel{t, t.TempDir()}
	k.write("sys/devices/system/node/node0/cpulist", "0-3\n")
	k.write("sys/devices/system/node/node1/cpulist", "4-7\n")
	return k
}

func (k kernel) write(path, content string) {
	k.t.Helper()
	write(k.t, filepath.Join(k.root, path), content)
}

// process adds a process with a thread for each CPU affinity.
func (k kernel) process(pid, mems string, cpus ...string) {
	for thread, list := range cpus {
		status := "Name:\tqemu\nCpus_allowed_list:\t" + list + "\nMems_allowed_list:\t" + mems + "\n"
		k.write(filepath.Join("proc", pid, "task", pid+string(rune('0'+thread)), "status"), status)
	}
}

func (k kernel) cgroup(pattern string) *consumers.Cgroup {
	k.t.Helper()
	c, err := consumers.NewCgroup(k.root, pattern)
	if err != nil {
		k.t.Fatal(err)
	}
	return c
}

func scope(consumer uuid.UUID) string {
	return `machine.slice/machine-qemu\x2d1\x2d` + strings.ReplaceAll(consumer.String(), "-", `\x2d`) + ".scope"
}

func TestAgent_CgroupPinnedThreadsAndPages_LocateConsumer(t *testing.T) {
	t.Parallel()
	k := newKernel(t)
	k.write("sys/fs/cgroup/"+scope(first)+"/cgroup.procs", "")
	k.write("sys/fs/cgroup/"+scope(first)+"/libvirt/emulator/cgroup.procs", "100\n")
	// One thread may run anywhere, two on node 0 and one on node 1.
	k.process("100", "0-1", "0-7", "1", "2-3", "4")
	k.write("proc/100/numa_maps", "7f00 bind:1 file=/dev/hugepages/x huge anon=2 dirty=2 N1=2 kernelpagesize_kB=2048\n"+
		"7f01 default anon=1024 N0=1024 kernelpagesize_kB=4\n7f02 default file=/usr/lib/x mapped=3\n")
	expect(t, k.cgroup(""), first, have(3, 1000), share("numa:0", 2, 500), share("numa:1", 1, 500))
	expect(t, k.cgroup(""), first, client.Resources{"PCPU": 1}, consumers.Share{Device: "numa:0", Resources: client.Resources{"PCPU": 1}})
	expect(t, k.cgroup(""), first, client.Resources{"VGPU": 1})
	expect(t, k.cgroup(""), second, have(3, 1000))
}

func TestAgent_ProcessWithConsumerUUID_FoundWithoutCgroup(t *testing.T) {
	t.Parallel()
	k := newKernel(t)
	cgroup := k.cgroup("")
	expect(t, cgroup, first, have(3, 1000))
	k.process("100", "0-1", "4-7")
	k.write("proc/100/cmdline", "/usr/bin/qemu-system-x86_64\x00-name\x00guest=instance-1\x00-uuid\x00"+first.String()+"\x00-m\x001024\x00")
	k.write("proc/101/cmdline", "grep\x00"+first.String()+"\x00")
	k.write("proc/102/cmdline", "")
	expect(t, cgroup, first, have(3, 1000))
	cgroup.Begin()
	expect(t, cgroup, first, have(3, 1000), share("numa:1", 3, 1000))
	expect(t, cgroup, second, have(3, 1000))
}

func TestAgent_CgroupWithoutNUMAMaps_UsesCpusetLimits(t *testing.T) {
	t.Parallel()
	k := newKernel(t)
	// Version 1, a configured pattern, and a UUID without hyphens.
	k.write("sys/fs/cgroup/cpuset/lxc/ct_"+strings.ReplaceAll(first.String(), "-", "")+"/cgroup.procs", "7\n8\n9\n")
	k.process("7", "1", "4-7")
	k.process("8", "1", "4-7")
	expect(t, k.cgroup("lxc/ct_{uuid}"), first, have(3, 1000), share("numa:1", 3, 1000))

	// Without visible processes, the limits of the group apply.
	k.write("sys/fs/cgroup/cpuset/lxc/ct_"+second.String()+"/cgroup.procs", "0\n")
	k.write("sys/fs/cgroup/cpuset/lxc/ct_"+second.String()+"/cpuset.cpus", "2-4\n")
	k.write("sys/fs/cgroup/cpuset/lxc/ct_"+second.String()+"/cpuset.mems", "0-1\n")
	expect(t, k.cgroup("lxc/ct_{uuid}"), second, have(3, 1000), share("numa:0", 2, 667), share("numa:1", 1, 333))
}

func TestAgent_CgroupUnpinned_ConsumerUnknown(t *testing.T) {
	t.Parallel()
	k := newKernel(t)
	k.write("sys/fs/cgroup/machine.slice/"+first.String()+"/cgroup.procs", "7\n")
	k.process("7", "0-1", "0-63", "0-7")
	expect(t, k.cgroup(""), first, have(3, 1000))
	// CPUs follow the pages.
	k.write("proc/7/numa_maps", "7f00 default anon=4 N0=3 N1=1 kernelpagesize_kB=4\n")
	expect(t, k.cgroup(""), first, have(4, 1000), share("numa:0", 3, 750), share("numa:1", 1, 250))
}

func TestAgent_CgroupSingleNUMANode_AllSharesThere(t *testing.T) {
	t.Parallel()
	k := kernel{t, t.TempDir()}
	k.write("sys/devices/system/node/node0/cpulist", "0-3\n")
	k.write("sys/fs/cgroup/machine.slice/"+first.String()+"/cgroup.procs", "7\n")
	k.process("7", "0", "0-3")
	expect(t, k.cgroup(""), first, have(3, 1000), share("numa:0", 3, 1000))
}

func TestAgent_CgroupInvalidKernelData_ReturnsError(t *testing.T) {
	t.Parallel()
	k := newKernel(t)
	group := "sys/fs/cgroup/machine.slice/" + first.String() + "/cgroup.procs"
	k.write(group, "x\n")
	if _, _, err := k.cgroup("").Shares(t.Context(), first, have(1, 1)); err == nil || !strings.Contains(err.Error(), `"x" is not a process ID`) {
		t.Errorf("got %v", err)
	}
	k.write(group, "1\n")
	k.write("sys/devices/system/node/node1/cpulist", "4-x\n")
	if _, _, err := k.cgroup("").Shares(t.Context(), first, have(1, 1)); err == nil || !strings.Contains(err.Error(), "is not a list of numbers") {
		t.Errorf("got %v", err)
	}
	empty := kernel{t, t.TempDir()}
	empty.write(group, "1\n")
	if _, _, err := empty.cgroup("").Shares(t.Context(), first, have(1, 1)); err == nil || !strings.Contains(err.Error(), "no NUMA nodes in") {
		t.Errorf("got %v", err)
	}
	for pattern, want := range map[string]string{"machine.slice/*": "has no {uuid}", "a[/{uuid}": "syntax error in pattern"} {
		if _, err := consumers.NewCgroup("/", pattern); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("pattern %q: %v", pattern, err)
		}
	}
}
