package route

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berthd/berth/server/api/apierr"
	"github.com/berthd/berth/server/identity/policy"
	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/microversion"
)

// These are the names of responses that operations share.
const (
	sharedUnauthorized  = "Unauthorized"
	sharedForbidden     = "Forbidden"
	sharedNotAcceptable = "NotAcceptable"
	sharedTooLarge      = "TooLarge"
	sharedMediaType     = "UnsupportedMediaType"
	sharedTooMany       = "TooManyRequests"
	sharedFailed        = "InternalServerError"
	sharedUnavailable   = "ServiceUnavailable"
)

// shared are the statuses with the same meaning in all operations.
var shared = map[int]string{
	http.StatusUnauthorized:          sharedUnauthorized,
	http.StatusForbidden:             sharedForbidden,
	http.StatusNotAcceptable:         sharedNotAcceptable,
	http.StatusRequestEntityTooLarge: sharedTooLarge,
	http.StatusUnsupportedMediaType:  sharedMediaType,
	http.StatusTooManyRequests:       sharedTooMany,
	http.StatusInternalServerError:   sharedFailed,
	http.StatusServiceUnavailable:    sharedUnavailable,
}

// sharedResponses is their path in the document.
const sharedResponses = "#/components/responses/"

// sharedFailures returns the responses that operations refer to by name.
func (p *publisher) sharedFailures() map[string]*huma.Response {
	get := p.api.ExampleContext(p.at, http.MethodGet)
	put := p.api.ExampleContext(p.at, http.MethodPut)
	none := p.api.unversioned(http.MethodGet)
	denied := p.failure(p.api.DeniedWhen, nil)
	body := p.api.Denied(none)
	shape := reflect.TypeOf(body)
	if shape.Kind() == reflect.Pointer {
		shape = shape.Elem()
	}
	denied.Content[jsonType] = &huma.MediaType{Schema: p.schemas.Schema(shape, true, ""), Example: body}
	delete(denied.Headers, cmp.Or(p.api.AnnouncedIn, p.api.VersionHeader))
	return map[string]*huma.Response{
		sharedUnauthorized: denied,
		p.api.UsualName:    p.failure(p.api.Usual.When, apierr.ResponseFor(none, p.api.Usual.Fault)),
		sharedForbidden: p.failure("The policy denies the request.",
			apierr.ResponseFor(get, &policy.Denied{Rule: p.api.SampleRule})),
		sharedNotAcceptable: p.failure(p.api.UnsupportedWhen, apierr.ResponseFor(none, p.api.Unsupported)),
		sharedTooLarge: p.failure("The body is larger than the server allows.",
			apierr.ResponseFor(put, bodyBounds{bytes: 16 << 20, setting: "max-body-bytes"}.tooLarge())),
		sharedMediaType: p.failure("The header `Content-Type` is not `application/json`.",
			apierr.ResponseFor(put, unsupportedMedia("text/plain"))),
		sharedFailed: p.failure("Internal error. The server's log contains the reason with the request ID.",
			apierr.ResponseFor(get, &fault.Error{Kind: fault.Internal})),
		sharedTooMany: p.retryable("The caller has reached its limit of concurrent requests. The server did not start this request.",
			apierr.ResponseFor(get, &fault.Error{Kind: fault.TooMany, Own: fault.CodeLimitRequests})),
		sharedUnavailable: p.retryable("The request reached the timeout of the server, or the server is overloaded or stopping.",
			apierr.ResponseFor(get, &fault.Error{Kind: fault.Unavailable, Own: fault.CodeOverloaded})),
	}
}

// failure returns a response with an error.
func (p *publisher) failure(description string, example any) *huma.Response {
	headers := map[string]*huma.Header{}
	for _, name := range p.api.OnFailure {
		headers[name] = headerRef(name)
	}
	return &huma.Response{
		Description: description, Headers: headers,
		Content: map[string]*huma.MediaType{jsonType: {Schema: p.schemas.Schema(p.api.Errors, true, ""), Example: example}},
	}
}

// retryHeader is the header with the time after which a retry can succeed.
const retryHeader = "Retry-After"

// retryable returns a response to a request that may succeed later.
func (p *publisher) retryable(description string, example any) *huma.Response {
	response := p.failure(description, example)
	response.Headers[retryHeader] = headerRef(retryHeader)
	return response
}

// headers returns the headers of the API and those of all APIs.
func (a *API) headers(at microversion.Version) map[string]*huma.Header {
	all := a.Headers(at)
	all[retryHeader] = &huma.Header{
		Description: "Seconds to wait before a retry.",
		Schema:      &huma.Schema{Type: huma.TypeInteger, Format: "int32"}, Example: 1,
	}
	return all
}

