// Package host is the driver for a Linux machine: it finds out what the machine
// has and keeps the provider tree of its node like it.
//
// Survey tells the facts, as far as the kernel tells them. A Config says what of
// it is to be offered and how, and a Layout where in the tree it stands: everything
// on the root (flat), or CPUs and memory on a provider for each NUMA node (numa). A
// Driver compares that with the tree that it is given, edits what differs, and
// carries allocations over when inventory changes its place.
//
// Packages, cores, threads, the sum of memory, disks and network cards come from
// ghw. What ghw does not tell, or tells only for all at once or not at all, is read
// from /proc and /sys directly: CPU flags, the NUMA nodes with their CPUs, memory
// and huge pages, PCI devices (ghw cannot list them without a database of names),
// virtual functions, and mediated devices.
//
// It is not for talking to the service, which the tracker of package agent does, and
// not for knowing which consumer uses what, which it asks of package consumers. It
// starts nothing, changes nothing on the machine, and needs no hypervisor.
package host
