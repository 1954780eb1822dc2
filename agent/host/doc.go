// Package host is the driver for a Linux machine: it discovers the resources of the machine and edits the provider tree
// of its node accordingly.
//
// Discover reads the hardware from the kernel. A Config selects the resources to report, and a Layout their place in
// the tree: all on the root (flat), or CPUs and memory on a provider for each NUMA node (numa). A Driver compares that
// with the tree that it gets, edits the differences, and moves allocations together with inventory.
//
// Packages, cores, threads, the sum of memory, disks and network cards come from ghw. The rest comes from /proc and
// /sys: CPU flags, the NUMA nodes with their CPUs, memory and huge pages, PCI devices (ghw cannot list them without a
// database of names), virtual functions, and mediated devices.
//
// It is not for requests to the service, which the tracker of package agent sends, and not for the devices of
// consumers, which package consumers finds. It starts nothing, changes nothing on the machine, and needs no hypervisor.
package host
