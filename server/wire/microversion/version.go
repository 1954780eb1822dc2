package microversion

import (
	"net/http"
	"strconv"
)

// Version is a microversion 1.N of an API. Its value is N, so versions can be compared with the ordinary operators. The
// zero value is 1.0, the version of a request without a version.
//
// Larger values are Max of the Placement API with a version of Berth's extensions, see Berth. So the versions of that API
// are one line, and a table of variants treats an extension like a microversion.
type Version uint16

// This is the supported range of the Placement API; every minor version between the two exists.
const (
	Min Version = 0
	Max Version = 39
)

// unextended is larger than the versions without extensions of all APIs.
const unextended Version = 1 << 8

// Berth returns Max of the Placement API with version 1.minor of the extensions.
func Berth(minor uint8) Version { return unextended + Version(minor) }

// Extension returns the version of the extensions; ExtensionMin for a version without extensions of the Placement API.
func (v Version) Extension() Extension {
	if v < unextended {
		return ExtensionMin
	}
	return Extension(v - unextended)
}

// These are the names in the negotiation headers.
const (
	// Header is the only supported header; older, service-specific headers are ignored.
	Header = "OpenStack-API-Version"
	// Service is the service name of the Placement API.
	Service = "placement"
	// Latest selects Max. Clients must send it in this notation.
	Latest = "latest"
)

// The major version of this API never changes.
const major = 1

// V returns the version 1.minor. It exists for tables of versions: V(7) is more readable there than a conversion. It
// does not check the range.
func V(minor uint8) Version {
	return Version(minor)
}

// All returns every supported version of the Placement API without extensions, oldest first.
func All() []Version {
	all := make([]Version, 0, int(Max-Min)+1)
	for v := Min; v <= Max; v++ {
		all = append(all, v)
	}
	return all
}

// Extended returns every version of the Placement API with extensions, oldest first.
func Extended() []Version {
	var all []Version
	for extension := PlacementExtensionMin; extension <= ExtensionMax; extension++ {
		all = append(all, Berth(uint8(extension)))
	}
	return all
}

// String returns the microversion in the format of headers and documents: "1.7". It does not contain the version of the
// extensions, see Label.
func (v Version) String() string {
	if v >= unextended {
		return Max.String()
	}
	return strconv.Itoa(major) + "." + strconv.Itoa(int(v))
}

// Label returns the version for logs, metrics and documents: "1.7", or "1.39, berth 1.1" with extensions.
func (v Version) Label() string { return v.extended(v.String()) }

func (v Version) extended(text string) string {
	if v < unextended {
		return text
	}
	return text + ", " + v.Extension().HeaderValue()
}

// HeaderValue returns the value of the header that selects the version, such as "placement 1.7" or "placement 1.39,
// berth 1.1".
func (v Version) HeaderValue() string { return v.extended(Service + " " + v.String()) }

// SetHeaders announces the microversion on a response. Caches must store responses of different versions separately, so
// it also sets Vary. Extension.AddHeader announces the version of the extensions.
func (v Version) SetHeaders(h http.Header) {
	h.Set(Header, Service+" "+v.String())
	h.Set("Vary", "openstack-api-version")
}

// HasCacheHeaders reports whether successful responses have Cache-Control and Last-Modified
// (docs/contract/http.md#cache-headers).
func (v Version) HasCacheHeaders() bool {
	return v >= V(15)
}

// HasErrorCode reports whether JSON error bodies have the member "code" (docs/contract/http.md#error-bodies).
func (v Version) HasErrorCode() bool {
	return v >= V(23)
}
