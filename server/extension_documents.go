package server

import (
	"github.com/berthd/berth/server/api/baremetal"
	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/wire/microversion"
)

// ExtensionDocument is the OpenAPI document of the newest microversion of an API with Berth's extensions up to a
// version.
type ExtensionDocument struct {
	// API is placement or baremetal.
	API       string
	Extension microversion.Extension
	Table     *route.Table
	Version   microversion.Version
}

// Path returns the path of the document below /openapi/, without .json: "berth/placement-1.1".
func (d *ExtensionDocument) Path() string { return extensionPath(d.API, d.Extension.String()) }

func extensionPath(api, extension string) string {
	return microversion.ExtensionService + "/" + api + "-" + extension
}

// Title returns the versions that the document describes: "placement 1.39, berth 1.1".
func (d *ExtensionDocument) Title() string { return d.Table.API().VersionValue(d.Version) }

// Build builds the document.
func (d *ExtensionDocument) Build() ([]byte, error) { return d.Table.Document(d.Version) }

// ExtensionDocuments returns the documents with extensions: those of the Placement API, then those of the Bare Metal
// API, oldest first. A version without a document equals the nearest lower one of its API.
func ExtensionDocuments() []ExtensionDocument {
	return extensionDocuments(Table(Options{}), extendedTables(Options{}, nil))
}

func extensionDocuments(placement *route.Table, machines map[microversion.Extension]*route.Table) []ExtensionDocument {
	var all []ExtensionDocument
	for _, version := range placement.API().Extensions {
		all = append(all, ExtensionDocument{"placement", version.Extension(), placement, version})
	}
	for _, extension := range baremetal.Extensions {
		table := machines[extension]
		all = append(all, ExtensionDocument{"baremetal", extension, table, table.API().Max})
	}
	return all
}

// addExtensions serves each document for all versions that it describes: berth/placement-1.1.json and so on.
func (d *documents) addExtensions(all []ExtensionDocument) {
	for _, document := range all {
		for extension := document.Extension; extension <= microversion.ExtensionMax; extension++ {
			d.names[extensionPath(document.API, extension.String())+".json"] = documentName{document.Table, document.Version}
		}
		d.names[extensionPath(document.API, microversion.Latest)+".json"] = documentName{document.Table, document.Version}
	}
}
