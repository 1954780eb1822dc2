package route

import (
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/microversion"
	"github.com/berthd/berth/server/wire/querystring"
)

// These are the failures of the checks that API.StrictSince selects.
var (
	InvalidQuery = Fails(fault.Invalid, "invalid-query",
		"A query parameter does not exist at this microversion, or its value violates the schema.",
		"Invalid query string parameters: %s", "Additional properties are not allowed ('color' was unexpected)")
	repeatedParameter = Fails(fault.Invalid, "parameter-repeated", "A query parameter is repeated.",
		"Query parameter '%s' may be specified only once.", "resource_provider_generation").
		WithCode(fault.CodeExtensionDuplicateKey)
	conditionalWrite = Fails(fault.Invalid, "conditional-header", "The request has the header of a conditional request.",
		"The header %s is not used for writes. Send the generation: in the query string of DELETE, in the body of other writes.",
		"If-Match").WithCode(fault.CodePrecondition)
)

// conditionalHeaders are the headers that make a request conditional (RFC 9110, section 13.1).
var conditionalHeaders = []string{"If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since"}

// isStrict reports whether the table checks query strings and conditional headers at a version.
func (a *API) isStrict(at microversion.Version) bool {
	return a.StrictSince != 0 && at >= a.StrictSince
}

// strictFailures returns the failures of checkStrict.
func (op *Operation) strictFailures(api *API) []*Failure {
	if api.StrictSince == 0 {
		return nil
	}
	var all []*Failure
	add := func(failure Failure, since microversion.Version) {
		failure.Since = since
		all = append(all, &failure)
	}
	if op.writes() {
		add(conditionalWrite, api.StrictSince)
		for _, failure := range op.keyFailures() {
			add(*failure, api.StrictSince)
		}
	}
	if !op.ReadsQuery {
		add(InvalidQuery, api.StrictSince)
	}
	if parameters := op.parameters(api); len(parameters) > 0 {
		add(repeatedParameter, parameters[0].Since)
	}
	return all
}

// checkStrict rejects the headers of conditional requests on writes, which would promise a protection that the API does
// not have, and query strings with other parameters than the operation's.
func (t *Table) checkStrict(op *Operation, r *http.Request, at microversion.Version) error {
	if !t.api.isStrict(at) {
		return nil
	}
	if op.writes() {
		for _, name := range conditionalHeaders {
			if r.Header.Values(name) != nil {
				return conditionalWrite.Of(name)
			}
		}
	}
	if op.ReadsQuery || r.URL.RawQuery == "" {
		return nil
	}
	values, err := querystring.Parse(r.URL.RawQuery)
	if err != nil {
		return InvalidQuery.Of(err)
	}
	schema, err := t.served(op, at).query()
	if err != nil {
		return err
	}
	if err := querystring.Check(schema, values); err != nil {
		return InvalidQuery.Of(err)
	}
	for _, name := range values.Names() {
		if len(values.All(name)) > 1 {
			return repeatedParameter.Of(name)
		}
	}
	return nil
}

// parameters returns the parameters of Operation.Query, and that of dry runs.
func (op *Operation) parameters(api *API) Params {
	if !op.hasDryRuns(api) {
		return op.Query
	}
	return append(slices.Clone(op.Query), api.DryRuns.parameter())
}

// querySchema returns the schema of the parameters that the operation has at a version.
func (op *Operation) querySchema(api *API, at microversion.Version) (*querystring.Schema, error) {
	return querystring.NewSchema(op.parameters(api).Checks(at)...)
}

// documentQuery adds the parameters of a version to the document of the operation.
func (op *Operation) documentQuery(api *API, at microversion.Version, described *huma.Operation) {
	described.Parameters = append(described.Parameters, op.parameters(api).Docs(at)...)
}
