package admin

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/wire/microversion"
)

// OpenAPI returns `berth openapi`.
func OpenAPI(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "openapi",
		Short: "Print the OpenAPI document of a microversion",
		Long: `Print the OpenAPI 3.1 document of the Placement API, or of the Bare Metal API, at one
microversion (default: the newest). With --berth, print the document of the newest
microversion with Berth's extensions up to that version. A running service serves the
same documents under /openapi/1.39.json, /openapi/baremetal/1.82.json,
/openapi/berth/placement-1.1.json and so on. The command builds them from the route
tables and needs neither a database nor a configuration.

Exit codes: 0 printed or written, 1 a file cannot be written, 2 the command line is
invalid.`,
		Example: `  berth openapi
  berth openapi --microversion 1.14 --output placement-1.14.json
  berth openapi --api baremetal --microversion 1.60
  berth openapi --berth 1.1
  berth openapi --all documents   # the documents of all microversions: documents/1.0.json, …`,
		Args: cobra.NoArgs,
	}
	api := command.Flags().String("api", apiPlacement, "`name` of the API: placement or baremetal")
	wanted := command.Flags().String("microversion", "", "`microversion` of the API, or latest (default latest)")
	extension := command.Flags().String("berth", "", "`version` of Berth's extensions, or latest (default none)")
	output := command.Flags().StringP("output", "o", "", "`file` to write instead of standard output")
	directory := command.Flags().String("all", "", "`directory` to write the documents of all microversions to; with --berth, of all versions of the extensions up to it")
	command.RunE = func(*cobra.Command, []string) error {
		found, err := findDocuments(*api, *wanted, *extension, *directory != "")
		switch {
		case *directory != "" && (*wanted != "" || *output != ""):
			return flagError("all", *directory, "writes every document to a file of its own", "leave --microversion and --output out")
		case err != nil:
			return err
		case *directory != "":
			return writeDocuments(found, *directory)
		}
		document, err := found[0].build()
		if err != nil {
			return err
		}
		if *output != "" {
			return os.WriteFile(*output, document, 0o644)
		}
		_, err = f.Stdout.Write(document)
		return err
	}
	return command
}

// flagError returns the error of a flag.
func flagError(flag, value, broken, remedy string) error {
	return frame.InputErrors{&frame.InputError{Setting: flag, Value: value, Origin: "flag --" + flag, Rule: frame.Rule{
		Broken: broken, Remedy: remedy,
	}}}
}

// document is the document of a version, and the name of its file without .json.
type document struct {
	name    string
	table   *route.Table
	version microversion.Version
}

func (d *document) build() ([]byte, error) {
	document, err := d.table.Document(d.version)
	if err != nil {
		return nil, fmt.Errorf("making the document of %s: %w", d.name, err)
	}
	return document, nil
}

// findDocuments reads the flags. It returns one document, or all that --all writes.
func findDocuments(api, wanted, extension string, all bool) ([]document, error) {
	table, err := tableOf(api)
	if err != nil {
		return nil, err
	}
	if extension != "" {
		if wanted != "" {
			return nil, flagError("berth", extension, "has documents of the newest microversion only", "leave --microversion out")
		}
		return findExtended(api, extension, all)
	}
	if all {
		var found []document
		for _, version := range table.API().Versions() {
			found = append(found, document{version.String(), table, version})
		}
		return found, nil
	}
	version, err := findMicroversion(table.API(), wanted)
	return []document{{version.String(), table, version}}, err
}

// parseExtension reads the flag --berth.
func parseExtension(wanted string) (microversion.Extension, error) {
	header := microversion.ExtensionService + " " + wanted
	extension, selected, err := microversion.NegotiateExtension(microversion.Parse([]string{header}))
	if err != nil || !selected {
		return extension, flagError("berth", wanted, "is not a version of Berth's extensions",
			fmt.Sprintf("write one from %s to %s, or latest", microversion.ExtensionMin, microversion.ExtensionMax))
	}
	return extension, nil
}

// findExtended returns the document of a version of the extensions, or those of all versions up to it.
func findExtended(api, wanted string, all bool) ([]document, error) {
	extension, err := parseExtension(wanted)
	var found []document
	for _, extensionDocument := range server.ExtensionDocuments() {
		if extensionDocument.API == api && extensionDocument.Extension <= extension {
			found = append(found, document{extensionDocument.Extension.String(), extensionDocument.Table, extensionDocument.Version})
		}
	}
	switch {
	case err != nil:
		return nil, err
	case len(found) == 0:
		return nil, flagError("berth", wanted, "has no extensions of this API", "write a later version, or latest")
	}
	if !all {
		found = found[len(found)-1:]
	}
	return found, nil
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
	return nil, flagError("api", api, "is not an API of this service", "write placement or baremetal")
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
	return api.Max, flagError("microversion", wanted, "is not a microversion of this service",
		fmt.Sprintf("write one from %s to %s, or latest", api.Min, api.Max))
}

// writeDocuments writes 1.0.json, 1.1.json and so on.
func writeDocuments(all []document, directory string) error {
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return err
	}
	for _, item := range all {
		document, err := item.build()
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(directory, item.name+".json"), document, 0o644); err != nil {
			return err
		}
	}
	return nil
}
