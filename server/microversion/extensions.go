package microversion

import (
	"net/http"
	"strings"
)

// ExtensionService is the service name of Berth's extensions in the common header: "OpenStack-API-Version: baremetal
// 1.82, berth 1.0". A client that does not send it gets the API without extensions.
const ExtensionService = "berth"

// ExtensionVersion is the only version of the extensions.
const ExtensionVersion = "1.0"

// ExtensionError is the error of an unsupported version of the extensions.
type ExtensionError struct {
	// Text is the version in the notation of the client.
	Text string
}

// Error returns the text of the response.
func (e *ExtensionError) Error() string {
	return "Version " + e.Text + " of " + ExtensionService + " was requested but is not supported by this service, which has " +
		ExtensionVersion + "."
}

// Extended reports whether a request selects the extensions. The error is an *ExtensionError.
func Extended(h http.Header) (bool, error) {
	text, asked := Parse(h.Values(Header)).Version(ExtensionService)
	if asked && text != ExtensionVersion && !strings.EqualFold(text, Latest) {
		return false, &ExtensionError{Text: text}
	}
	return asked, nil
}
