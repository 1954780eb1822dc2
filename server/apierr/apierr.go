// Package apierr turns errors into responses: it is the only package that knows
// both faults and HTTP. Its rules are those of the wire contract, section HTTP 8.
//
// It is not for wording what went wrong; that is in the fault. What is no fault
// becomes a 500 that says nothing but the request's id, and goes to the log.
package apierr

import (
	"context"
	"errors"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/berthd/berth/server/fault"
	"github.com/berthd/berth/server/microversion"
	"github.com/berthd/berth/server/policy"
	"github.com/berthd/berth/server/request"
)

// status is the one table from kinds to HTTP.
var status = map[fault.Kind]int{
	fault.Internal:         http.StatusInternalServerError,
	fault.Invalid:          http.StatusBadRequest,
	fault.Unauthorized:     http.StatusUnauthorized,
	fault.Forbidden:        http.StatusForbidden,
	fault.NotFound:         http.StatusNotFound,
	fault.MethodNotAllowed: http.StatusMethodNotAllowed,
	fault.NotAcceptable:    http.StatusNotAcceptable,
	fault.Timeout:          http.StatusRequestTimeout,
	fault.Conflict:         http.StatusConflict,
	fault.TooLarge:         http.StatusRequestEntityTooLarge,
	fault.UnsupportedMedia: http.StatusUnsupportedMediaType,
	fault.TooMany:          http.StatusTooManyRequests,
	fault.Unavailable:      http.StatusServiceUnavailable,
}

// generic opens the detail of an error of each status.
var generic = map[int]string{
	http.StatusBadRequest:            "The request is malformed or breaks a rule of this API.",
	http.StatusForbidden:             "You may not do this.",
	http.StatusNotFound:              "The resource could not be found.",
	http.StatusNotAcceptable:         "There is nothing here in the form that the request asks for.",
	http.StatusRequestTimeout:        "The request took too long to arrive.",
	http.StatusConflict:              "The request conflicts with the present state of the resource.",
	http.StatusRequestEntityTooLarge: "The request's body is too large.",
	http.StatusUnsupportedMediaType:  "The request's body is in a form that is not supported here.",
	http.StatusTooManyRequests:       "There are too many requests of yours at once.",
	http.StatusServiceUnavailable:    "The service cannot answer just now.",
	http.StatusInternalServerError:   "The server failed; its log has the reason under the request's id.",
}

// Item is one error as clients of the Placement API see it.
type Item struct {
	Status     int    `json:"status" format:"int32" doc:"HTTP status of the response." example:"404"`
	Title      string `json:"title" doc:"The status in words." example:"Not Found"`
	Detail     string `json:"detail" doc:"What went wrong, for people." example:"The resource could not be found."`
	Code       string `json:"code,omitempty" doc:"What went wrong, for programs. Missing where no microversion could be agreed on." example:"placement.undefined_code"`
	RequestID  string `json:"request_id,omitempty" doc:"Also in the header X-Openstack-Request-Id and in the server's log." example:"req-6f9c0a4e-8f0b-4c9b-9f5e-3c8f2b1d7a60"`
	MaxVersion string `json:"max_version,omitempty" doc:"Newest microversion of the server; only where the one asked for is not supported." example:"1.39"`
	MinVersion string `json:"min_version,omitempty" doc:"Oldest microversion of the server; only where the one asked for is not supported." example:"1.0"`
}

// Response is an error on its way to the client. It satisfies huma.StatusError.
type Response struct {
	Errors []Item `json:"errors" doc:"What went wrong; one element."`

	format  string
	headers http.Header
}

// Error is the detail.
func (r *Response) Error() string { return r.Errors[0].Detail }

// GetStatus is the HTTP status.
func (r *Response) GetStatus() int { return r.Errors[0].Status }

// GetHeaders returns what the response needs besides its body.
func (r *Response) GetHeaders() http.Header { return r.headers }

// ContentType picks the format that the client accepts.
func (r *Response) ContentType(string) string {
	if r.format == "" {
		return FormatJSON
	}
	return r.format
}

