package baremetal

import (
	"fmt"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/wire/microversion"
)

// Extensions are the versions of Berth's extensions that change this API, oldest first. All others equal the nearest
// lower one. Each has a route table and a document of its own.
var Extensions = []microversion.Extension{0, berth12}

// berth12 is the version that adds explanations of allocations.
const berth12 microversion.Extension = 2

// NearestExtension returns the version whose route table serves the given one.
func NearestExtension(extension microversion.Extension) microversion.Extension {
	nearest := Extensions[0]
	for _, change := range Extensions {
		if change <= extension {
			nearest = change
		}
	}
	return nearest
}

// extend changes the properties of the API to those with extensions. Clients select them in the common header, because
// the header of this API has no entries for other services.
func extend(api *route.API, extension microversion.Extension) *route.API {
	value := func(at microversion.Version) string {
		return microversion.BaremetalService + " " + at.String() + ", " + extension.HeaderValue()
	}
	api.VersionHeader, api.AnnouncedIn = microversion.Header, microversion.BaremetalHeader
	api.VersionValue = value
	api.VersionSchema = "Microversion and version of the extensions, in the format of the header " + microversion.Header + "."
	api.Label = func(at microversion.Version) string { return at.String() + ", " + extension.HeaderValue() }
	api.Description = func(at microversion.Version) string {
		return fmt.Sprintf("Nodes and node allocations at microversion %s, with version %s of Berth's extensions. "+
			"Send the header `%s: %s` with every request. The extensions of node allocations need microversion 1.52 or "+
			"newer.\n\n%s", at, extension, microversion.Header, value(at), format)
	}
	return api
}
