package command

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/berthd/berth/internal/frame"
)

// TranslateOldCommand turns a command line of OpenStack Placement into one of ours, where the
// program is called by its name: a symbolic link placement-manage or placement-status
// keeps scripts alive. There the options that every command takes come first, and the
// file of OpenStack Placement is read without being named, so that no such script ever
// looks at another database.
func TranslateOldCommand(program string, arguments, environ []string) []string {
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
	whole := slices.Concat(own, arguments, last)
	if len(own)+len(arguments) > 1 && !namesConfiguration(whole, frame.Environment(environ)) {
		whole = append(whole, "--config-file="+defaultPlacementConf)
	}
	return whole
}

func namesConfiguration(arguments []string, variables map[string]string) bool {
	byVariable := slices.ContainsFunc([]string{"BERTH_CONFIG_FILE", "BERTH_CONFIG_DIR", "OS_PLACEMENT_CONFIG_DIR", "BERTH_DATABASE_URL", "BERTH_DATABASE_URL_FILE"},
		func(name string) bool { return variables[name] != "" })
	return byVariable || slices.ContainsFunc(arguments, func(word string) bool { return strings.HasPrefix(word, "--config-") })
}

// defaultPlacementConf is the configuration file of OpenStack Placement.
const defaultPlacementConf = "/etc/placement/placement.conf"
