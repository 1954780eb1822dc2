package apierr

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/microversion"
	"github.com/berthd/berth/server/wire/request"
)

// Baremetal is an error response of the Bare Metal API: an object with one member, a string that contains JSON. Clients
// decode it twice. It implements huma.StatusError.
type Baremetal struct {
	Message string `json:"error_message" doc:"A JSON document in a string. It is an object with the error text in its member faultstring, or in its member description if no operation was found." example:"{\"faultcode\": \"Client\", \"faultstring\": \"Node rack-7 could not be found.\", \"debuginfo\": null}"`

	status  int
	sense   string
	headers http.Header
}

// operationFault is the inner document of an error in an operation.
type operationFault struct {
	Code string `json:"faultcode"`
	Text string `json:"faultstring"`
	// Debug is always null: details are in the log.
	Debug *string `json:"debuginfo"`
}

// routingFault is the inner document if no operation was found.
type routingFault struct {
	Code        int    `json:"code"`
	Title       string `json:"title"`
	Description string `json:"description"`
}

// Error returns the text of the error.
func (b *Baremetal) Error() string { return b.sense }

// GetStatus returns the HTTP status.
func (b *Baremetal) GetStatus() int { return b.status }

// GetHeaders returns the additional headers of the response.
func (b *Baremetal) GetHeaders() http.Header { return b.headers }

// ContentType always returns JSON, independent of Accept, because clients must be able to decode the error.
func (b *Baremetal) ContentType(string) string { return FormatJSON }

// baremetal returns the response to an error in the format of the Bare Metal API.
func baremetal(ctx context.Context, err error) *Baremetal {
	info := request.From(ctx)
	found := fault.As(err)
	var unsupported *microversion.BaremetalError
	switch {
	case errors.As(err, &unsupported):
		return isRoutingFault(http.StatusNotAcceptable, unsupported.Error())
	case found == nil:
		found = classify(ctx, err, info)
	}
	logCause(ctx, info, found, err)
	code := status[found.Kind]
	text := strings.TrimSpace(found.Detail)
	switch {
	case code == http.StatusMethodNotAllowed && text == "":
		result := isRoutingFault(code, "The method "+methodOf(info)+" is not allowed for this resource.")
		result.headers = headers(found)
		return result
	case code == http.StatusNotFound && text == "":
		return isRoutingFault(code, generic[code])
	case text == "":
		text = generic[code]
	}
	party := "Client"
	if code >= http.StatusInternalServerError {
		party = "Server"
	}
	result := encodeTwice(code, text, operationFault{Code: party, Text: text})
	result.headers = headers(found)
	return result
}

// isRoutingFault returns the response to an error of routing.
func isRoutingFault(code int, text string) *Baremetal {
	return encodeTwice(code, text, routingFault{Code: code, Title: title(code), Description: text})
}

func encodeTwice(code int, sense string, inner any) *Baremetal {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	// Encoding texts and numbers cannot fail.
	_ = encoder.Encode(inner)
	return &Baremetal{Message: strings.TrimSpace(text.String()), status: code, sense: sense}
}

// StatusError is an error response in the format of the requested API.
type StatusError interface {
	huma.StatusError
	GetHeaders() http.Header
	ContentType(string) string
}

// ResponseFor returns the response to an error in the format of the requested API.
func ResponseFor(ctx context.Context, err error) StatusError {
	err = ofExtensions(err)
	if found := fault.As(err); found != nil {
		info := request.From(ctx)
		info.ErrorCode, info.OutcomeUnknown = found.Code, found.OutcomeUnknown
	}
	if request.From(ctx).Service == request.Baremetal {
		return baremetal(ctx, err)
	}
	return From(ctx, err)
}

// CodeOf returns the error code of a response, or "" if it has none.
func CodeOf(response StatusError) string {
	if found, ok := response.(*Response); ok {
		return found.Errors[0].Code
	}
	return ""
}
