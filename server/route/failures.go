package route

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berthd/berth/server/apierr"
	"github.com/berthd/berth/server/fault"
	"github.com/berthd/berth/server/microversion"
	"github.com/berthd/berth/server/policy"
)

// Failure is one way for an operation to fail, for the documents.
type Failure struct {
	// When says in words what leads to it.
	When string
	// Fault is what the client is told; it makes the example.
	Fault *fault.Error
	// Since is the first microversion that has it, Before the first that no
	// longer does; 0: all have it.
	Since, Before microversion.Version
}

func (f *Failure) happens(at microversion.Version) bool {
	return f.Since <= at && (f.Before == 0 || at < f.Before)
}

// Names of the responses that operations share.
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

// shared are the statuses that mean the same wherever they occur.
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

// sharedResponses is where they are.
const sharedResponses = "#/components/responses/"

// sharedFailures are the responses that operations refer to by name.
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
	delete(denied.Headers, p.api.VersionHeader)
	return map[string]*huma.Response{
		sharedUnauthorized: denied,
		p.api.UsualName:    p.failure(p.api.Usual.When, apierr.Answer(none, p.api.Usual.Fault)),
		sharedForbidden: p.failure("The policy does not allow it.",
			apierr.Answer(get, &policy.Denied{Rule: p.api.SampleRule})),
		sharedNotAcceptable: p.failure(p.api.UnsupportedWhen, apierr.Answer(none, p.api.Unsupported)),
		sharedTooLarge: p.failure("The body is larger than the server allows.",
			apierr.Answer(put, tooLarge(16<<20))),
		sharedMediaType: p.failure("The header `Content-Type` is not `application/json`.",
			apierr.Answer(put, unsupportedMedia("text/plain"))),
		sharedFailed: p.failure("The server failed. Its log has the reason, under the id of the request.",
			apierr.Answer(get, &fault.Error{Kind: fault.Internal})),
		sharedTooMany: p.retryable("The server runs no more requests of this caller at once; this one was not begun.",
			apierr.Answer(get, &fault.Error{Kind: fault.TooMany})),
		sharedUnavailable: p.retryable("The request took longer than the server allows, or the server has too much to do or is stopping.",
			apierr.Answer(get, &fault.Error{Kind: fault.Unavailable})),
	}
}

// failure is a response with an error in it.
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

// retryHeader says when it is worth trying again.
const retryHeader = "Retry-After"

// retryable is a response to a request that may succeed a little later.
func (p *publisher) retryable(description string, example any) *huma.Response {
	response := p.failure(description, example)
	response.Headers[retryHeader] = headerRef(retryHeader)
	return response
}

// headers are the API's own and that of all APIs.
func (a *API) headers(at microversion.Version) map[string]*huma.Header {
	all := a.Headers(at)
	all[retryHeader] = &huma.Header{
		Description: "How many seconds to wait before the request is worth sending again.",
		Schema:      &huma.Schema{Type: huma.TypeInteger, Format: "int32"}, Example: 1,
	}
	return all
}

// publishFailures replaces the errors that huma makes up by those of the table.
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
	for _, failure := range row.failures(p.api) {
		if failure.happens(p.at) {
			status := apierr.Answer(ctx, failure.Fault).GetStatus()
			byStatus[status] = append(byStatus[status], failure)
		}
	}
	for status, failures := range byStatus {
		op.Responses[strconv.Itoa(status)] = p.failureOf(ctx, failures)
	}
}

// statuses are those that follow from the checks and are the same everywhere.
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

// failures are the operation's own, and those that every body brings, before the
// one that all operations have.
func (op *Operation) failures(api *API) []*Failure {
	var all []*Failure
	for i := range op.Fails {
		all = append(all, &op.Fails[i])
	}
	if op.takesBody() {
		all = append(all, &Failure{
			When:  "The body is no JSON.",
			Fault: fault.New(fault.Invalid, "Malformed JSON: unexpected end of the document: line 1 column 1"),
		}, &Failure{
			When:  "The body does not fit its schema.",
			Fault: fault.New(fault.Invalid, "JSON does not validate: Additional properties are not allowed ('colour' was unexpected)"),
		})
	}
	return append(all, &api.Usual)
}

// takesBody says whether requests have a body that is read.
func (op *Operation) takesBody() bool {
	return slices.Contains(op.Checks, JSON) || slices.Contains(op.Checks, AnyType)
}

// failureOf tells all that one status of an operation can mean.
func (p *publisher) failureOf(ctx context.Context, failures []*Failure) *huma.Response {
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
		shown := apierr.Answer(ctx, failure.Fault)
		line, code := failure.When, apierr.CodeOf(shown)
		if code != "" && !slices.Contains(codes, code) {
			codes = append(codes, code)
		}
		if code != "" && code != fault.CodeUndefined {
			line = fmt.Sprintf("`%s`: %s", code, line)
		}
		lines = append(lines, line)
		name := p.shareExample(&huma.Example{Summary: failure.When, Value: shown})
		examples[name] = &huma.Example{Ref: "#/components/examples/" + name}
	}
	described := p.failure(oneOf(lines), nil)
	described.Content[jsonType].Examples = examples
	if len(codes) > 0 {
		slices.Sort(codes)
		described.Extensions = map[string]any{"x-error-codes": codes}
	}
	return described
}

// shareExample puts an example where all operations can refer to it and names it
// after its summary, with a number where that name is another's.
func (p *publisher) shareExample(wanted *huma.Example) string {
	base := slug(wanted.Summary)
	name := base
	for i := 2; ; i++ {
		found := p.examples[name]
		if found == nil {
			p.examples[name] = wanted
			return name
		}
		if reflect.DeepEqual(found, wanted) {
			return name
		}
		name = fmt.Sprintf("%s-%d", base, i)
	}
}

var notInNames = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

// slug makes the first words of a sentence into a name.
func slug(sentence string) string {
	const words = 8
	all := strings.Fields(notInNames.ReplaceAllString(strings.ToLower(sentence), " "))
	return strings.Join(all[:min(words, len(all))], "-")
}

func oneOf(lines []string) string {
	if len(lines) == 1 {
		return lines[0]
	}
	return "One of:\n\n- " + strings.Join(lines, "\n- ")
}
