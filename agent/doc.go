// Package agent synchronizes the provider tree of one host in a service of the Placement API with the host. A Driver
// states the resources of the host. The Tracker loads the tree, calls the driver, writes the difference, and decides
// which errors it retries, which wait for the next pass, and which abort the start.
//
// It is not for the resources of a machine (package host discovers a Linux machine, package planfile executes a plan
// file) and not for requests or the cache (package client). It claims nothing and starts no workload.
package agent
