// Package version knows which berth this is, and has the command that prints it.
//
// It is not for versions of the APIs (package microversion) or of the schema (package migrate).
package version

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/internal/frame"
	"github.com/berthd/berth/server/microversion"
)

// version is set by the linker (-X github.com/berthd/berth/internal/version.version=v1.2.3); `go install` and
// `go run` leave it empty, and the build information answers instead.
var version string

// Build says which berth this is.
type Build struct {
	Version  string `json:"version"`
	Revision string `json:"revision"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	// The microversions of the Placement API.
	Oldest string `json:"min_microversion"`
	Newest string `json:"max_microversion"`
}

// This returns what the linker and the build information say of this program.
func This() Build {
	served := microversion.All()
	b := Build{
		Version: version, Revision: "unknown", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
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
		case fact.Key == "vcs.revision":
			b.Revision = fact.Value
		case fact.Key == "vcs.modified" && fact.Value == "true":
			b.Revision += " with changes"
		}
	}
	return b
}

// Command makes `berth version`.
func Command(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "version",
		Short: "Show which berth this is",
		Long: `Show the version, the revision it was built from, the Go version and platform of
the build, and the microversions of the Placement API that it serves.`,
		Example: "  berth version\n  berth version --output json",
		Args:    cobra.NoArgs,
	}
	format := frame.OutputFlag(command)
	command.RunE = func(*cobra.Command, []string) error {
		if err := frame.CheckOutput(*format); err != nil {
			return err
		}
		b := This()
		return frame.PrintAs(f.Stdout, *format, b, [][]string{
			{"VERSION", "REVISION", "GO", "PLATFORM", "MICROVERSIONS"},
			{b.Version, b.Revision, b.Go, b.Platform, b.Oldest + " to " + b.Newest},
		})
	}
	return command
}
