package hostcommand

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/agent/host"
	"github.com/berthd/berth/cmd/berth/frame"
)

// hardwareCommand returns `berth agent hardware`.
func hardwareCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "hardware",
		Short: "Show the hardware that the agent discovers",
		Long: `Show the hardware of this host as the agent discovers it, and the reason for each part
that it cannot read. The command only reads and sends no request. 'berth agent
--hardware-file' accepts its JSON output instead of the hardware of the host. Exit
codes: 0 printed, 1 failed, 2 the command line is invalid.`,
		Example: `  berth agent hardware
  berth agent hardware --root /host --output json > machine.json`,
		Args: cobra.NoArgs,
	}
	format := frame.OutputFlag(command)
	root := command.Flags().String("root", "/", "root `directory` of the host's file system; in containers often /host")
	disk := command.Flags().String("disk-path", "/", "`path` on the file system that is reported as DISK_GB")
	command.RunE = func(c *cobra.Command, _ []string) error {
		machine, err := host.Discover(c.Context(), host.SurveyOptions{Root: *root, DiskPath: *disk})
		if err != nil {
			return err
		}
		return frame.PrintAs(f.Stdout, *format, machine, hardwareTable(machine))
	}
	return command
}

// hardwareTable returns a summary of the hardware as a table.
func hardwareTable(machine *host.Machine) [][]string {
	rows := [][]string{{"PART", "FOUND"}}
	add := func(part, format string, values ...any) {
		rows = append(rows, []string{part, fmt.Sprintf(format, values...)})
	}
	add("architecture", "%s %s", machine.Architecture, machine.Vendor)
	for _, socket := range machine.Sockets {
		add("socket", "%d: %s, %d cores, %d threads", socket.ID, strings.TrimSpace(socket.Model), socket.Cores, socket.Threads)
	}
	add("CPUs", "%d online, %d isolated, %d flags", len(machine.CPUs), len(machine.Isolated), len(machine.Flags))
	add("memory", "%d MiB%s", machine.MemoryMB, pagesText(machine.HugePages))
	for _, node := range machine.Nodes {
		add("NUMA node", "%d: %d CPUs, %d MiB%s", node.ID, len(node.CPUs), node.MemoryMB, pagesText(node.HugePages))
	}
	if machine.Filesystem != nil {
		add("file system", "%s: %d GiB", machine.Filesystem.Path, machine.Filesystem.TotalGB)
	}
	for _, disk := range machine.Disks {
		add("disk", "%s: %d GiB, %s, %s", disk.Name, disk.SizeGB, disk.Type, disk.Bus)
	}
	for _, nic := range machine.NICs {
		if !nic.Virtual {
			add("network card", "%s %s", nic.Name, nic.Address)
		}
	}
	for _, device := range machine.Devices {
		if device.Display() || device.Network() {
			add("PCI device", "%s: %s:%s, class %s, NUMA node %d, %d virtual functions of %d, %d mediated types", device.Address,
				device.Vendor, device.Product, device.Class, device.Node, len(device.VirtualFunctions), device.TotalVFs, len(device.MediatedTypes))
		}
	}
	for _, missing := range machine.Missing {
		add("MISSING", "%s", missing)
	}
	return rows
}

// pagesText returns a suffix with the huge pages that are part of the memory.
func pagesText(all []host.HugePages) string {
	var parts []string
	for _, pages := range all {
		if pages.Total > 0 {
			parts = append(parts, fmt.Sprintf("%d pages of %d kB", pages.Total, pages.SizeKB))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return ", including " + strings.Join(parts, " and ")
}
