package placement

import (
	"context"
	"fmt"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berthd/berth/server/apierr"
	"github.com/berthd/berth/server/fault"
	"github.com/berthd/berth/server/microversion"
	"github.com/berthd/berth/server/policy"
	"github.com/berthd/berth/server/route"
)

const (
	requestIDHeader = "X-Openstack-Request-Id"
	varyHeader      = "Vary"
)

// API is what the Placement API has of its own beside its operations.
func API() *route.API {
	return &route.API{
		Service: microversion.Service, Min: microversion.Min, Max: microversion.Max,
		Title: "Placement API", Description: introduction,
		VersionHeader: microversion.Header,
		VersionValue:  microversion.Version.HeaderValue,
		VersionSchema: "Service and microversion, as they stand in the header " + microversion.Header + ".",
		Headers:       sharedHeaders,
		OnSuccess:     []string{requestIDHeader, microversion.Header, varyHeader},
		OnFailure:     []string{requestIDHeader, microversion.Header},
		Errors:        reflect.TypeFor[apierr.Response](),
		Usual: route.Failure{
			When:  "The header `OpenStack-API-Version` is malformed.",
			Fault: fault.New(fault.Invalid, "%s", (&microversion.MalformedError{Text: "one"}).Detail()),
		},
		UsualName:   "BadVersion",
		Denied:      func(context.Context) any { return apierr.NewDenial() },
		DeniedWhen:  "There is no token, or it is not valid. The body has a shape of its own.",
		Unsupported: &microversion.UnsupportedError{Text: "1.99"},
		UnsupportedWhen: "The microversion is not supported; or the header `Accept` excludes JSON, " +
			"where the answer has a body.",
		SampleRule: policy.ProvidersList,
		Finish:     nameErrorCodes,
	}
}

func introduction(at microversion.Version) string {
	return fmt.Sprintf("Inventories, traits and allocations of resource providers, at microversion %[1]s. "+
		"Send the header `OpenStack-API-Version: placement %[1]s` with every request: without it, "+
		"the server speaks 1.0.\n\n"+
		"Errors are JSON, or HTML where the header `Accept` prefers that, or plain text where it excludes both. "+
		"They carry the id of the request, under which the server's log has more. "+
		"A method that a path does not have is answered 405, with the header `Allow`.", at)
}

func sharedHeaders(at microversion.Version) map[string]*huma.Header {
	text := &huma.Schema{Type: huma.TypeString}
	headers := map[string]*huma.Header{
		requestIDHeader: {
			Description: "The id of the request in the server's log.",
			Schema:      text, Example: route.ExampleRequestID,
		},
		microversion.Header: {
			Description: "The microversion of the answer; missing where none could be agreed on.",
			Schema:      text, Example: at.HeaderValue(),
		},
		varyHeader: {Description: "Caches keep answers of different microversions apart.", Schema: text, Example: "openstack-api-version"},
	}
	if at.HasCacheHeaders() {
		headers["Cache-Control"] = &huma.Header{Description: "Always `no-cache`.", Schema: text, Example: "no-cache"}
	}
	return headers
}

// nameErrorCodes lists the codes of errors, from the microversion on that has
// them: a generator makes constants of what a client would have to spell.
func nameErrorCodes(at microversion.Version, schemas map[string]*huma.Schema) {
	item := schemas["Error"]
	if item == nil {
		return
	}
	if !at.HasErrorCode() {
		delete(item.Properties, "code")
		return
	}
	const name = "ErrorCode"
	schemas[name] = &huma.Schema{Type: huma.TypeString, Enum: []any{
		fault.CodeUndefined, fault.CodeInventoryInUse, fault.CodeConcurrentUpdate, fault.CodeDuplicateName,
		fault.CodeProviderInUse, fault.CodeCannotDeleteParent, fault.CodeProviderNotFound,
		fault.CodeDuplicateKey, fault.CodeBadValue, fault.CodeMissingValue,
	}}
	code := item.Properties["code"]
	item.Properties["code"] = &huma.Schema{
		Ref: "#/components/schemas/" + name, Description: code.Description, Examples: code.Examples,
	}
}