// publishFailures replaces the errors that huma generates with those of the table.
func (p *publisher) publishFailures(row *Operation, op *huma.Operation) {
	for status := range op.Responses {
		if !strings.HasPrefix(status, "2") {
			delete(op.Responses, status)
		}
	}
	for _, status := range row.statuses() {
		op.Responses[strconv.Itoa(status)] = &huma.Response{Ref: sharedResponses + shared[status]}
	}
	ctx := p.api.ExampleContext(p.at, op.Method)
	byStatus := map[int][]*Failure{}
	for _, failure := range row.Failures(p.api) {
		if failure.existsAt(p.at) {
			status := apierr.ResponseFor(ctx, failure.Fault).GetStatus()
			byStatus[status] = append(byStatus[status], failure)
		}
	}
	for _, status := range slices.Sorted(maps.Keys(byStatus)) {
		op.Responses[strconv.Itoa(status)] = p.failureOf(ctx, row.ID, byStatus[status])
	}
}

// statuses returns the statuses that follow from the checks and are equal for all operations.
func (op *Operation) statuses() []int {
	found := []int{
		http.StatusNotAcceptable, http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusServiceUnavailable,
	}
	if op.Rule != "" {
		found = append(found, http.StatusUnauthorized, http.StatusForbidden)
	}
	if slices.Contains(op.Checks, JSON) {
		found = append(found, http.StatusUnsupportedMediaType)
	}
	if op.takesBody() {
		found = append(found, http.StatusRequestEntityTooLarge)
	}
	return found
}

// malformedJSON and InvalidBody are the failures of every body.
var (
	malformedJSON = Fails(fault.Invalid, "malformed-json", "The body is not valid JSON.",
		"Malformed JSON: %s", "unexpected end of the document: line 1 column 1")
	InvalidBody = Fails(fault.Invalid, "invalid-body", "The body violates its schema.",
		"JSON does not validate: %s", "Additional properties are not allowed ('color' was unexpected)")
)

// unsupportedPatch is the failure of the check MergePatch.
var unsupportedPatch = Fails(fault.UnsupportedMedia, "unsupported-media-type",
	"The header `Content-Type` is neither `"+mergePatchType+"` nor `"+jsonType+"`.",
	"The media type %s is not supported, use "+mergePatchType, "text/plain")

// Failures returns the operation's own failures, then those of every write and every body, and then the one that all
// operations share.
func (op *Operation) Failures(api *API) []*Failure {
	var all []*Failure
	for i := range op.Fails {
		all = append(all, &op.Fails[i])
	}
	if api.Contended != nil && op.writes() {
		all = append(all, api.Contended)
	}
	if op.takesBody() {
		all = append(all, &malformedJSON, &InvalidBody)
	}
	if slices.Contains(op.Checks, MergePatch) {
		all = append(all, &unsupportedPatch)
	}
	all = append(all, op.strictFailures(api)...)
	return append(all, &api.Usual)
}

// takesBody reports whether the table reads request bodies of the operation.
func (op *Operation) takesBody() bool {
	return slices.ContainsFunc(op.Checks, func(check Check) bool {
		return check == JSON || check == LenientJSON || check == MergePatch
	})
}

// failureOf describes all failures with one status of an operation.
func (p *publisher) failureOf(ctx context.Context, operation string, failures []*Failure) *huma.Response {
	if len(failures) == 1 && failures[0] == &p.api.Usual {
		return &huma.Response{Ref: sharedResponses + p.api.UsualName}
	}
	var lines, codes []string
	examples := map[string]*huma.Example{}
	for _, failure := range failures {
		if failure == &p.api.Usual {
			lines = append(lines, failure.When)
			continue
		}
		shown := apierr.ResponseFor(ctx, failure.Fault)
		line, code := failure.When, apierr.CodeOf(shown)
		if code != "" && !slices.Contains(codes, code) {
			codes = append(codes, code)
		}
		if code != "" && code != fault.CodeUndefined {
			line = fmt.Sprintf("`%s`: %s", code, line)
		}
		lines = append(lines, line)
		shared := p.shareExample(operation, failure.Name, &huma.Example{Summary: failure.When, Value: shown})
		examples[failure.Name] = &huma.Example{Ref: "#/components/examples/" + shared}
	}
	described := p.failure(oneOf(lines), nil)
	described.Content[jsonType].Examples = examples
	if len(codes) > 0 {
		slices.Sort(codes)
		described.Extensions = map[string]any{"x-error-codes": codes}
	}
	return described
}

// shareExample stores an example under its name in the components of the document, so
// that operations share it, and returns that name. If another example has the name, the
// operation's id precedes it.
func (p *publisher) shareExample(operation, name string, wanted *huma.Example) string {
	if found := p.examples[name]; found != nil && !reflect.DeepEqual(found, wanted) {
		name = operation + "-" + name
	}
	p.examples[name] = wanted
	return name
}

func oneOf(lines []string) string {
	if len(lines) == 1 {
		return lines[0]
	}
	return "One of:\n\n- " + strings.Join(lines, "\n- ")
}
