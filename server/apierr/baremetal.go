package apierr

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berthd/berth/server/fault"
	"github.com/berthd/berth/server/microversion"
	"github.com/berthd/berth/server/request"
)

// Baremetal is an error of the Bare Metal API on its way to the client: an object
// with one member, which is a string, which contains JSON again. Clients decode it
// twice. It satisfies huma.StatusError.
type Baremetal struct {
	Message string `json:"error_message" doc:"A JSON document in a string. It is an object that says what went wrong in its member faultstring; or in its member description, where nothing was found to serve the request." example:"{\"faultcode\": \"Client\", \"faultstring\": \"Node rack-7 could not be found.\", \"debuginfo\": null}"`

	status  int
	sense   string
	headers http.Header
}

// broken is the inner document for what an operation refused or failed to do.
type broken struct {
	Code string `json:"faultcode"`
	Text string `json:"faultstring"`
	// Debug is always null: what would stand there is in the log.
	Debug *string `json:"debuginfo"`
}

// unrouted is the inner document where no operation was found.
type unrouted struct {
	Code        int    `json:"code"`
	Title       string `json:"title"`
	Description string `json:"description"`
}

// Error is what went wrong, for people.
func (b *Baremetal) Error() string { return b.sense }

// GetStatus is the HTTP status.
func (b *Baremetal) GetStatus() int { return b.status }

// GetHeaders returns what the response needs besides its body.
func (b *Baremetal) GetHeaders() http.Header { return b.headers }

// ContentType is always that of JSON, whatever the client would rather have: it
// must be able to decode what it gets.
func (b *Baremetal) ContentType(string) string { return FormatJSON }

// baremetal makes the response to an error in the form of the Bare Metal API.
func baremetal(ctx context.Context, err error) *Baremetal {
	info := request.From(ctx)
	found := fault.As(err)
	var unsupported *microversion.BaremetalError
	switch {
	case errors.As(err, &unsupported):
		return unfound(http.StatusNotAcceptable, unsupported.Error())
	case found == nil:
		found = classify(ctx, err, info)
	}
	logCause(ctx, info, found, err)
	code := status[found.Kind]
	text := strings.TrimSpace(found.Detail)
	switch {
	case code == http.StatusMethodNotAllowed && text == "":
		made := unfound(code, "The method "+methodOf(info)+" is not allowed for this resource.")
		made.headers = headers(found)
		return made
	case code == http.StatusNotFound && text == "":
		return unfound(code, generic[code])
	case text == "":
		text = generic[code]
	}
	party := "Client"
	if code >= http.StatusInternalServerError {
		party = "Server"
	}
	made := doubled(code, text, broken{Code: party, Text: text})
	made.headers = headers(found)
	return made
}

// unfound is an error of finding the operation.
func unfound(code int, text string) *Baremetal {
	return doubled(code, text, unrouted{Code: code, Title: title(code), Description: text})
}

func doubled(code int, sense string, inner any) *Baremetal {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	// Texts and numbers can always be written.
	_ = encoder.Encode(inner)
	return &Baremetal{Message: strings.TrimSpace(text.String()), status: code, sense: sense}
}

// StatusError is an error in the form of the API that the request is for.
type StatusError interface {
	huma.StatusError
	GetHeaders() http.Header
	ContentType(string) string
}

// Answer makes the response to an error in the form of the API that the request is
// for.
func Answer(ctx context.Context, err error) StatusError {
	if found := fault.As(err); found != nil {
		request.From(ctx).ErrorCode = found.Code
	}
	if request.From(ctx).Service == request.Baremetal {
		return baremetal(ctx, err)
	}
	return From(ctx, err)
}

// CodeOf is the code in a response, for programs; empty where it has none.
func CodeOf(response StatusError) string {
	if found, ok := response.(*Response); ok {
		return found.Errors[0].Code
	}
	return ""
}
