//go:build client

package e2e

import (
	"fmt"
	"strconv"
	"strings"
)

// apiVersion is a microversion as the client takes it.
type apiVersion string

// has tells whether what came with another microversion is there.
func (v apiVersion) has(since string) bool { return minor(string(v)) >= minor(since) }

func minor(version string) int {
	number, err := strconv.Atoi(strings.TrimPrefix(version, "1."))
	if err != nil {
		panic(fmt.Sprintf("%q is no microversion of the session", version))
	}
	return number
}

// What the session works with.
const (
	host     = "c0ffee00-5ca1-4b1e-8000-000000000001"
	numa     = "c0ffee00-5ca1-4b1e-8000-000000000002"
	spare    = "c0ffee00-5ca1-4b1e-8000-000000000003"
	rack     = "c0ffee00-5ca1-4b1e-8000-0000000000aa"
	instance = "c0ffee00-5ca1-4b1e-8000-00000000f001"
	nowhere  = "c0ffee00-5ca1-4b1e-8000-00000000dead"
)

// standardClasses are the resource classes that every server has, in order.
var standardClasses = []string{
	"VCPU", "MEMORY_MB", "DISK_GB", "PCI_DEVICE", "SRIOV_NET_VF", "NUMA_SOCKET", "NUMA_CORE", "NUMA_THREAD",
	"NUMA_MEMORY_MB", "IPV4_ADDRESS", "VGPU", "VGPU_DISPLAY_HEAD", "NET_BW_EGR_KILOBIT_PER_SEC",
	"NET_BW_IGR_KILOBIT_PER_SEC", "PCPU", "MEM_ENCRYPTION_CONTEXT", "FPGA", "PGPU",
	"NET_PACKET_RATE_KILOPACKET_PER_SEC", "NET_PACKET_RATE_EGR_KILOPACKET_PER_SEC",
	"NET_PACKET_RATE_IGR_KILOPACKET_PER_SEC",
}

// session is a day of an operator: each call stands on those before it.
func session(v apiVersion) []call {
	b := &book{version: v}
	b.names()
	b.providers()
	b.inventories()
	b.aggregatesAndTraits()
	b.filters()
	b.candidates()
	b.allocations()
	b.cleanUp()
	return b.calls
}

// book writes a session and keeps count of the generation of the host, which
// depends on what the client can do at the version.
type book struct {
	version    apiVersion
	calls      []call
	generation int
}

// add appends a call that works from a microversion on ("" for every one).
func (b *book) add(since string, want any, command string, args ...string) {
	b.calls = append(b.calls, call{command: command, args: args, since: since, want: want})
}

// fail appends a call that must fail with an error.
func (b *book) fail(text string, command string, args ...string) {
	b.calls = append(b.calls, call{command: command, args: args, fails: text})
}

// bump notes that the host's generation rises, if the client has the command that
// raises it.
func (b *book) bump(since string) {
	if since == "" || b.version.has(since) {
		b.generation++
	}
}

// provider is how the client shows a provider.
func (b *book) provider(uuid, name string, generation int, root, parent any) row {
	shown := row{"uuid": uuid, "name": name, "generation": generation}
	if b.version.has("1.14") {
		shown["root_provider_uuid"], shown["parent_provider_uuid"] = root, parent
	}
	return shown
}

func (b *book) host() row { return b.provider(host, "compute-1", b.generation, host, nil) }

func names(of ...string) []row {
	rows := []row{}
	for _, name := range of {
		rows = append(rows, row{"name": name})
	}
	return rows
}

func (b *book) names() {
	b.add("1.2", nil, "resource class create", "CUSTOM_SMARTNIC")
	b.add("1.2", row{"name": "CUSTOM_SMARTNIC"}, "resource class show", "CUSTOM_SMARTNIC")
	b.add("1.2", names(append(standardClasses, "CUSTOM_SMARTNIC")...), "resource class list")
	b.add("1.7", nil, "resource class set", "CUSTOM_SMARTNIC")
	b.add("1.6", nil, "trait create", "CUSTOM_GOLD")
	b.add("1.6", row{"name": "CUSTOM_GOLD"}, "trait show", "CUSTOM_GOLD")
	b.add("1.6", names("CUSTOM_GOLD"), "trait list", "--name", "startswith:CUSTOM_")
	if b.version.has("1.6") {
		b.fail("No such trait(s): CUSTOM_TIN. (HTTP 404)", "trait show", "CUSTOM_TIN")
	}
}

