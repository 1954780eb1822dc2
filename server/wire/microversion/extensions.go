package microversion

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// ExtensionService is the service name of Berth's extensions in the common header: "OpenStack-API-Version: placement
// 1.39, berth 1.1". A client that does not send it gets the APIs without extensions.
const ExtensionService = "berth"

// Extension is a version 1.N of Berth's extensions of all APIs. Its value is N. Each version includes the ones before.
type Extension uint8

// This is the supported range; every minor version between the two exists. A new version raises ExtensionMax.
const (
	ExtensionMin Extension = 0
	ExtensionMax Extension = 7
)

// PlacementExtensionMin is the first version with extensions of the Placement API. Earlier ones have only extensions of
// the Bare Metal API, and change nothing in the Placement API.
const PlacementExtensionMin Extension = 1

// String returns the version in the format of headers and documents: "1.1".
func (e Extension) String() string { return strconv.Itoa(major) + "." + strconv.Itoa(int(e)) }

// HeaderValue returns the entry of the common header, such as "berth 1.1".
func (e Extension) HeaderValue() string { return ExtensionService + " " + e.String() }

// AddHeader announces the version on a response of the Placement API, in a line after that of the microversion. It
// announces no version without extensions of that API.
func (e Extension) AddHeader(h http.Header) {
	if e >= PlacementExtensionMin {
		h.Add(Header, e.HeaderValue())
	}
}

// ExtensionError is the error of an unsupported or malformed version of the extensions. It returns status 406.
type ExtensionError struct {
	// Text is the version in the notation of the client.
	Text string
}

// Error returns the text of the response.
func (e *ExtensionError) Error() string {
	return fmt.Sprintf("Version %s of %s was requested but is not supported by this service, which has %s to %s.",
		e.Text, ExtensionService, ExtensionMin, ExtensionMax)
}

// NegotiateExtension returns the version of the extensions for a request to any API, and whether the request selects
// one. The error is an *ExtensionError.
func NegotiateExtension(requested Requested) (extension Extension, selected bool, err error) {
	text, selected := requested.Version(ExtensionService)
	switch {
	case !selected:
		return ExtensionMin, false, nil
	case strings.EqualFold(text, Latest):
		return ExtensionMax, true, nil
	}
	for extension := ExtensionMin; extension <= ExtensionMax; extension++ {
		if extension.String() == text {
			return extension, true, nil
		}
	}
	return ExtensionMin, false, &ExtensionError{Text: text}
}

// CombinationError is the error of a version of the extensions with another microversion of the Placement API than the
// one that it extends. It returns status 400.
type CombinationError struct {
	Extension Extension
	// Version is the negotiated microversion. Selected reports that the request selects it.
	Version  Version
	Selected bool
}

// Error returns the text of the response.
func (e *CombinationError) Error() string {
	got := Service + " " + e.Version.String()
	if !e.Selected {
		got = "no version of " + Service + ", which means " + e.Version.String()
	}
	return fmt.Sprintf("Version %s of %s needs version %s of %s in the same header, such as %q. Got: %s.",
		e.Extension, ExtensionService, Max, Service, Max.HeaderValue()+", "+e.Extension.HeaderValue(), got)
}

// Extend returns the version of the Placement API for the negotiated microversion and the negotiated version of the
// extensions: Berth(N) for Max with 1.N. The error is a *CombinationError.
func Extend(requested Requested, version Version, extension Extension) (Version, error) {
	switch {
	case extension < PlacementExtensionMin:
		return version, nil
	case version != Max:
		_, selected := requested.Version(Service)
		return version, &CombinationError{Extension: extension, Version: version, Selected: selected}
	}
	return Berth(uint8(extension)), nil
}
