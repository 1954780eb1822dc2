// Package agent keeps what a service of the Placement API knows of one host in
// step with the host. A Driver says what the host has; the Tracker loads the
// tree, asks the driver, writes the difference, and decides what is tried again,
// what waits for the next run, and what must stop a start.
//
// It is not for what a machine looks like (package host surveys a Linux machine,
// package declared follows a file) and not for the wire or the cache (package
// client). It claims nothing and starts no workload.
package agent
