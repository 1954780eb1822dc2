// Package frame has the parts that all commands share: streams, environment and signals, exit
// codes, input errors, and output formats.
//
// It is not for any setting (packages setting and config), nor for any one command.
package frame

import (
	"io"
	"os"
	"strings"
)

// Frame is the environment of a command, which tests can replace.
type Frame struct {
	// Environ holds the environment variables as NAME=value.
	Environ []string
	// Variables lists the BERTH_ variables that commands read besides the settings of the server.
	// Commands warn about other BERTH_ variables that are not settings.
	Variables      []string
	Stdout, Stderr io.Writer
	// Signals catches the signals that stop the process, until stop is called.
	Signals func() (signals <-chan os.Signal, stop func())
}

// System returns the frame of a real process.
func System() *Frame {
	return &Frame{Environ: os.Environ(), Stdout: os.Stdout, Stderr: os.Stderr, Signals: SystemSignals}
}

// Environment returns the variables of an environment by name. The last value of a repeated name
// counts.
func Environment(environ []string) map[string]string {
	variables := make(map[string]string, len(environ))
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		variables[name] = value
	}
	return variables
}
