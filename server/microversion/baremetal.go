package microversion

import (
	"fmt"
	"net/http"
	"strings"
)

// The Bare Metal API has versions of the same form and a history of its own.
const (
	BaremetalMin Version = 1
	BaremetalMax Version = 82
)

// Names of the headers of the Bare Metal API.
const (
	// BaremetalHeader asks for a version, and announces the one in effect. The
	// common header does too, as service BaremetalService.
	BaremetalHeader    = "X-OpenStack-Ironic-API-Version"
	BaremetalMinHeader = "X-OpenStack-Ironic-API-Minimum-Version"
	BaremetalMaxHeader = "X-OpenStack-Ironic-API-Maximum-Version"
	BaremetalService   = "baremetal"
	// BaremetalRequestID is the header with the id of the request.
	BaremetalRequestID = "Openstack-Request-Id"
)

// BaremetalError says that the version asked for is malformed or out of range. The
// answer to both is 406.
type BaremetalError struct {
	// Text is the version as the client wrote it.
	Text string
	// Malformed: it is not of the form 1.N.
	Malformed bool
}

// Error is the sentence for the body of the answer.
func (e *BaremetalError) Error() string {
	if e.Malformed {
		return "Invalid value for " + BaremetalHeader + " header"
	}
	return fmt.Sprintf("Version %s was requested but the minor version is not supported by this service. "+
		"The supported version range is: [%s, %s].", e.Text, BaremetalMin, BaremetalMax)
}

// SetHeaders lets clients find a version that is supported. They take it from
// the answer, and look for none where they sent something else than a version.
func (e *BaremetalError) SetHeaders(h http.Header) {
	if !e.Malformed {
		setBaremetalRange(h)
	}
}

// NegotiateBaremetal picks the version of the Bare Metal API for a request: by the
// common header, else by the API's own, else the oldest. The error is a
// *BaremetalError.
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

// digits reads a number that consists of nothing else, which this API insists on.
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
