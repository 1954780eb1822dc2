package placement

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/berthd/berth/server/api/apierr"
	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/identity/policy"
	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/jsonbody"
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
	if at < berth17 { // that of a member that the version does not have
		delete(schemas, "HistoryMoment")
	}
	if at < berth16 { // those of members that the version does not have
		delete(schemas, "Lease")
		delete(schemas, "LeaseTerms")
		if patch := schemas["ReshapePatch"]; patch != nil { // its consumers have no schema of their own
			delete(patch.Properties["allocations"].AdditionalProperties.(*huma.Schema).Properties, leaseMember)
		}
	}
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
		maps.DeleteFunc(schemas, func(name string, _ *huma.Schema) bool {
			return strings.HasPrefix(name, "ExplanationFreed") || strings.HasPrefix(name, "ExplanationFit")
		})
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
	if at >= berth17 {
		codes = append(codes, fault.CodeHistoryOff, fault.CodeHistoryGone, fault.CodeEventsTooMany)
	}
	schemas[name] = &huma.Schema{Type: huma.TypeString, Enum: codes}
	code := item.Properties["code"]
	item.Properties["code"] = &huma.Schema{
		Ref: "#/components/schemas/" + name, Description: code.Description, Examples: code.Examples,
	}
}

// These are patterns of names and keys. Go's $ matches only at the end of the text, not before a line break.
const (
	classPattern       = `^[A-Z0-9_]+$`
	customPattern      = `^CUSTOM_[A-Z0-9_]+$`
	uuidKeyPattern     = `^[0-9a-fA-F-]{36}$`
	consumerTypeSchema = `^[A-Z0-9_]+$`
)

// schemaOf returns the schema of a type in the form that documents refer to.
func schemaOf[T any](r huma.Registry) *huma.Schema {
	return r.Schema(reflect.TypeFor[T](), true, "")
}

// uuids is a list in a response.
type uuids []uuid.UUID

// Schema implements huma.SchemaProvider.
func (uuids) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeString, Format: "uuid"}}
}

// keyed is an object whose keys are UUIDs in any notation.
type keyed[V any] struct{ jsonbody.Ordered[V] }

// Schema implements huma.SchemaProvider.
func (keyed[V]) Schema(r huma.Registry) *huma.Schema {
	return jsonbody.MapSchema(schemaOf[V](r), uuidKeyPattern, 0)
}

// keyedNonEmpty is an object like keyed with at least one member.
type keyedNonEmpty[V any] struct{ jsonbody.Ordered[V] }

// Schema implements huma.SchemaProvider.
func (keyedNonEmpty[V]) Schema(r huma.Registry) *huma.Schema {
	return jsonbody.MapSchema(schemaOf[V](r), uuidKeyPattern, 1)
}

