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

// Error is an answer that is not the one hoped for, or none at all. Use errors.Is
// with the sentinels of this package to ask what it means.
type Error struct {
	// Method and Path are the request's.
	Method, Path string
	// Status is HTTP's; 0 if there was no answer, see Cause.
	Status int
	// Code is such as "placement.concurrent_update", or empty.
	Code string
	// Title is the status in words. Detail is what the service says of this case,
	// without the sentence that it says of every case like it; of a body that is
	// not the API's, the beginning.
	Title, Detail string
	// RequestID finds the request in the service's log.
	RequestID string
	// MinVersion and MaxVersion are what the service speaks, if it refused the
	// microversion.
	MinVersion, MaxVersion string
	// Cause is why there was no answer.
	Cause error

	unknown, givenUp bool
}

// Error says what was asked, what came back, and what to do where that is known.
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
		fmt.Fprintf(&text, "; the service speaks the microversions %s to %s, this client %s",
			e.MinVersion, e.MaxVersion, strings.TrimPrefix(string(newest), "placement "))
	}
	if e.unknown {
		text.WriteString("; it is not known whether it was done")
	}
	if e.RequestID != "" {
		fmt.Fprintf(&text, " (%s)", e.RequestID)
	}
	return text.String()
}

// Unwrap is the cause, such as context.DeadlineExceeded.
func (e *Error) Unwrap() error { return e.Cause }

// Is says whether the error is of the sentinel's kind.
func (e *Error) Is(sentinel error) bool {
	if sentinel == ErrOutcomeUnknown {
		return e.unknown
	}
	return slices.Contains(e.kinds(), sentinel)
}

// codes are what the service's codes mean.
var codes = map[string]error{
	"placement.concurrent_update":                      ErrConcurrentUpdate,
	"placement.inventory.inuse":                        ErrInventoryInUse,
	"placement.duplicate_name":                         ErrDuplicateName,
	"placement.resource_provider.inuse":                ErrProviderInUse,
	"placement.resource_provider.cannot_delete_parent": ErrHasChildren,
	"placement.resource_provider.not_found":            ErrNotFound,
}

// statuses are what is clear without a code.
var statuses = map[int]error{
	http.StatusNotFound:           ErrNotFound,
	http.StatusUnauthorized:       ErrUnauthorized,
	http.StatusForbidden:          ErrForbidden,
	http.StatusTooManyRequests:    ErrUnavailable,
	http.StatusBadGateway:         ErrUnavailable,
	http.StatusServiceUnavailable: ErrUnavailable,
	http.StatusGatewayTimeout:     ErrUnavailable,
}

// wordings are the cases that the API tells apart by nothing but their words,
// each looked for under its own code only. They are part of the API: other clients
// match the same.
var wordings = []struct {
	code, says string
	kinds      []error
}{
	{"placement.concurrent_update", "consumer generation conflict", []error{ErrConcurrentUpdate, ErrConsumerGeneration}},
	// To delete the inventory of one class gives the code of a race; the other ways
	// to lose it give placement.inventory.inuse.
	{"placement.concurrent_update", "Unable to delete inventory of class", []error{ErrInventoryInUse}},
	{"placement.duplicate_name", "Conflicting resource provider uuid:", []error{ErrDuplicateUUID}},
	// Claims that do not fit have no code. This opens all three: no such inventory,
	// bounds, capacity.
	{"placement.undefined_code", "Unable to allocate inventory: ", []error{ErrNoRoom}},
}

func (e *Error) kinds() []error {
	if e.Status == 0 {
		if e.givenUp {
			return nil // by the caller, which says nothing about the service
		}
		return []error{ErrUnavailable}
	}
	if e.MaxVersion != "" {
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

// failure is the error of a request without an answer; ctx is the caller's.
func (n *notes) failure(ctx context.Context, err error) error {
	var before *Error
	if errors.As(err, &before) && !n.executed {
		return before // Keystone's; the request was not sent
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err // it repeats the method and the address
	}
	return &Error{
		Method: n.method, Path: n.path, Title: "no answer", Cause: err,
		unknown: n.executed && n.method != http.MethodGet, givenUp: ctx.Err() != nil,
	}
}

// refusal is the error of an answer; read takes from the body what it says.
func (n *notes) refusal(response *http.Response, body []byte, read func(*Error, *http.Response, []byte)) error {
	failed := &Error{
		Method: n.method, Path: n.path, Status: response.StatusCode, Title: http.StatusText(response.StatusCode),
		RequestID: response.Header.Get(requestIDHeader),
		// An answer of the service's own ends the question what an attempt did only
		// if it can be told from one that another attempt caused.
		unknown: n.executed && n.method != http.MethodGet && overloaded(response.StatusCode),
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

// placementRefusal reads the body of an error as Placement writes it.
func placementRefusal(failed *Error, _ *http.Response, body []byte) {
	var listed api.Errors
	var denied api.Unauthorized
	switch {
	case json.Unmarshal(body, &listed) == nil && len(listed.Errors) > 0:
		failed.take(listed.Errors[0])
	case json.Unmarshal(body, &denied) == nil && denied.Message != "":
		// Some services put the breaks of a page into it.
		failed.Detail = excerpt([]byte(strings.ReplaceAll(denied.Message, "<br />", " ")))
	}
}

func (e *Error) take(first api.Error) {
	e.Title = first.Title
	e.Code, e.MinVersion, e.MaxVersion = value(first.Code), value(first.MinVersion), value(first.MaxVersion)
	if id := value(first.RequestID); id != "" {
		e.RequestID = id
	}
	// A general sentence, an empty line, what happened here.
	general, particular, _ := strings.Cut(first.Detail, "\n\n")
	e.Detail = strings.TrimSpace(particular)
	if e.Detail == "" {
		e.Detail = strings.TrimSpace(general)
	}
}

func value[T ~string](text *T) string {
	if text == nil {
		return ""
	}
	return string(*text)
}

// excerpt is the beginning of a text that may be long, in one line.
func excerpt(body []byte) string {
	const most = 200
	text := strings.Join(strings.Fields(strings.ToValidUTF8(string(body[:min(len(body), 8*most)]), "")), " ")
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}
