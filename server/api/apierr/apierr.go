// Package apierr converts errors to responses. It is the only package that knows both faults and HTTP. Its rules are
// those of docs/contract/http.md#error-bodies.
//
// It is not for error texts, which are in the fault. An error that is not a fault becomes a 500 that contains only the
// request ID; the error itself is logged.
package apierr

import (
	"cmp"
	"context"
	"errors"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/berthd/berth/server/identity/policy"
	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/microversion"
	"github.com/berthd/berth/server/wire/request"
)

// status is the only table from kinds of faults to HTTP statuses.
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
	fault.Gone:             http.StatusGone,
	fault.TooLarge:         http.StatusRequestEntityTooLarge,
	fault.UnsupportedMedia: http.StatusUnsupportedMediaType,
	fault.TooMany:          http.StatusTooManyRequests,
	fault.Unavailable:      http.StatusServiceUnavailable,
}

// generic are the first sentences of the detail by status. Tests of clients match the sentences of 404, 405 (see
// detail) and 409, so these are the ones of OpenStack Placement; the others are Berth's own.
var generic = map[int]string{
	http.StatusBadRequest:            "The request is malformed or breaks a rule of this API.",
	http.StatusForbidden:             "You may not do this.",
	http.StatusNotFound:              "The resource could not be found.",
	http.StatusNotAcceptable:         "No representation of this resource matches the request's headers.",
	http.StatusRequestTimeout:        "The request took too long to arrive.",
	http.StatusConflict:              "There was a conflict when trying to complete your request.",
	http.StatusGone:                  "The resource is no longer available.",
	http.StatusRequestEntityTooLarge: "The request's body is too large.",
	http.StatusUnsupportedMediaType:  "This operation does not support the media type of the request's body.",
	http.StatusTooManyRequests:       "This caller has too many concurrent requests.",
	http.StatusServiceUnavailable:    "The service is temporarily unavailable. Retry the request later.",
	http.StatusInternalServerError:   "The server failed. Its log has the cause under the id of this request.",
}

// Item is one error in a response of the Placement API.
type Item struct {
	Status     int    `json:"status" format:"int32" doc:"HTTP status of the response." example:"404"`
	Title      string `json:"title" doc:"Name of the status." example:"Not Found"`
	Detail     string `json:"detail" doc:"Description of the error for people." example:"The resource could not be found."`
	Code       string `json:"code,omitempty" doc:"Machine-readable code of the error. Missing if the negotiation of the microversion failed." example:"placement.undefined_code"`
	RequestID  string `json:"request_id,omitempty" doc:"Also in the header X-Openstack-Request-Id and in the server's log." example:"req-6f9c0a4e-8f0b-4c9b-9f5e-3c8f2b1d7a60"`
	MaxVersion string `json:"max_version,omitempty" doc:"Newest supported microversion; only if the requested one is not supported." example:"1.39"`
	MinVersion string `json:"min_version,omitempty" doc:"Oldest supported microversion; only if the requested one is not supported." example:"1.0"`
	// Explanation is set only at versions of Berth's extensions.
	Explanation any `json:"explanation,omitempty" doc:"Explanation of the error."`
	// The following members are set only for claims that do not fit.
	Refused any   `json:"refused,omitempty" doc:"Why each candidate of a claim does not fit."`
	Fit     *int  `json:"fit,omitempty" nullable:"false" doc:"How many consumers of a claim could be placed." example:"2"`
	Exact   *bool `json:"exact,omitempty" nullable:"false" doc:"True if no placement of all consumers of a claim existed; false if the search found none."`
}

// Response is an error response. It implements huma.StatusError.
type Response struct {
	Errors []Item `json:"errors" doc:"List with one error."`

	format  string
	headers http.Header
}

// Error returns the detail.
func (r *Response) Error() string { return r.Errors[0].Detail }

// GetStatus returns the HTTP status.
func (r *Response) GetStatus() int { return r.Errors[0].Status }

// GetHeaders returns the additional headers of the response.
func (r *Response) GetHeaders() http.Header { return r.headers }

// ContentType selects the format that the client accepts.
func (r *Response) ContentType(string) string {
	if r.format == "" {
		return FormatJSON
	}
	return r.format
}

