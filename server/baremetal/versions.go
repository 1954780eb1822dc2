package baremetal

import (
	"context"
	"fmt"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berthd/berth/server/apierr"
	"github.com/berthd/berth/server/fault"
	"github.com/berthd/berth/server/microversion"
	"github.com/berthd/berth/server/policy"
	"github.com/berthd/berth/server/request"
	"github.com/berthd/berth/server/route"
)

// changes are the versions at which something changes that this server has. The
// others are as the nearest lower one.
var changes = []microversion.Version{
	1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 14, 16, 18, 19, 20, 21, 22, 23, 24, 27, 30, 31, 32, 33, 34, 37, 38, 40, 42, 43, 44, 45,
	46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 57, 58, 60, 61, 65, 66, 73, 75, 77, 82,
}

// API is what the Bare Metal API has of its own beside its operations.
func API() *route.API {
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
		VersionSchema: "Microversion, as it stands in the header " + microversion.BaremetalHeader + ".",
		Headers:       sharedHeaders, OnSuccess: always, OnFailure: always,
		Errors: reflect.TypeFor[apierr.Baremetal](),
		Usual: route.Failure{
			When:  "The query string has an argument that the operation does not know.",
			Fault: fault.New(fault.Invalid, "Unexpected arguments: colour"),
		},
		UsualName: "UnexpectedArguments",
		Denied: func(ctx context.Context) any {
			return apierr.Answer(ctx, fault.New(fault.Unauthorized, "%s", apierr.NewDenial().Message))
		},
		DeniedWhen:      "There is no token where one is needed, or it is not valid.",
		Unsupported:     &microversion.BaremetalError{Text: "1.999"},
		UnsupportedWhen: "The microversion is malformed or not supported; or the request has something that only a later one knows.",
		SampleRule:      policy.DriversShow,
		ExampleBase:     exampleBase,
		Finish:          finish,
	}
}

// exampleBase is where the server of the examples is.
const exampleBase = "http://baremetal.example.org"

// Schemas describe the types of bodies in the documents, by their names there.
func Schemas() map[string]string {
	return map[string]string{
		"Failure":   "What all operations answer when they fail.",
		"Discovery": "What GET /v1 answers.",
		"Link":      "Where something is found.",
		"PatchStep": "One change.",

		"Allocation":        "A request for a node and what became of it.",
		"Allocations":       "A page of allocations.",
		"AllocationRequest": "What kind of node is asked for, or which node has an allocation made for it.",

		"Node":              "A machine.",
		"Nodes":             "A page of nodes.",
		"NodeCreate":        "What a new node is to be.",
		"NodeStates":        "The members of a node that change by themselves.",
		"NodeProvision":     "A step in a node's life.",
		"NodePower":         "A power state.",
		"NodeMaintenance":   "Why a node is put into maintenance.",
		"NodeTraits":        "A node's traits.",
		"NodeTraitsReplace": "Exactly the traits that a node is to have.",
		"Validation":        "Whether the parts of a node's driver could work.",
		"ValidationResult":  "Whether one part of a driver could work.",
		"Port":              "A network interface of a node.",
		"Ports":             "A page of ports.",
		"PortCreate":        "What a new port is to be.",
		"Conductor":         "A process that manages nodes.",
		"Conductors":        "All processes that manage nodes.",
		"Driver":            "A kind of hardware.",
		"Drivers":           "All kinds of hardware that are at hand.",
		"APIVersion":        "The range of microversions that the server speaks.",
		"MediaType":         "What the bodies of the API are.",
	}
}

func introduction(at microversion.Version) string {
	return fmt.Sprintf("Nodes, and allocations of nodes, at microversion %[1]s. "+
		"Send the header `X-OpenStack-Ironic-API-Version: %[1]s` with every request, or "+
		"`OpenStack-API-Version: baremetal %[1]s`, which goes first where both are sent: without either, the server speaks 1.1. "+
		"Microversions without a document of their own are as the nearest lower one that has one.\n\n"+
		"Errors are an object with one member, a string that is a JSON document itself. "+
		"A path may have a slash at its end. "+
		"A method that a path does not have is answered 405, with the header `Allow`.", at)
}

func sharedHeaders(at microversion.Version) map[string]*huma.Header {
	text := &huma.Schema{Type: huma.TypeString}
	return map[string]*huma.Header{
		microversion.BaremetalRequestID: {
			Description: "The id of the request in the server's log.", Schema: text, Example: route.ExampleRequestID,
		},
		microversion.BaremetalHeader: {
			Description: "The microversion of the answer; missing where none could be agreed on.", Schema: text, Example: at.String(),
		},
		microversion.BaremetalMinHeader: {
			Description: "The oldest microversion of the server.", Schema: text, Example: microversion.BaremetalMin.String(),
		},
		microversion.BaremetalMaxHeader: {
			Description: "The newest microversion of the server.", Schema: text, Example: microversion.BaremetalMax.String(),
		},
	}
}

// finish takes out the schemas of errors that huma knows of and this API does not
// use.
func finish(_ microversion.Version, schemas map[string]*huma.Schema) {
	delete(schemas, "Errors")
	delete(schemas, "Error")
}