func (b *book) providers() {
	b.add("", b.provider(host, "compute-01", 0, host, nil), "resource provider create", "compute-01", "--uuid", host)
	b.add("", b.provider(host, "compute-1", 0, host, nil), "resource provider set", host, "--name", "compute-1")
	b.fail("Conflicting resource provider name: compute-1 already exists. (HTTP 409)", "resource provider create", "compute-1")
	b.add("1.14", b.provider(numa, "numa-0", 0, host, host), "resource provider create", "numa-0", "--uuid", numa, "--parent-provider", host)
	b.add("", b.provider(spare, "spare", 0, spare, nil), "resource provider create", "spare", "--uuid", spare)
	b.add("", b.host(), "resource provider show", host)
	b.fail("No resource provider with uuid "+nowhere+" found (HTTP 404)", "resource provider show", nowhere)
}

// inventory is how the client shows an inventory, with its defaults.
func inventory(total int, but row) row {
	shown := row{
		"total": total, "reserved": 0, "min_unit": 1, "max_unit": 2147483647, "step_size": 1, "allocation_ratio": 1.0,
	}
	for key, value := range but {
		shown[key] = value
	}
	return shown
}

func (b *book) inventories() {
	vcpu := inventory(16, row{"resource_class": "VCPU", "allocation_ratio": 4.0})
	memory := inventory(2048, row{"resource_class": "MEMORY_MB", "step_size": 128})
	disk := inventory(100, row{"resource_class": "DISK_GB"})

	b.add("", []row{vcpu, memory}, "resource provider inventory set", host,
		"--resource", "VCPU=16", "--resource", "VCPU:allocation_ratio=4.0",
		"--resource", "MEMORY_MB=2048", "--resource", "MEMORY_MB:step_size=128")
	b.bump("")
	b.add("", []row{vcpu, memory, disk}, "resource provider inventory set", host, "--amend", "--resource", "DISK_GB=100")
	b.bump("")
	b.add("", inventory(32, row{"reserved": 2}), "resource provider inventory class set", host, "VCPU", "--total", "32", "--reserved", "2")
	b.bump("")
	b.add("", inventory(32, row{"reserved": 2, "used": 0}), "resource provider inventory show", host, "VCPU")
	b.fail("No inventory of class PGPU for "+host+" (HTTP 404)", "resource provider inventory show", host, "PGPU")
	b.add("", nil, "resource provider inventory delete", host, "--resource-class", "DISK_GB")
	b.bump("")
	b.add("", []row{
		inventory(32, row{"resource_class": "VCPU", "reserved": 2, "used": 0}),
		inventory(2048, row{"resource_class": "MEMORY_MB", "step_size": 128, "used": 0}),
	}, "resource provider inventory list", host)
	b.fail("No such resource class CUSTOM_NONE. (HTTP 400)", "resource provider inventory set", host, "--resource", "CUSTOM_NONE=1")
}

func (b *book) aggregatesAndTraits() {
	set := []string{host, "--aggregate", rack}
	if b.version.has("1.19") {
		set = append(set, "--generation", strconv.Itoa(b.generation))
	}
	b.add("1.1", []row{{"uuid": rack}}, "resource provider aggregate set", set...)
	b.bump("1.19")
	b.add("1.1", []row{{"uuid": rack}}, "resource provider aggregate list", host)
	if b.version.has("1.19") {
		b.fail("Please update the generation and try again. (HTTP 409)",
			"resource provider aggregate set", host, "--aggregate", rack, "--generation", "0")
	}
	traits := names("HW_CPU_X86_AVX2", "CUSTOM_GOLD")
	b.add("1.6", traits, "resource provider trait set", host,
		"--trait", "CUSTOM_GOLD", "--trait", "HW_CPU_X86_AVX2")
	b.bump("1.6")
	b.add("1.6", traits, "resource provider trait list", host)
	b.add("1.6", traits, "trait list", "--associated")
	if b.version.has("1.6") {
		b.fail("No such trait CUSTOM_TIN (HTTP 400)", "resource provider trait set", host, "--trait", "CUSTOM_TIN")
	}
}

