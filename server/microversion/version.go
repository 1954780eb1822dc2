package microversion

import (
	"net/http"
	"strconv"
)

// Version is a microversion 1.N of the Placement API. Its value is N, so versions can be compared with the ordinary
// operators. The zero value is 1.0, the version of a request without a version.
type Version uint8

// This is the supported range; every minor version between the two exists.
const (
	Min Version = 0
	Max Version = 39
)

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

// All returns every supported version, oldest first.
func All() []Version {
	all := make([]Version, 0, int(Max-Min)+1)
	for v := Min; v <= Max; v++ {
		all = append(all, v)
	}
	return all
}

// String returns the version in the format of headers and documents: "1.7".
func (v Version) String() string {
	return strconv.Itoa(major) + "." + strconv.Itoa(int(v))
}

// HeaderValue returns the value of the response header, such as "placement 1.7".
func (v Version) HeaderValue() string {
	return Service + " " + v.String()
}

// SetHeaders announces the version on a response. Caches must store responses of different versions separately, so it
// also sets Vary.
func (v Version) SetHeaders(h http.Header) {
	h.Set(Header, v.HeaderValue())
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
