// Package baremetal is the Bare Metal API at microversion 1.82 as oapi-codegen writes
// it down from our OpenAPI document: a type for each body and a method for each
// operation. It is for programs that want exactly that, one request a call.
//
// It is not for deciding anything. It does not retry, authenticate, wait or turn a
// refusal into an error: an answer of any status is a nil error with the body in the
// field of its status, and in Body as it came. Package client/baremetal does all that
// for what most programs need, with plain types. Nor is it edited: `make generate`
// writes baremetal.gen.go.
//
// NewClientWithResponses makes a client; its methods end in WithResponse:
//
//	service, err := baremetal.NewClientWithResponses(url, baremetal.WithRequestEditorFn(authenticate))
//	shown, err := service.NodeShowWithResponse(ctx, "rack-7", &baremetal.NodeShowParams{
//		XOpenStackIronicAPIVersion: baremetal.MicroversionN182,
//	})
//	switch {
//	case err != nil: // nothing came back, or nothing that could be read
//	case shown.JSON200 != nil: // here it is
//	case shown.JSON404 != nil: // shown.JSON404.ErrorMessage is JSON in a text
//	}
//
// A client that sends requests with another microversion gets bodies that these types
// do not describe, and one that sends none speaks 1.1. So params always carry the
// constant; or they are nil, where they hold nothing else, and a request editor sets
// the header.
//
// Almost every member of a node, a port and an allocation is optional here, since the
// argument "fields" of the API can leave it out; and where it may be null as well, it
// is one of package nullable, which tells the two apart.
package baremetal