func (b *book) filters() {
	spareRow := b.provider(spare, "spare", 0, spare, nil)
	all := []row{b.host(), spareRow}
	if b.version.has("1.14") {
		all = []row{b.host(), b.provider(numa, "numa-0", 0, host, host), spareRow}
	}
	b.add("", all, "resource provider list")
	b.add("", []row{spareRow}, "resource provider list", "--name", "spare")
	b.add("", []row{b.host()}, "resource provider list", "--uuid", host)
	b.add("1.3", []row{b.host()}, "resource provider list", "--member-of", rack)
	b.add("1.4", []row{b.host()}, "resource provider list", "--resource", "VCPU=4", "--resource", "MEMORY_MB=256")
	b.add("1.4", []row{}, "resource provider list", "--resource", "MEMORY_MB=4096")
	b.add("1.14", all[:len(all)-1], "resource provider list", "--in-tree", host)
	b.add("1.18", []row{b.host()}, "resource provider list", "--required", "CUSTOM_GOLD")
	b.add("1.22", all[1:], "resource provider list", "--forbidden", "CUSTOM_GOLD")
	if b.version.has("1.18") { // below it the client refuses the option, not its comma
		b.add("1.39", []row{b.host()}, "resource provider list", "--required", "HW_CPU_X86_AVX512F,HW_CPU_X86_AVX2", "--required", "CUSTOM_GOLD")
	}
}

// candidate is how the client shows a candidate: a line for each provider. It shows
// traits only where the summaries have them, and of the inventories those asked for
// only where the summaries have no others.
func (b *book) candidate(number int, allocation, inventory string) row {
	shown := row{"#": number, "allocation": allocation, "resource provider": host, "inventory used/capacity": inventory}
	if b.version.has("1.17") {
		shown["traits"] = "HW_CPU_X86_AVX2,CUSTOM_GOLD"
	}
	return shown
}

func (b *book) candidates() {
	both := b.candidate(1, "VCPU=2,MEMORY_MB=256", "VCPU=0/30,MEMORY_MB=0/2048")
	b.add("1.10", []row{both}, "allocation candidate list", "--resource", "VCPU=2", "--resource", "MEMORY_MB=256")
	b.add("1.10", []row{}, "allocation candidate list", "--resource", "VCPU=200")
	if !b.version.has("1.10") {
		return // below it the client refuses the command, not its options
	}
	b.add("1.16", []row{both}, "allocation candidate list", "--resource", "VCPU=2", "--resource", "MEMORY_MB=256", "--limit", "1")
	b.add("1.17", []row{both}, "allocation candidate list", "--resource", "VCPU=2", "--resource", "MEMORY_MB=256", "--required", "CUSTOM_GOLD")
	b.add("1.22", []row{}, "allocation candidate list", "--resource", "VCPU=2", "--forbidden", "CUSTOM_GOLD")
	b.add("1.21", []row{both}, "allocation candidate list", "--resource", "VCPU=2", "--resource", "MEMORY_MB=256", "--member-of", rack)
	b.add("1.25", []row{both}, "allocation candidate list", "--group", "1", "--resource", "VCPU=2", "--group", "2", "--resource", "MEMORY_MB=256", "--group-policy", "none")
	b.add("1.25", []row{}, "allocation candidate list", "--group", "1", "--resource", "VCPU=2", "--group", "2", "--resource", "MEMORY_MB=256", "--group-policy", "isolate")
	b.fail("No such trait(s): CUSTOM_TIN. (HTTP 400)", "allocation candidate list", "--resource", "VCPU=2", "--required", "CUSTOM_TIN")
}

