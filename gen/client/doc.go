// Package client is the Placement API at its newest microversion, with the newest
// extensions of Berth, as oapi-codegen writes it down from our OpenAPI document:
// a type for each body and a method for each operation. It is for programs that
// want exactly that, one request a call, and it is what package client at the top of this module is built on.
//
// It is not for deciding anything. It does not retry, authenticate, keep a
// generation or turn a refusal into an error: an answer of any status is a nil
// error with the body in the field of its status, and in Body as it came. Package
// client does all that. Nor is it edited: `make generate` writes client.gen.go.
//
// NewClientWithResponses makes a client; its methods end in WithResponse:
//
//	placement, err := client.NewClientWithResponses(url, client.WithRequestEditorFn(authenticate))
//	shown, err := placement.ProviderShowWithResponse(ctx, id, &client.ProviderShowParams{
//		OpenStackAPIVersion: client.MicroversionPlacement139,
//	})
//	switch {
//	case err != nil: // nothing came back, or nothing that could be read
//	case shown.JSON200 != nil: // here it is
//	case shown.JSON404 != nil: // shown.JSON404.Errors[0].Detail says what is missing
//	}
//
// A client that sends requests with another microversion than 1.39 gets bodies
// that these types do not describe, and one that sends none speaks 1.0. So params
// always carry one of the constants: MicroversionPlacement139 for any service with
// the API, the other one for what only Berth has; or they are nil, where they hold nothing else, and a
// request editor sets the header. The headers of answers are in HTTPResponse.
//
// A nil map or slice that must be given, such as InventoriesReplace.Inventories,
// is sent as null and refused; make an empty one. Claim.ConsumerGeneration is the
// other way round: left alone it is null, and claims for a new consumer.
//
// A write that can be a dry run has two kinds of answers, and its body a method for
// each: created.JSON200.AsProvider(), or AsDryRun().
//
// The members of CandidateListParams.Groups are parameters of their own, such as
// "resources_NET". A map has each name once; to repeat "required_NET", add it to
// the query in a request editor of that call.
package client

// MicroversionPlacement139 selects the newest microversion without extensions of Berth. Members and parameters of the
// extensions need their version, as MicroversionPlacement139Berth17 selects it.
const MicroversionPlacement139 Microversion = "placement 1.39"
