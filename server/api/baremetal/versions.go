package baremetal

import (
	"context"
	"fmt"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berthd/berth/server/api/apierr"
	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/identity/policy"
	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/microversion"
	"github.com/berthd/berth/server/wire/request"
)

// changes are the microversions at which something changes that Berth implements. All others behave like the nearest
// lower one.
var changes = []microversion.Version{
	1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 14, 16, 18, 19, 20, 21, 22, 23, 24, 27, 30, 31, 32, 33, 34, 37, 38, 40, 42, 43, 44, 45,
	46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 57, 58, 60, 61, 65, 66, 73, 75, 77, 82,
}

// API returns the properties of the Bare Metal API that are not part of an operation, with Berth's extensions up to a
// version; nil: without extensions.
func API(extension *microversion.Extension) *route.API {
	if extension != nil {
		return extend(API(nil), *extension)
	}
	always := []string{
		microversion.BaremetalRequestID, microversion.BaremetalHeader,
		microversion.BaremetalMinHeader, microversion.BaremetalMaxHeader,
	}
	return &route.API{
		Service: request.Baremetal, Min: microversion.BaremetalMin, Max: microversion.BaremetalMax, Changes: changes,
		StrictQuery: true,
		Title:       "Bare Metal API", Description: introduction,
		VersionHeader: microversion.BaremetalHeader,
		VersionValue:  microversion.Version.String,
		VersionSchema: "Microversion, in the format of the header " + microversion.BaremetalHeader + ".",
		Headers:       sharedHeaders, OnSuccess: always, OnFailure: always,
		Errors: reflect.TypeFor[apierr.Baremetal](),
		Usual: route.Failure{
			Name: "unexpected-arguments", When: "The query string has an argument that the operation does not have.",
			Fault: fault.New(fault.Invalid, "Unexpected arguments: color"),
		},
		UsualName: "UnexpectedArguments",
		Denied: func(ctx context.Context) any {
			return apierr.ResponseFor(ctx, fault.New(fault.Unauthorized, "%s", apierr.NewDenial().Message))
		},
		DeniedWhen:      "The token is missing or invalid.",
		Unsupported:     &microversion.BaremetalError{Text: "1.999"},
		UnsupportedWhen: "The microversion is malformed or not supported, or the request uses a feature of a later one.",
		SampleRule:      policy.DriversShow,
		ExampleBase:     exampleBase,
		Finish:          finish,
	}
}

// exampleBase is the URL of the server in the examples.
const exampleBase = "http://baremetal.example.org"

// Schemas returns the descriptions of the types of bodies, by their names in the documents.
func Schemas() map[string]string {
	return map[string]string{
		"Failure":   "The error response of all operations.",
		"Discovery": "What GET /v1 answers.",
		"Link":      "A link to a resource.",
		"PatchStep": "One change of a patch.",

		"Allocation":        "A request for a node, and its result.",
		"Allocations":       "A page of allocations.",
		"AllocationRequest": "The requirements for a node, or the node to backfill.",

		"AllocationRequestExtended": "The requirements for one or several nodes, or the node to backfill.",
		"AllocationRetry":           "How long to wait for the new decision.",

		"NodeAllocation": "Why nodes fit an allocation, or do not.",
		"NodeSample":     "What an explanation looked at.",
		"NodeStage":      "A condition, and the nodes that pass it and all before.",
		"NodeConflict":   "What no node has.",
		"NearNode":       "A node that fails few conditions.",
		"NodeName":       "A node.",
		"NodeMissing":    "A condition that a node fails.",
		"NodeRelaxation": "A change of the request with which more nodes fit.",

		"Node":               "A machine.",
		"Nodes":              "A page of nodes.",
		"NodeCreate":         "The members of a new node.",
		"NodeStates":         "The members of a node that the server changes.",
		"NodeProvision":      "A transition of a node.",
		"NodePower":          "A power state.",
		"MaintenanceRequest": "The reason for putting a node into maintenance.",
		"NodeTraits":         "A node's traits.",
		"NodeTraitsReplace":  "All new traits of a node.",
		"Validation":         "The results of validating the driver settings of a node.",
		"ValidationResult":   "The result for one interface of a driver.",
		"Port":               "A network interface of a node.",
		"Ports":              "A page of ports.",
		"PortCreate":         "The members of a new port.",
		"Conductor":          "A process that manages nodes.",
		"Conductors":         "A page of conductors.",
		"Driver":             "A hardware type.",
		"Drivers":            "The hardware types of all conductors that are alive.",
		"APIVersion":         "The range of supported microversions.",
		"MediaType":          "The media types of bodies.",
	}
}

func introduction(at microversion.Version) string {
	return fmt.Sprintf("Nodes and node allocations at microversion %[1]s. "+
		"Send the header `X-OpenStack-Ironic-API-Version: %[1]s` with every request, or "+
		"`OpenStack-API-Version: baremetal %[1]s`, which takes precedence. The default is microversion 1.1. "+
		"A microversion without its own document equals the nearest lower one with a document.\n\n%[2]s", at, format)
}

// format describes errors and paths for the introduction of a document.
const format = "An error is an object with one member, a string that contains a JSON document. " +
	"A path may end with a slash. " +
	"A method that the path does not support returns 405 with the header `Allow`."

func sharedHeaders(at microversion.Version) map[string]*huma.Header {
	text := &huma.Schema{Type: huma.TypeString}
	return map[string]*huma.Header{
		microversion.BaremetalRequestID: {
			Description: "The request ID in the server's log.", Schema: text, Example: route.ExampleRequestID,
		},
		microversion.BaremetalHeader: {
			Description: "The microversion of the response; missing if negotiation failed.", Schema: text, Example: at.String(),
		},
		microversion.BaremetalMinHeader: {
			Description: "The oldest supported microversion.", Schema: text, Example: microversion.BaremetalMin.String(),
		},
		microversion.BaremetalMaxHeader: {
			Description: "The newest supported microversion.", Schema: text, Example: microversion.BaremetalMax.String(),
		},
	}
}

// finish removes schemas of errors that huma adds and this API does not use.
func finish(_ microversion.Version, schemas map[string]*huma.Schema) {
	delete(schemas, "Errors")
	delete(schemas, "Error")
}

// These functions select behavior by microversion. Operations do not compare versions themselves.

// namesAvailable reports whether free nodes have the state available; before 1.2 it was null.
func namesAvailable(ctx context.Context) bool { return microversion.From(ctx) >= v(2) }

// findsNodesByName reports whether nodes have names; before 1.5 they had none.
func findsNodesByName(ctx context.Context) bool { return microversion.From(ctx) >= v(5) }

// enrollsNodes reports whether new nodes are in state enroll; before 1.11 they were available immediately.
func enrollsNodes(ctx context.Context) bool { return microversion.From(ctx) >= v(11) }

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
