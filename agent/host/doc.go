// Package host has the driver for Linux hosts, which discovers the hardware of a host and edits its provider tree
// accordingly.
//
// Discover reads the hardware from the kernel. A Config selects the resources to report. A Layout selects their
// providers: the root for all (flat), or a provider per NUMA node for CPUs and memory (numa). A Driver compares the
// desired tree with the current one, edits the differences, and moves allocations together with inventory.
//
// ghw reads sockets, cores, threads, the total memory, disks and network cards. This package reads the rest from /proc
// and /sys: CPU flags, the NUMA nodes with their CPUs, memory and huge pages, PCI devices (ghw cannot list them without
// a database of names), virtual functions, and mediated devices.
//
// It is not for requests to the server, which the tracker of package agent sends, nor for the devices of consumers,
// which package consumers finds. It starts no process, changes nothing on the host, and needs no hypervisor.
package host