// From makes the response to an error of the Placement API. Only a fault speaks to the client.
func From(ctx context.Context, err error) *Response {
	info := request.From(ctx)
	found := fault.As(err)
	if found == nil {
		found = classify(ctx, err, info)
	}
	logCause(ctx, info, found, err)
	code := status[found.Kind]
	item := Item{
		Status: code, Title: title(code), RequestID: info.ID,
		Detail: detail(code, methodOf(info), found.Detail),
	}
	if version, ok := microversion.Lookup(ctx); ok && version.HasErrorCode() {
		item.Code = found.Code
		if item.Code == "" {
			item.Code = fault.CodeUndefined
		}
	}
	var unsupported *microversion.UnsupportedError
	if errors.As(err, &unsupported) {
		item.MaxVersion, item.MinVersion = microversion.Max.String(), microversion.Min.String()
	}
	return &Response{Errors: []Item{item}, format: format(info), headers: headers(found)}
}

// classify decides what an error means that no rule made: a version that cannot
// be served, a client that left, or a failure of ours.
func classify(ctx context.Context, err error, info *request.Info) *fault.Error {
	var malformed *microversion.MalformedError
	var unsupported *microversion.UnsupportedError
	var denied *policy.Denied
	switch {
	case errors.As(err, &denied):
		return fault.New(fault.Forbidden, "%s", denied.Error())
	case errors.As(err, &malformed):
		return fault.New(fault.Invalid, "%s", malformed.Detail())
	case errors.As(err, &unsupported):
		return fault.New(fault.NotAcceptable, "%s", unsupported.Detail())
	case ctx.Err() != nil:
		return fault.New(fault.Unavailable, "The request was cancelled or took longer than the server allows.")
	}
	info.Log.ErrorContext(ctx, "request failed", "request_id", info.ID, "error", err.Error())
	return &fault.Error{Kind: fault.Internal}
}

// logCause tells the log why the service cannot answer, which is not for everybody: an
// error around the fault knows more than the fault.
func logCause(ctx context.Context, info *request.Info, found *fault.Error, err error) {
	if found.Kind == fault.Unavailable && fault.As(err) == found && err != error(found) {
		info.Log.WarnContext(ctx, "request cannot be answered", "request_id", info.ID, "error", err.Error())
	}
}

// headers are what an error needs besides its body, nil for most.
func headers(found *fault.Error) http.Header {
	switch {
	case found.Allow != "":
		return http.Header{"Allow": {found.Allow}}
	case found.Kind == fault.TooMany || found.Kind == fault.Unavailable:
		// Clients that are sent away without a time come back at once, all of them.
		seconds := max(1, int64(math.Ceil(found.RetryAfter.Seconds())))
		return http.Header{"Retry-After": {strconv.FormatInt(seconds, 10)}}
	}
	return nil
}

func methodOf(info *request.Info) string {
	if info.HTTP == nil {
		return ""
	}
	return info.HTTP.Method
}

// titles that net/http words differently from the wire.
func title(code int) string {
	if code == http.StatusRequestEntityTooLarge {
		return "Request Entity Too Large"
	}
	return http.StatusText(code)
}

// tag matches what the wire loses of user data in details: the reference runs
// them through a stripper of HTML tags, and so shows line breaks as spaces.
var tag = regexp.MustCompile(`<[^>]*>`)

func detail(code int, method, text string) string {
	opening := generic[code]
	if code == http.StatusMethodNotAllowed {
		opening = "The method " + method + " is not allowed for this resource."
	}
	text = strings.ReplaceAll(tag.ReplaceAllString(text, ""), "\n", " ")
	return opening + "\n\n " + text + "  "
}

// Plain is an error outside of a request, which huma asks for to document its
// shape.
func Plain(code int, message string) *Response {
	return &Response{Errors: []Item{{Status: code, Title: title(code), Detail: message}}}
}

// FromHuma makes the response to what huma itself refuses. Its statuses are kept
// but for 422, which this API does not have; causes of a failure of ours go to
// the log only.
func FromHuma(ctx context.Context, code int, message string, causes ...error) StatusError {
	if code >= http.StatusInternalServerError {
		return Answer(ctx, errors.Join(append(causes, errors.New(message))...))
	}
	if code == http.StatusUnprocessableEntity {
		code = http.StatusBadRequest
	}
	for kind, known := range status {
		if known == code {
			return Answer(ctx, fault.New(kind, "%s", message))
		}
	}
	return Answer(ctx, fault.New(fault.Invalid, "%s", message))
}
