package admin

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/internal/frame"
	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/microversion"
	"github.com/berthd/berth/server/route"
)

// OpenAPI returns `berth openapi`.
func OpenAPI(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "openapi",
		Short: "Print the OpenAPI document of a microversion",
		Long: `Print the OpenAPI 3.1 document of the Placement API, or of the Bare Metal API, at one
microversion (default: the newest). A running service serves the same documents under
/openapi/1.39.json, /openapi/baremetal/1.82.json and so on. The command builds them
from the route tables and needs neither a database nor a configuration.

Exit codes: 0 printed or written, 1 a file cannot be written, 2 the command line is
invalid.`,
		Example: `  berth openapi
  berth openapi --microversion 1.14 --output placement-1.14.json
  berth openapi --api baremetal --microversion 1.60
  berth openapi --all documents   # the documents of all microversions: documents/1.0.json, …`,
		Args: cobra.NoArgs,
	}
	api := command.Flags().String("api", apiPlacement, "`name` of the API: placement or baremetal")
	wanted := command.Flags().String("microversion", "", "`microversion` of the API, or latest (default latest)")
	output := command.Flags().StringP("output", "o", "", "`file` to write instead of standard output")
	directory := command.Flags().String("all", "", "`directory` to write the documents of all microversions to")
	command.RunE = func(*cobra.Command, []string) error {
		if *directory != "" && (*wanted != "" || *output != "") {
			return frame.InputErrors{&frame.InputError{Setting: "all", Value: *directory, Origin: "flag --all", Rule: frame.Rule{
				Broken: "writes every document to a file of its own", Remedy: "leave --microversion and --output out",
			}}}
		}
		table, err := tableOf(*api)
		if err != nil {
			return err
		}
		if *directory != "" {
			return writeDocuments(table, *directory)
		}
		version, err := findMicroversion(table.API(), *wanted)
		if err != nil {
			return err
		}
		document, err := table.Document(version)
		if err != nil {
			return fmt.Errorf("making the document of %s: %w", version, err)
		}
		if *output != "" {
			return os.WriteFile(*output, document, 0o644)
		}
		_, err = f.Stdout.Write(document)
		return err
	}
	return command
}

const (
	apiPlacement = "placement"
	apiBaremetal = "baremetal"
)

// tableOf returns the route table of an API, from which the documents are built. It serves
// no request, so it needs no database.
func tableOf(api string) (*route.Table, error) {
	switch api {
	case apiPlacement:
		return server.Table(server.Options{}), nil
	case apiBaremetal:
		return server.BaremetalTable(server.Options{}), nil
	}
	return nil, frame.InputErrors{&frame.InputError{Setting: "api", Value: api, Origin: "flag --api", Rule: frame.Rule{
		Broken: "is not an API of this service", Remedy: "write placement or baremetal",
	}}}
}

// findMicroversion reads the flag. Empty means the newest.
func findMicroversion(api *route.API, wanted string) (microversion.Version, error) {
	if wanted == "" || wanted == microversion.Latest {
		return api.Max, nil
	}
	for version := api.Min; version <= api.Max; version++ {
		if version.String() == wanted {
			return version, nil
		}
	}
	return api.Max, frame.InputErrors{&frame.InputError{Setting: "microversion", Value: wanted, Origin: "flag --microversion", Rule: frame.Rule{
		Broken: "is not a microversion of this service",
		Remedy: fmt.Sprintf("write one from %s to %s, or latest", api.Min, api.Max),
	}}}
}

// writeDocuments writes 1.0.json, 1.1.json and so on.
func writeDocuments(table *route.Table, directory string) error {
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return err
	}
	for _, version := range table.API().Versions() {
		document, err := table.Document(version)
		if err != nil {
			return fmt.Errorf("making the document of %s: %w", version, err)
		}
		if err := os.WriteFile(filepath.Join(directory, version.String()+".json"), document, 0o644); err != nil {
			return err
		}
	}
	return nil
}
