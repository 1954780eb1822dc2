package client

import (
	"context"
	"net/http"
	"strings"
)

const versionHeader = "OpenStack-API-Version"

type extensionsKey struct{}

// WithExtensions returns a context whose requests select a version of Berth's extensions, such as "1.1", in addition to
// the microversion of this package. The errors of services without that version are ErrExtensions.
//
// OpenStack Placement and older versions of Berth ignore the selection. Requests to the Placement API find that by the
// response, which does not announce the version. A write may have been executed then, without the extensions; its error
// is also ErrOutcomeUnknown. Version 1.0 has extensions of the Bare Metal API only and is never announced.
func WithExtensions(ctx context.Context, version string) context.Context {
	return context.WithValue(ctx, extensionsKey{}, version)
}

// extensions returns the entry of the version header, or "".
func extensions(ctx context.Context) string {
	if version, ok := ctx.Value(extensionsKey{}).(string); ok && version != "" {
		return "berth " + version
	}
	return ""
}

// selectExtensions adds the entry to the header of a request.
func selectExtensions(ctx context.Context, header http.Header) {
	entry := extensions(ctx)
	if entry == "" {
		return
	}
	if before := header.Get(versionHeader); before != "" {
		entry = before + ", " + entry
	}
	header.Set(versionHeader, entry)
}

// lacksExtensions reports whether a response announces a microversion of Placement and not the selected extensions.
func lacksExtensions(ctx context.Context, response *http.Response) bool {
	entry := extensions(ctx)
	if entry == "" || entry == "berth 1.0" {
		return false
	}
	announced := strings.Join(response.Header.Values(versionHeader), ",")
	return strings.Contains(announced, "placement ") && !strings.Contains(announced, "berth ")
}

// withoutExtensions returns the error of a response without the selected extensions.
func (n *notes) withoutExtensions(ctx context.Context, response *http.Response) error {
	return &Error{
		Method: n.method, Path: n.path, Status: response.StatusCode, Title: http.StatusText(response.StatusCode),
		Detail:    "the service ignores " + extensions(ctx) + " in the version header, because it does not have these extensions",
		RequestID: response.Header.Get(requestIDHeader),
		unknown:   !isRead(n.method, n.path) && response.StatusCode < http.StatusMultipleChoices, unextended: true,
	}
}

// rejection returns the error of a response with status 300 or higher, or without the selected extensions; nil: it has neither.
func (n *notes) rejection(ctx context.Context, response *http.Response, body []byte, refused func(*Error, *http.Response, []byte)) error {
	isLacking := lacksExtensions(ctx, response)
	if response.StatusCode >= http.StatusMultipleChoices {
		if failed := n.refusal(response, body, refused); !isLacking || failed.ofExtensions() {
			return failed
		}
	}
	if isLacking {
		return n.withoutExtensions(ctx, response)
	}
	return nil
}
