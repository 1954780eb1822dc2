package command

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/berthd/berth/cmd/berth/frame"
)

// TranslateOldCommand translates a command line of OpenStack Placement if the program is called
// placement-manage or placement-status, for example by a symbolic link. It returns other command
// lines unchanged. In OpenStack Placement the global options precede the command. Without an option
// for the configuration or the database, the command line gets --config-file with the file of
// OpenStack Placement, so that scripts use the same database as before.
func TranslateOldCommand(program string, arguments, environ []string) []string {
	var command []string
	switch filepath.Base(program) {
	case "placement-manage":
	case "placement-status":
		command = []string{"status"}
	default:
		return arguments
	}
	if slices.Equal(arguments, []string{"--version"}) {
		return []string{"version"}
	}
	var globals []string
	for len(arguments) > 0 && strings.HasPrefix(arguments[0], "-") {
		name, _, hasValue := strings.Cut(arguments[0], "=")
		switch {
		case name == "--debug", name == "-d":
			globals = append(globals, "--log-level=debug")
		case name == "--nodebug":
		case (name == "--config-file" || name == "--config-dir") && !hasValue && len(arguments) > 1:
			globals = append(globals, arguments[:2]...)
			arguments = arguments[1:]
		default:
			globals = append(globals, arguments[0])
		}
		arguments = arguments[1:]
	}
	translated := slices.Concat(command, arguments, globals)
	if len(command)+len(arguments) > 1 && !namesConfiguration(translated, frame.Environment(environ)) {
		translated = append(translated, "--config-file="+defaultPlacementConf)
	}
	return translated
}

// namesConfiguration reports whether an option or a variable names a configuration or a database.
func namesConfiguration(arguments []string, variables map[string]string) bool {
	byVariable := slices.ContainsFunc([]string{"BERTH_CONFIG_FILE", "BERTH_CONFIG_DIR", "OS_PLACEMENT_CONFIG_DIR", "BERTH_DATABASE_URL", "BERTH_DATABASE_URL_FILE"},
		func(name string) bool { return variables[name] != "" })
	return byVariable || slices.ContainsFunc(arguments, func(word string) bool { return strings.HasPrefix(word, "--config-") })
}

// defaultPlacementConf is the configuration file of OpenStack Placement.
const defaultPlacementConf = "/etc/placement/placement.conf"
