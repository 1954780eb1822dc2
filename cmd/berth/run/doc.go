// Package run has `berth run`: it finds a place, claims it with a lease, runs a command there, renews the lease, and gives the
// place back when the command ends.
//
// It is not for claims that outlive a command (package apicommand, `berth claim`), nor for starting commands on other hosts.
package run
