package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/microversion"
	"github.com/berthd/berth/server/route"
)

func (p *process) openapiCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "openapi",
		Short: "Print the OpenAPI document of a microversion",
		Long: `Print the OpenAPI 3.1 document of the Placement API, or of the Bare Metal API, at one
microversion, the newest unless another is named. A running service has the same
documents under /openapi/1.39.json, /openapi/baremetal/1.82.json and so on.`,
		Example: `  berth openapi
  berth openapi --microversion 1.14 --output placement-1.14.json
  berth openapi --api baremetal --microversion 1.60
  berth openapi --all openapi/placement   # every document, as checked in`,
		Args: cobra.NoArgs,
	}
	api := command.Flags().String("api", apiPlacement, "`name` of the API: placement or baremetal")
	wanted := command.Flags().String("microversion", "", "`version` of the API, or latest (default latest)")
	output := command.Flags().StringP("output", "o", "", "`file` to write instead of standard output")
	directory := command.Flags().String("all", "", "`directory` to write the documents of all microversions to")
	command.RunE = func(*cobra.Command, []string) error {
		if *directory != "" && (*wanted != "" || *output != "") {
			return mistakes{&mistake{"all", *directory, "flag --all", rule{
				"writes every document to a file of its own", "leave --microversion and --output out",
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
		_, err = p.stdout.Write(document)
		return err
	}
	return command
}

const (
	apiPlacement = "placement"
	apiBaremetal = "baremetal"
)

// tableOf makes the route table of an API. The documents are made from it, so that
// they can be generated before they are checked in; no request is served, so the
// table needs no database.
func tableOf(api string) (*route.Table, error) {
	switch api {
	case apiPlacement:
		return server.Table(server.Options{}), nil
	case apiBaremetal:
		return server.BaremetalTable(server.Options{}), nil
	}
	return nil, mistakes{&mistake{"api", api, "flag --api", rule{
		"is not an API of this service", "write placement or baremetal",
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
	return api.Max, mistakes{&mistake{"microversion", wanted, "flag --microversion", rule{
		"is not a microversion of this service",
		fmt.Sprintf("write one from %s to %s, or latest", api.Min, api.Max),
	}}}
}

// writeDocuments names the files as they are checked in: 1.0.json, 1.1.json, …
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
