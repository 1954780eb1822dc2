package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	api "github.com/berthd/berth/gen/client"
)

// Error is the failure of a request: an error response, or no response. Use errors.Is with the sentinels of this
// package to classify it.
type Error struct {
	// Method and Path are the request's.
	Method, Path string
	// Status is the HTTP status; 0 without a response, see Cause.
	Status int
	// Code is an error code such as "placement.concurrent_update", or empty.
	Code string
	// Title is the text of the status. Detail is the part of the detail that is specific to this request, without the
	// general sentence before it. For a body that is not of the API, it is the beginning of the body.
	Title, Detail string
	// RequestID finds the request in the service's log.
	RequestID string
	// MinVersion and MaxVersion are the range of microversions of the service, if it rejected the one requested.
	MinVersion, MaxVersion string
	// Explanation is why a claim was rejected, or which names are similar to an unknown one; nil if the request does not
	// select berth 1.2, policy does not permit explanations, or the error has none.
	Explanation *Explanation
	// Refused are the candidates of a claim that do not fit; nil for other errors.
	Refused []api.RefusedCandidate
	// Fit is how many consumers of a claim could be placed. Exact is true if no others could be placed at that moment. Both
	// are nil for other errors.
	Fit   *int
	Exact *bool
	// Cause is the reason for a missing response.
	Cause error

	// unextended: the response is of a service that ignored the extensions selected.
	unknown, givenUp, unextended bool
}

// ofExtensions reports whether the error is one of the negotiation of extensions.
func (e *Error) ofExtensions() bool { return strings.HasPrefix(e.Code, "berth.version") }

// Error returns the request, the response, and the remedy where one is known.
func (e *Error) Error() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s %s: ", e.Method, e.Path)
	switch {
	case e.Cause != nil:
		text.WriteString(e.Cause.Error())
	case e.Detail == "":
		fmt.Fprintf(&text, "%d %s", e.Status, e.Title)
	default:
		fmt.Fprintf(&text, "%d %s: %s", e.Status, e.Title, e.Detail)
	}
	if e.MaxVersion != "" {
		fmt.Fprintf(&text, "; the service supports the microversions %s to %s, this client requires %s",
			e.MinVersion, e.MaxVersion, strings.TrimPrefix(string(newest), "placement "))
	}
	if e.unknown {
		text.WriteString("; outcome unknown: the service may have executed the request")
	}
	if e.RequestID != "" {
		fmt.Fprintf(&text, " (%s)", e.RequestID)
	}
	return text.String()
}

// Unwrap returns the cause, such as context.DeadlineExceeded.
func (e *Error) Unwrap() error { return e.Cause }

// Is reports whether the error is one of the sentinel's kind.
func (e *Error) Is(sentinel error) bool {
	if sentinel == ErrOutcomeUnknown {
		return e.unknown
	}
	return slices.Contains(e.kinds(), sentinel)
}

// codes maps the error codes of the service to sentinels.
var codes = map[string]error{
	"placement.concurrent_update":                      ErrConcurrentUpdate,
	"placement.inventory.inuse":                        ErrInventoryInUse,
	"placement.duplicate_name":                         ErrDuplicateName,
	"placement.resource_provider.inuse":                ErrProviderInUse,
	"placement.resource_provider.cannot_delete_parent": ErrHasChildren,
	"placement.resource_provider.not_found":            ErrNotFound,
	unsupportedExtensions:                              ErrExtensions,
	"berth.claim.contended":                            ErrContended,
	"berth.claim.undecided":                            ErrUndecided,
	"berth.history.off":                                ErrHistoryOff,
	"berth.history.gone":                               ErrHistoryGone,
}

// statuses maps statuses to sentinels, for responses without a known code.
var statuses = map[int]error{
	http.StatusNotFound:           ErrNotFound,
	http.StatusUnauthorized:       ErrUnauthorized,
	http.StatusForbidden:          ErrForbidden,
	http.StatusTooManyRequests:    ErrUnavailable,
	http.StatusBadGateway:         ErrUnavailable,
	http.StatusServiceUnavailable: ErrUnavailable,
	http.StatusGatewayTimeout:     ErrUnavailable,
}

// wordings are the cases that the API distinguishes only by phrases in the detail, each for its own code. The phrases
// are part of the API: other clients match them too.
var wordings = []struct {
	code, says string
	kinds      []error
}{
	{"placement.concurrent_update", "consumer generation conflict", []error{ErrConcurrentUpdate, ErrConsumerGeneration}},
	// DELETE of the inventory of one class returns the code of a generation conflict; other requests that delete it
	// return placement.inventory.inuse.
	{"placement.concurrent_update", "Unable to delete inventory of class", []error{ErrInventoryInUse}},
	{"placement.duplicate_name", "Conflicting resource provider uuid:", []error{ErrDuplicateUUID}},
	// Claims that exceed the capacity have no code. This phrase begins all three cases: no such inventory, unit
	// constraints, capacity.
	{"placement.undefined_code", "Unable to allocate inventory: ", []error{ErrCapacityExceeded}},
	{"berth.claim.nothing_fits", "", []error{ErrNothingFits, ErrCapacityExceeded}},
}

