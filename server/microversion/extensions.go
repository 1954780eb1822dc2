package microversion

import (
	"net/http"
	"strings"
)

// ExtensionService names, in the common header, what this server has beyond the
// API that it is asked for in: "OpenStack-API-Version: baremetal 1.82, berth 1.0".
// A client that does not name it gets exactly that API.
const ExtensionService = "berth"

// ExtensionVersion is the only one there is.
const ExtensionVersion = "1.0"

// ExtensionError says that a version of the extensions is not supported.
type ExtensionError struct {
	// Text is the version as the client wrote it.
	Text string
}

// Error is the sentence for the body of the answer.
func (e *ExtensionError) Error() string {
	return "Version " + e.Text + " of " + ExtensionService + " was requested but is not supported by this service, which has " +
		ExtensionVersion + "."
}

// Extended says whether a request asks for the extensions. The error is an
// *ExtensionError.
func Extended(h http.Header) (bool, error) {
	text, asked := Parse(h.Values(Header)).Version(ExtensionService)
	if asked && text != ExtensionVersion && !strings.EqualFold(text, Latest) {
		return false, &ExtensionError{Text: text}
	}
	return asked, nil
}
