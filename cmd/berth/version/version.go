// Package version returns the version and build information of this program, and has `berth version`.
//
// It is not for versions of the APIs (package microversion) or of the schema (package migrate).
package version

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/server/wire/microversion"
)

// version, commit and date are set by the linker (-X github.com/berthd/berth/cmd/berth/version.version=v1.2.3). date is
// that of the commit, as YYYY-MM-DD. They are empty with `go install` and `go run`; This then uses the build information.
var version, commit, date string

// Build is the version and build information of the program.
type Build struct {
	Version  string `json:"version"`
	Revision string `json:"revision"`
	// Date is the date of the commit, or empty.
	Date     string `json:"-"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	// Oldest and Newest are the limits of the supported microversions of the Placement API.
	Oldest string `json:"min_microversion"`
	Newest string `json:"max_microversion"`
}

// This returns the Build of this program.
func This() Build {
	served := microversion.All()
	b := Build{
		Version: version, Revision: cmp.Or(commit, "unknown"), Date: date, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Oldest: served[0].String(), Newest: served[len(served)-1].String(),
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if b.Version == "" {
		b.Version = info.Main.Version
	}
	for _, fact := range info.Settings {
		switch {
		case commit != "":
		case fact.Key == "vcs.revision":
			b.Revision = fact.Value
		case fact.Key == "vcs.time":
			b.Date, _, _ = strings.Cut(fact.Value, "T")
		case fact.Key == "vcs.modified" && fact.Value == "true":
			b.Revision += " with changes"
		}
	}
	return b
}

// Line returns the version, commit and date of this program in one line, for `berth --version`.
func Line() string {
	b := This()
	return fmt.Sprintf("berth %s, commit %s, %s", b.Version, b.Revision, cmp.Or(b.Date, "unknown date"))
}

// Command returns `berth version`.
func Command(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "version",
		Short: "Show the version of Berth",
		Long: `Show the version of Berth, its source revision, the Go version and platform of the
build, and the supported microversions of the Placement API. Exit codes: 0 printed,
2 the command line is invalid.`,
		Example: "  berth version\n  berth version --output json",
		Args:    cobra.NoArgs,
	}
	format := frame.OutputFlag(command)
	command.RunE = func(*cobra.Command, []string) error {
		b := This()
		return frame.PrintAs(f.Stdout, *format, b, [][]string{
			{"VERSION", "REVISION", "GO", "PLATFORM", "MICROVERSIONS"},
			{b.Version, b.Revision, b.Go, b.Platform, b.Oldest + " to " + b.Newest},
		})
	}
	return command
}
