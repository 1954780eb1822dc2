package main

import (
	"path/filepath"
	"slices"
	"strings"
)

// renamed turns a command line of the service before into one of ours, where the
// program is called by its name: a symbolic link placement-manage or placement-status
// keeps scripts alive. There the options that every command takes come first.
func renamed(program string, arguments []string) []string {
	var own []string
	switch filepath.Base(program) {
	case "placement-manage":
	case "placement-status":
		own = []string{"status"}
	default:
		return arguments
	}
	if slices.Equal(arguments, []string{"--version"}) {
		return []string{"version"}
	}
	var last []string
	for len(arguments) > 0 && strings.HasPrefix(arguments[0], "-") {
		name, _, whole := strings.Cut(arguments[0], "=")
		switch {
		case name == "--debug", name == "-d":
			last = append(last, "--log-level=debug")
		case name == "--nodebug":
		case (name == "--config-file" || name == "--config-dir") && !whole && len(arguments) > 1:
			last = append(last, arguments[:2]...)
			arguments = arguments[1:]
		default:
			last = append(last, arguments[0])
		}
		arguments = arguments[1:]
	}
	return slices.Concat(own, arguments, last)
}