// owner is the part of a call that says whose an allocation is.
func (b *book) owner() []string {
	var args []string
	if b.version.has("1.8") {
		args = append(args, "--project-id", "lab", "--user-id", "ada")
	}
	if b.version.has("1.38") {
		args = append(args, "--consumer-type", "INSTANCE")
	}
	return args
}

// allocation is how the client shows the allocation on the host.
func (b *book) allocation(resources row) row {
	shown := row{"resource_provider": host, "generation": b.generation, "resources": resources}
	if b.version.has("1.12") {
		shown["project_id"], shown["user_id"] = "lab", "ada"
	}
	if b.version.has("1.38") {
		shown["consumer_type"] = "INSTANCE"
	}
	return shown
}

func (b *book) allocations() {
	claim := func(amounts string) []string {
		return append([]string{instance, "--allocation", "rp=" + host + "," + amounts}, b.owner()...)
	}
	b.fail("The requested amount would exceed the capacity. (HTTP 409)",
		"resource provider allocation set", claim("VCPU=31,MEMORY_MB=256")...)
	b.bump("")
	b.add("", []row{b.allocation(row{"VCPU": 4, "MEMORY_MB": 256})}, "resource provider allocation set", claim("VCPU=4,MEMORY_MB=256")...)
	b.add("", []row{b.allocation(row{"VCPU": 4, "MEMORY_MB": 256})}, "resource provider allocation show", instance)
	b.add("", []row{{"resource_class": "VCPU", "usage": 4}, {"resource_class": "MEMORY_MB", "usage": 256}},
		"resource provider usage show", host)
	b.add("1.9", b.projectUsage(), "resource usage show", "lab", "--user-id", "ada")
	shown, allocation := b.host(), row{"resources": row{"VCPU": 4, "MEMORY_MB": 256}}
	if b.version.has("1.28") {
		allocation["consumer_generation"] = 1
	}
	shown["allocations"] = row{instance: allocation}
	b.add("", shown, "resource provider show", host, "--allocations")
	if b.version.has("1.14") {
		b.fail("It has child resource providers. (HTTP 409)", "resource provider delete", host)
		b.add("", nil, "resource provider delete", numa)
	}
	b.fail("Resource provider has allocations. (HTTP 409)", "resource provider delete", host)
	b.bump("1.12")
	b.add("1.12", []row{b.allocation(row{"VCPU": 4})}, "resource provider allocation unset", instance, "--resource-class", "MEMORY_MB")
	b.add("", nil, "resource provider allocation delete", instance)
	b.add("", []row{}, "resource provider allocation show", instance)
	b.fail("No allocations for consumer '"+instance+"' (HTTP 404)", "resource provider allocation delete", instance)
}

// projectUsage is what the client makes of the usages of a project. From 1.38 on
// they are grouped by type of consumer, and the client shows the groups as they
// are.
func (b *book) projectUsage() []row {
	if b.version.has("1.38") {
		return []row{{"resource_class": "INSTANCE", "usage": row{"VCPU": 4, "MEMORY_MB": 256, "consumer_count": 1}}}
	}
	return []row{{"resource_class": "VCPU", "usage": 4}, {"resource_class": "MEMORY_MB", "usage": 256}}
}

func (b *book) cleanUp() {
	b.add("1.6", nil, "resource provider trait delete", host)
	b.bump("1.6")
	if b.version.has("1.5") {
		b.add("", nil, "resource provider inventory delete", host)
	} else {
		b.fail("the following arguments are required: --resource-class", "resource provider inventory delete", host)
	}
	b.add("", nil, "resource provider delete", host)
	b.add("", nil, "resource provider delete", spare)
	b.add("", []row{}, "resource provider list")
	b.add("1.6", nil, "trait delete", "CUSTOM_GOLD")
	b.add("1.6", []row{}, "trait list", "--name", "startswith:CUSTOM_")
	b.add("1.2", nil, "resource class delete", "CUSTOM_SMARTNIC")
}