func (e *Error) kinds() []error {
	if e.Status == 0 {
		if e.givenUp {
			return nil // canceled by the caller: the state of the service is unknown
		}
		return []error{ErrUnavailable}
	}
	switch {
	case e.unextended:
		return []error{ErrExtensions}
	case e.MaxVersion != "":
		return []error{ErrMicroversion}
	}
	for _, wording := range wordings {
		if e.Code == wording.code && e.Status == http.StatusConflict && strings.Contains(e.Detail, wording.says) {
			return wording.kinds
		}
	}
	if kind := codes[e.Code]; kind != nil {
		return []error{kind}
	}
	if kind := statuses[e.Status]; kind != nil {
		return []error{kind}
	}
	return nil
}

// failure returns the error of a request without a response; ctx is the context of the caller.
func (n *notes) failure(ctx context.Context, err error) error {
	var before *Error
	if errors.As(err, &before) && !n.executed {
		return before // an error of Keystone; the request was not sent
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err // it repeats the method and the address
	}
	return &Error{
		Method: n.method, Path: n.path, Title: "no answer", Cause: err,
		unknown: n.executed && !isRead(n.method, n.path), givenUp: ctx.Err() != nil,
	}
}

// refusal returns the error of an error response; read fills it from the body.
func (n *notes) refusal(response *http.Response, body []byte, read func(*Error, *http.Response, []byte)) *Error {
	failed := &Error{
		Method: n.method, Path: n.path, Status: response.StatusCode, Title: http.StatusText(response.StatusCode),
		RequestID: response.Header.Get(requestIDHeader),
		// After an attempt with unknown outcome, the response to a later one settles the outcome unless it is an
		// overload response, or one of a server that does not have the version of the request.
		unknown: n.executed && !isRead(n.method, n.path) && (overloaded(response.StatusCode) || response.StatusCode == http.StatusNotAcceptable),
	}
	if read != nil {
		read(failed, response, body)
	}
	switch {
	case failed.Detail != "" || failed.Code != "":
	case response.Header.Get("Location") != "":
		failed.Detail = "the service is at " + response.Header.Get("Location")
	default:
		failed.Detail = excerpt(body)
	}
	return failed
}

// placementRefusal reads an error body of the Placement API.
func placementRefusal(failed *Error, _ *http.Response, body []byte) {
	var listed api.Errors
	var denied api.Unauthorized
	switch {
	case json.Unmarshal(body, &listed) == nil && len(listed.Errors) > 0:
		failed.take(listed.Errors[0])
		failed.takeExtensions(body)
	case json.Unmarshal(body, &denied) == nil && denied.Message != "":
		// Some services send line breaks as HTML.
		failed.Detail = excerpt([]byte(strings.ReplaceAll(denied.Message, "<br />", " ")))
	}
}

func (e *Error) take(first api.Error) {
	e.Title = first.Title
	e.Code, e.MinVersion, e.MaxVersion = value(first.Code), value(first.MinVersion), value(first.MaxVersion)
	if id := value(first.RequestID); id != "" {
		e.RequestID = id
	}
	// A general sentence, an empty line, the detail of this request.
	general, particular, _ := strings.Cut(first.Detail, "\n\n")
	e.Detail = strings.TrimSpace(particular)
	if e.Detail == "" {
		e.Detail = strings.TrimSpace(general)
	}
}

// takeExtensions reads the members of extensions in an error: the explanation of berth 1.2, and the reasons why a claim
// of berth 1.3 does not fit. Members that cannot be read are nil.
func (e *Error) takeExtensions(body []byte) {
	var listed struct {
		Errors []struct {
			Explanation *Explanation           `json:"explanation"`
			Refused     []api.RefusedCandidate `json:"refused"`
			Fit         *int                   `json:"fit"`
			Exact       *bool                  `json:"exact"`
		} `json:"errors"`
	}
	if json.Unmarshal(body, &listed) == nil && len(listed.Errors) > 0 {
		first := listed.Errors[0]
		e.Explanation, e.Refused, e.Fit, e.Exact = first.Explanation, first.Refused, first.Fit, first.Exact
	}
}

func value[T ~string](text *T) string {
	if text == nil {
		return ""
	}
	return string(*text)
}

// excerpt returns the beginning of a text, at most 200 characters, as one line.
func excerpt(body []byte) string {
	const most = 200
	text := strings.Join(strings.Fields(strings.ToValidUTF8(string(body[:min(len(body), 8*most)]), "")), " ")
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}