// Schemas returns the descriptions of the types of bodies, by their names in the documents. The descriptions of their
// members are at their declarations.
func Schemas() map[string]string {
	return map[string]string{
		"Aggregates":        "The aggregates of a provider.",
		"AggregatesReplace": "The new aggregates of a provider.",

		"Allocations":           "The allocations of a consumer, with its project and user.",
		"AllocationsOnProvider": "The allocations of a consumer on one provider.",
		"Claim":                 "All new allocations of a consumer, with its project and user. They replace the previous allocations.",
		"ClaimMany":             "All new allocations of a consumer, with its project and user; may be empty.",
		"Claims":                "Claims by consumer UUID, applied atomically.",
		"ClaimedOfProvider":     "The new allocations of a consumer on one provider.",
		"ConsumerOnProvider":    "The allocations of one consumer on a provider.",
		"ListedAllocation":      "The new allocations of a consumer on one provider.",
		"ProviderAllocations":   "The allocations on a provider, by consumer.",
		"ProviderReference":     "A reference to a provider.",

		"DryRun":          "The response to a dry run: the response that the write would have, and what it would change.",
		"StateChange":     "What a write would change, by kind and key. Of two states only what differs is shown.",
		"ProviderChange":  "The change of a provider.",
		"ProviderPart":    "A provider that is created or deleted, or the members of a provider that differ.",
		"ConsumerChange":  "The change of a consumer.",
		"ConsumerPart":    "A consumer that is created or deleted, or the members of a consumer that differ.",
		"AllocationsPart": "The allocations of a consumer on one provider that differ.",
		"NameChange":      "The creation or deletion of a resource class or trait.",
		"NamePart":        "A name that exists; it has no members.",

		"Candidate":         "A set of allocations that satisfies the query. Its members are those of a claim.",
		"CandidateProvider": "A reference to a provider.",
		"CandidateUse":      "The allocations of a candidate on one provider.",
		"CandidateSearch":   "A query for allocation candidates. Its members have the meaning of the query parameters of these names.",
		"SearchedGroup":     "A request group: constraints that one provider must satisfy, or several together without a suffix.",
		"Candidates":        "The candidates of a query, with summaries of their providers.",
		"ProviderSummary":   "The inventories, usage and traits of a provider.",
		"SummaryResource":   "The capacity and the used amount of a resource class.",

		"Explanations":               "Recorded requests without a result, and their explanations.",
		"RecordedExplanation":        "A request without a result, and its explanation.",
		"ExplanationOptions":         "Settings of the server that took part in a search.",
		"EqualQueries":               "The number of equal queries, and when they were sent.",
		"Consumers":                  "A page of consumers.",
		"Consumer":                   "A consumer, and what it has.",
		"AllocationsOnNamedProvider": "The allocations of a consumer on one provider, with the name of the provider.",
		"NodeAllocationName":         "An allocation of the Bare Metal API.",
		"Total":                      "Number of items that pass the filters of a list.",

		"ExplanationList": "A page of queries without a result.",
		"CapacityList":    "Sums of inventories and usages.",
		"ClassCapacity":   "Sums of the inventories and usages of one class.",
		"CapacitySize":    "Providers of about the same free capacity.",
		"NamedProvider":   "The UUID and the name of a provider.",

		"ProviderPage":      "A page of providers, or all of them.",
		"ProviderWithParts": "A provider with the parts that the request includes.",
		"AggregateList":     "A page of aggregates.",
		"ListedAggregate":   "An aggregate with the numbers of its members.",

		"Explanation":                "Why a query has these candidates or none, or a claim does not fit. The short form has only kind, reason, summary and incomplete.",
		"ExplanationSample":          "How many trees were judged, and how exact the numbers of trees are.",
		"ExplanationStage":           "A stage of the whole query, with the trees that pass it and all before.",
		"ExplanationPart":            "What one provider must meet.",
		"ExplanationStep":            "A condition of a part, with the providers and trees that pass it and all before.",
		"ExplanationFact":            "The counts of a single resource class, trait or aggregate.",
		"ExplanationConflict":        "What cannot be met, whatever is free.",
		"ExplanationTree":            "A tree without a candidate that fails by little.",
		"ExplanationFreedSet":        "Consumers without which a query fits in a tree.",
		"ExplanationFreedConsumer":   "A consumer that must go so that a query fits in a tree, and what it holds of what the query lacks.",
		"ExplanationFreedAllocation": "An amount that a consumer holds on a provider.",
		"ExplanationFit":             "The first time at which a query has a candidate, and the consumers that end until then.",
		"ExplanationFitConsumer":     "A consumer that ends at the until of its lease, and what it holds of what the query lacks.",
		"ExplanationMissing":         "A condition that a tree does not meet.",
		"ExplanationProvider":        "A resource provider.",
		"ExplanationRelaxation":      "A change of the query that gives more candidates.",
		"ExplanationClaimItem":       "An allocation of a claim, and the inventory that it wants.",
		"ExplanationElsewhere":       "The candidates for the amounts of a consumer.",
		"ListedExplanation":          "A query without a result, as one or several requests have sent it.",

		"ClaimCreate":           "Consumers, and the queries or candidates of which one is claimed for them.",
		"ClaimConsumer":         "A consumer that claims.",
		"Lease":                 "How long a consumer keeps what it has without being renewed.",
		"LeaseTerms":            "The lease that a request gives a consumer: seconds, until or both.",
		"LeasesRenew":           "Consumers whose leases are renewed.",
		"LeasesRenewed":         "What became of each lease.",
		"HistoryMoment":         "The moment of a response with at: how it was then.",
		"LeaseRenewed":          "A renewed lease.",
		"EventBegin":            "The first line of a stream of events.",
		"EventBookmark":         "A line of a stream without an event: everything up to its index was sent, or does not match.",
		"EventEnd":              "The last line of a stream of events.",
		"EventWrite":            "The line of a write in a stream of events.",
		"HistorySettings":       "The settings and the state of the record of changes.",
		"HistorySettingsUpdate": "The new settings of the record of changes.",
		"HistoryList":           "A page of events.",
		"HistoryEvent":          "All that one committed write changed.",
		"HistoryRefusal":        "A request that found nothing.",
		"HistoryCaller":         "Who asked for a write.",
		"HistoryChanges":        "What a write changed, by kind and key.",
		"HistoryProviderChange": "The change of a provider.",
		"HistoryProviderPart":   "A provider, or the members of it that differ from another state.",
		"HistoryObjectChange":   "The change of an object: its members that differ.",

		"ClaimQuery":          "A query for allocation candidates. Its members have the meaning of the query parameters of these names.",
		"ClaimedCandidate":    "A candidate of the client.",
		"ClaimedOnProvider":   "The allocations of a candidate on one provider.",
		"ClaimRelation":       "How the places of several consumers relate.",
		"ClaimsMade":          "The allocations that a claim made.",
		"ClaimMade":           "All allocations of a consumer after a claim.",
		"ClaimEffort":         "The number of steps of a claim.",
		"CapacityFitQuery":    "The question how many more members fit.",
		"CapacityFitCopies":   "A change that adds trees like an existing one.",
		"CapacityFitSettings": "A change of the inventories of a resource class: their allocation ratio, their reserved amount, or both.",
		"CapacityFit":         "How many more members fit.",
		"CapacityFitBefore":   "How many more members fit without the changes.",
		"CapacityFitTrees":    "Numbers of trees.",
		"CapacityFitClass":    "What the members use of a resource class, and what is free.",
		"RefusedCandidate":    "Why a candidate of a claim does not fit.",

		"AggregatesPatch":     "A merge patch of the aggregates of a provider.",
		"AllocationsPatch":    "A merge patch of a consumer and its allocations.",
		"InventoriesPatch":    "A merge patch of the inventories of a provider.",
		"ProviderTraitsPatch": "A merge patch of the traits of a provider.",

		"DeletedProvider":            "A provider to delete.",
		"ReshapePatch":               "Merge patches of the inventories of providers and of the allocations of consumers, applied atomically.",
		"ReshapedGeneration":         "The generation of a provider after a reshape.",
		"ReshapedConsumerGeneration": "The generation of a consumer after a reshape.",
		"ReshapedGenerations":        "The generations after a reshape.",
		"TreeAllocations":            "The amounts that a consumer allocates on one provider.",
		"TreeConsumer":               "All new allocations of a consumer, with its project and user. They replace the previous allocations.",
		"TreeConsumerChanged":        "What a request did to a consumer.",
		"TreeChanged":                "What a request did to the providers of a tree, and to consumers.",
		"TreeProvider":               "The new state of a provider of a tree.",
		"TreeProviderChanged":        "What a request did to a provider.",
		"TreeShown":                  "A provider tree at one moment, with its consumers if they are included.",
		"TreeShownConsumer":          "A consumer with all its allocations, also those outside of the tree.",
		"TreeShownProvider":          "A provider of a tree, with the included parts.",
		"TreeReplace":                "The new state of providers of one tree, and the allocations that move with it.",

		"Inventories":             "All inventories of a provider.",
		"InventoriesReplace":      "All new inventories of a provider.",
		"Inventory":               "The inventory of a resource class on a provider: its amount and the rules of allocation.",
		"InventoryCreate":         "A new inventory of one resource class.",
		"InventoryRecord":         "The new inventory of a resource class: its amount and the rules of allocation.",
		"InventoryUpdate":         "The new values of the inventory of a resource class.",
		"InventoryWithGeneration": "The inventory of a resource class with the provider generation.",

		"Link":           "A link to a resource.",
		"Provider":       "An entity with inventories, which is a node of a provider tree.",
		"ProviderCreate": "A provider to create.",
		"ProviderUpdate": "The new name and parent of a provider.",
		"Providers":      "A list of providers.",

		"ProviderTraits":        "The traits of a provider.",
		"ProviderTraitsReplace": "The new traits of a provider.",
		"Traits":                "A list of traits.",
		"ResourceClass":         "A type of resource.",
		"ResourceClassName":     "The name of a custom resource class.",
		"ResourceClasses":       "A list of resource classes.",

		"ProviderUsages": "The used amounts of a provider.",
		"Usages":         "The sums of the allocations of a project's consumers.",

		"Reshape": "New inventories of providers and new allocations of consumers, applied atomically.",
	}
}
