package placement

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berthd/berth/server/api/apierr"
	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/identity/policy"
	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/microversion"
)

const (
	requestIDHeader = "X-Openstack-Request-Id"
	varyHeader      = "Vary"
)

// berth13 is the version of Berth's extensions that checks query strings of all operations and adds generations to writes.
var berth13 = microversion.Berth(3)

// berth14 is the version of Berth's extensions with lists in pages, trees, consumers and capacity.
var berth14 = microversion.Berth(4)

// API returns the properties of the Placement API that are not part of an operation.
func API() *route.API {
	return &route.API{
		Service: microversion.Service, Min: microversion.Min, Max: microversion.Max,
		Extensions: microversion.Extended(), StrictSince: berth13, DryRuns: dryRuns(),
		Title: "Placement API", Description: introduction, Label: microversion.Version.Label,
		VersionHeader: microversion.Header,
		VersionValue:  microversion.Version.HeaderValue,
		VersionSchema: "Service and microversion, in the format of the header " + microversion.Header + ".",
		Headers:       sharedHeaders,
		OnSuccess:     []string{requestIDHeader, microversion.Header, varyHeader},
		OnFailure:     []string{requestIDHeader, microversion.Header},
		Errors:        reflect.TypeFor[apierr.Response](),
		Usual: route.Failure{
			Name: "malformed-version", When: "The header `OpenStack-API-Version` is malformed.",
			Fault: fault.New(fault.Invalid, "%s", (&microversion.MalformedError{Text: "one"}).Detail()),
		},
		UsualName: "BadVersion",
		Contended: &route.Failure{
			Name: "contended",
			When: "Concurrent requests locked the same providers or consumers for too long, or changed them in every attempt. " +
				"Retry the request.",
			Fault: fault.New(fault.Conflict, store.WordsLocked).WithCode(fault.CodeConcurrentUpdate),
		},
		Denied:      func(context.Context) any { return apierr.NewDenial() },
		DeniedWhen:  "The token is missing or invalid. The body has its own format.",
		Unsupported: &microversion.UnsupportedError{Text: "1.99"},
		UnsupportedWhen: "The microversion is not supported, or the header `Accept` excludes JSON " +
			"although the response has a body.",
		SampleRule: policy.ProvidersList,
		Finish:     nameErrorCodes,
	}
}

func introduction(at microversion.Version) string {
	return fmt.Sprintf("Inventories, traits and allocations of resource providers, at microversion %s. "+
		"Send the header `OpenStack-API-Version: %s` with every request. The default is "+
		"microversion 1.0.\n\n"+
		"Errors are JSON; HTML if the header `Accept` prefers it; plain text if `Accept` excludes both. "+
		"Each error contains the request ID, which identifies the request in the server's log. "+
		"A method that the path does not support returns 405 with the header `Allow`.", at.Label(), at.HeaderValue())
}

func sharedHeaders(at microversion.Version) map[string]*huma.Header {
	text := &huma.Schema{Type: huma.TypeString}
	headers := map[string]*huma.Header{
		requestIDHeader: {
			Description: "The request ID in the server's log.",
			Schema:      text, Example: route.ExampleRequestID,
		},
		microversion.Header: {
			Description: "The microversion of the response; missing if negotiation failed.",
			Schema:      text, Example: at.HeaderValue(),
		},
		varyHeader: {Description: "Caches store responses of different microversions separately.", Schema: text, Example: "openstack-api-version"},
	}
	if at.Extension() >= microversion.PlacementExtensionMin {
		headers[microversion.Header].Description += " A second line has the version of Berth's extensions."
	}
	if at.HasCacheHeaders() {
		headers["Cache-Control"] = &huma.Header{Description: "Always `no-cache`.", Schema: text, Example: "no-cache"}
	}
	return headers
}

// nameErrorCodes adds a schema that lists the error codes, at microversions that have them. Client generators make
// constants from it. It also describes explanations of errors, at versions that have them.
func nameErrorCodes(at microversion.Version, schemas map[string]*huma.Schema) {
	item := schemas["Error"]
	if item == nil {
		return
	}
	delete(item.Properties, "explanation")
	if at >= berth12 {
		addErrorExplanation(item, schemas)
	} else { // those of a member that the version does not have
		maps.DeleteFunc(schemas, func(name string, _ *huma.Schema) bool { return strings.HasPrefix(name, "Explanation") })
	}
	if !at.NamesFreedConsumers() {
		maps.DeleteFunc(schemas, func(name string, _ *huma.Schema) bool { return strings.HasPrefix(name, "ExplanationFreed") })
	}
	if at < berth13 {
		for _, member := range []string{"refused", "fit", "exact"} {
			delete(item.Properties, member)
		}
	} else {
		refused := huma.SchemaFromType(huma.NewMapRegistry("", huma.DefaultSchemaNamer), reflect.TypeFor[fault.RefusedCandidate]())
		refused.Description = Schemas()["RefusedCandidate"]
		schemas["RefusedCandidate"] = refused
		item.Properties["refused"] = &huma.Schema{
			Type: huma.TypeArray, Items: &huma.Schema{Ref: "#/components/schemas/RefusedCandidate"},
			Description: item.Properties["refused"].Description,
		}
	}
	if !at.HasErrorCode() {
		delete(item.Properties, "code")
		return
	}
	const name = "ErrorCode"
	codes := []any{
		fault.CodeUndefined, fault.CodeInventoryInUse, fault.CodeConcurrentUpdate, fault.CodeDuplicateName,
		fault.CodeProviderInUse, fault.CodeCannotDeleteParent, fault.CodeProviderNotFound,
		fault.CodeDuplicateKey, fault.CodeBadValue, fault.CodeMissingValue,
	}
	if at >= berth11 {
		codes = append(codes, fault.CodeExtensionUnsupported, fault.CodeExtensionCombination, fault.CodeExtensionBadValue,
			fault.CodeExtensionConflict, fault.CodeExtensionDuplicateKey, fault.CodeExtensionUnknownGroup)
	}
	if at >= berth12 {
		codes = append(codes, fault.CodeExplanationNotFound, fault.CodePageBadMarker)
	}
	if at >= berth13 {
		codes = append(codes,
			fault.CodePrecondition, fault.CodeWriteBadValue,
			fault.CodeKeyMalformed, fault.CodeKeyUnsupported, fault.CodeKeyLifetime, fault.CodeKeyReused, fault.CodeKeysFull,
			fault.CodeDryRunBusy,
			fault.CodeTreeNotRoot, fault.CodeTreeElsewhere,
			fault.CodeNothingFits, fault.CodeClaimContended, fault.CodeClaimUndecided,
		)
	}
	if at >= berth14 {
		codes = append(codes, fault.CodeTooManyConsumers, fault.CodeCapacityBusy)
	}
	if at.HasOwnErrorCodes() {
		codes = append(codes,
			fault.CodeLimitRequests, fault.CodeLimitBody, fault.CodeLimitCombinations, fault.CodeOverloaded, fault.CodeTimeout,
			fault.CodeDatabaseUnavailable, fault.CodeOutcomeUnknown, fault.CodeAuditUnavailable,
		)
	}
	schemas[name] = &huma.Schema{Type: huma.TypeString, Enum: codes}
	code := item.Properties["code"]
	item.Properties["code"] = &huma.Schema{
		Ref: "#/components/schemas/" + name, Description: code.Description, Examples: code.Examples,
	}
}
