package microversion

import (
	"fmt"
	"net/http"
	"strings"
)

// The Bare Metal API has versions of the same form with their own history.
const (
	BaremetalMin Version = 1
	BaremetalMax Version = 82
)

// These are the headers of the Bare Metal API.
const (
	// BaremetalHeader selects a version, and announces the negotiated one. So does the common header with the service
	// BaremetalService.
	BaremetalHeader    = "X-OpenStack-Ironic-API-Version"
	BaremetalMinHeader = "X-OpenStack-Ironic-API-Minimum-Version"
	BaremetalMaxHeader = "X-OpenStack-Ironic-API-Maximum-Version"
	BaremetalService   = "baremetal"
	// BaremetalRequestID is the header with the request ID.
	BaremetalRequestID = "Openstack-Request-Id"
)

// BaremetalError is the error of a version that is malformed or out of range. Both return status 406.
type BaremetalError struct {
	// Text is the version in the notation of the client.
	Text string
	// Malformed reports that the text does not have the form 1.N.
	Malformed bool
}

// Error returns the text of the response.
func (e *BaremetalError) Error() string {
	if e.Malformed {
		return "Invalid value for " + BaremetalHeader + " header"
	}
	return fmt.Sprintf("Version %s was requested but the minor version is not supported by this service. "+
		"The supported version range is: [%s, %s].", e.Text, BaremetalMin, BaremetalMax)
}

// SetHeaders announces the supported range, from which clients select a version. After a malformed version clients do
// not look for it, so it is omitted.
func (e *BaremetalError) SetHeaders(h http.Header) {
	if !e.Malformed {
		setBaremetalRange(h)
	}
}

// NegotiateBaremetal returns the version of the Bare Metal API for a request: from the common header, else from the
// API's own header, else the oldest. The error is a *BaremetalError.
func NegotiateBaremetal(h http.Header) (Version, error) {
	text, ok := Parse(h.Values(Header)).Version(BaremetalService)
	if !ok {
		text = strings.Trim(strings.Join(h.Values(BaremetalHeader), ","), whitespace)
	}
	switch {
	case text == "":
		return BaremetalMin, nil
	case strings.EqualFold(text, Latest):
		return BaremetalMax, nil
	}
	majorText, minorText, _ := strings.Cut(text, ".")
	majorNumber, majorOK := digits(majorText)
	minorNumber, minorOK := digits(minorText)
	if !majorOK || !minorOK {
		return BaremetalMin, &BaremetalError{Text: text, Malformed: true}
	}
	if majorNumber != major || minorNumber < int(BaremetalMin) || minorNumber > int(BaremetalMax) {
		return BaremetalMin, &BaremetalError{Text: text}
	}
	return Version(minorNumber), nil
}

// digits parses a number that consists of digits only, as this API requires.
func digits(text string) (number int, ok bool) {
	if strings.Trim(text, "0123456789") != "" {
		return 0, false
	}
	return lenientInt(text)
}

// SetBaremetalHeaders announces the version of the Bare Metal API on a response.
func (v Version) SetBaremetalHeaders(h http.Header) {
	setBaremetalRange(h)
	h.Set(BaremetalHeader, v.String())
	h.Add("Vary", BaremetalHeader+", "+Header)
}

func setBaremetalRange(h http.Header) {
	h.Set(BaremetalMinHeader, BaremetalMin.String())
	h.Set(BaremetalMaxHeader, BaremetalMax.String())
}