// From returns the response to an error of the Placement API. Only the text of a fault is sent to the client.
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
		Detail: detail(code, methodOf(info), found.Detail), Explanation: found.Explanation,
	}
	if found.Unfit != nil {
		item.Fit, item.Exact = found.Unfit.Fit, found.Unfit.Exact
		if found.Unfit.Refused != nil {
			item.Refused = found.Unfit.Refused
		}
	}
	version, negotiated := microversion.Lookup(ctx)
	switch {
	case isExtensionCode(found.Code), negotiated && version.HasErrorCode():
		item.Code = cmp.Or(found.Code, ownCode(version, found), fault.CodeUndefined)
	}
	var unsupported *microversion.UnsupportedError
	if errors.As(err, &unsupported) {
		item.MaxVersion, item.MinVersion = microversion.Max.String(), microversion.Min.String()
	}
	return &Response{Errors: []Item{item}, format: format(info), headers: headers(found)}
}

// ownCode returns the code of a limit or failure that only Berth has, or "" for other faults and at versions without own
// codes.
func ownCode(version microversion.Version, found *fault.Error) string {
	if !version.HasOwnErrorCodes() {
		return ""
	}
	return found.Own
}

// isExtensionCode reports whether an error code is one of the negotiation of extensions.
func isExtensionCode(code string) bool {
	return code == fault.CodeExtensionUnsupported || code == fault.CodeExtensionCombination
}

// ofExtensions returns the fault for an error of the negotiation of extensions, and any other error unchanged.
func ofExtensions(err error) error {
	var unsupported *microversion.ExtensionError
	var combination *microversion.CombinationError
	switch {
	case errors.As(err, &unsupported):
		return fault.New(fault.NotAcceptable, "%s", unsupported).WithCode(fault.CodeExtensionUnsupported)
	case errors.As(err, &combination):
		return fault.New(fault.Invalid, "%s", combination).WithCode(fault.CodeExtensionCombination)
	}
	return err
}

// classify returns the fault for an error that is not a fault: an unsupported version, a canceled request, or an
// internal error.
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
		return fault.New(fault.Unavailable, "The request was canceled or took longer than the server allows.").WithOwn(fault.CodeTimeout)
	}
	info.Log.ErrorContext(ctx, "request failed", "request_id", info.ID, "error", err.Error())
	return &fault.Error{Kind: fault.Internal}
}

// logCause logs why the service is unavailable. The error that wraps the fault contains details that clients must not
// see.
func logCause(ctx context.Context, info *request.Info, found *fault.Error, err error) {
	if found.Kind == fault.Unavailable && fault.As(err) == found && err != error(found) {
		info.Log.WarnContext(ctx, "request cannot be answered", "request_id", info.ID, "error", err.Error())
	}
}

// headers returns the additional headers of an error, nil for most.
func headers(found *fault.Error) http.Header {
	switch {
	case found.Allow != "":
		return http.Header{"Allow": {found.Allow}}
	case found.Kind == fault.TooMany || found.Kind == fault.Unavailable || found.RetryAfter > 0:
		// Without a time, all rejected clients retry immediately.
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

// title returns the title of a status. Some differ from those of net/http.
func title(code int) string {
	if code == http.StatusRequestEntityTooLarge {
		return "Request Entity Too Large"
	}
	return http.StatusText(code)
}

// tag matches the parts of user data that OpenStack Placement removes from details: it strips HTML tags, and so
// converts line breaks to spaces.
var tag = regexp.MustCompile(`<[^>]*>`)

func detail(code int, method, text string) string {
	opening := generic[code]
	if code == http.StatusMethodNotAllowed {
		opening = "The method " + method + " is not allowed for this resource."
	}
	text = strings.ReplaceAll(tag.ReplaceAllString(text, ""), "\n", " ")
	return opening + "\n\n " + text + "  "
}

// Plain returns an error outside of a request, with which huma documents the format of errors.
func Plain(code int, message string) *Response {
	return &Response{Errors: []Item{{Status: code, Title: title(code), Detail: message}}}
}

// FromHuma returns the response to an error of huma. It keeps the status except for 422, which this API does not use.
// It logs the causes of an internal error and does not send them.
func FromHuma(ctx context.Context, code int, message string, causes ...error) StatusError {
	if code >= http.StatusInternalServerError {
		return ResponseFor(ctx, errors.Join(append(causes, errors.New(message))...))
	}
	if code == http.StatusUnprocessableEntity {
		code = http.StatusBadRequest
	}
	for kind, known := range status {
		if known == code {
			return ResponseFor(ctx, fault.New(kind, "%s", message))
		}
	}
	return ResponseFor(ctx, fault.New(fault.Invalid, "%s", message))
}
