package microversion

import (
	"net/http"
	"strconv"
)

// Version is a microversion 1.N of the Placement API. Its value is N, so
// versions compare with the ordinary operators and the zero value is 1.0, the
// version of a request that names none.
type Version uint8

// The supported range; every minor version between the two exists.
const (
	Min Version = 0
	Max Version = 39
)

// Names used by the negotiation headers.
const (
	// Header is the only header considered; the older, service-specific
	// spellings are ignored.
	Header = "OpenStack-API-Version"
	// Service is the name under which the Placement API is asked for.
	Service = "placement"
	// Latest stands for Max when a client asks for it, in this spelling only.
	Latest = "latest"
)

// The major version is the same for the whole life of this API.
const major = 1

// V makes the version 1.minor. It exists for tables of versions: V(7) reads
// better there than a conversion. It does not check the range.
func V(minor uint8) Version {
	return Version(minor)
}

// All lists every supported version, oldest first.
func All() []Version {
	all := make([]Version, 0, int(Max-Min)+1)
	for v := Min; v <= Max; v++ {
		all = append(all, v)
	}
	return all
}

// String renders the version as it appears in headers and documents: "1.7".
func (v Version) String() string {
	return strconv.Itoa(major) + "." + strconv.Itoa(int(v))
}

// HeaderValue is the value of the response header, such as "placement 1.7".
func (v Version) HeaderValue() string {
	return Service + " " + v.String()
}

// SetHeaders announces the version on a response. Caches have to keep the
// answers of different versions apart, so the Vary header goes with it.
func (v Version) SetHeaders(h http.Header) {
	h.Set(Header, v.HeaderValue())
	h.Set("Vary", "openstack-api-version")
}

// HasCacheHeaders says whether successful answers carry Cache-Control and
// Last-Modified (the wire contract, section HTTP 14).
func (v Version) HasCacheHeaders() bool {
	return v >= V(15)
}

// HasErrorCode says whether JSON error bodies carry the key "code" (the wire
// contract, section HTTP 8).
func (v Version) HasErrorCode() bool {
	return v >= V(23)
}
