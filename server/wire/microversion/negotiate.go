package microversion

import "strings"

// MalformedError is the error of a version that does not have the form 1.N. It returns status 400.
type MalformedError struct {
	// Text is the version in the notation of the client.
	Text string
}

// Error returns the phrase that clients match.
func (e *MalformedError) Error() string {
	return "invalid version string: " + e.Text
}

// Detail returns the text of the response. Its last part is free text in the contract and names the expected form.
func (e *MalformedError) Detail() string {
	return "Invalid microversion: " + e.Error() +
		"; expected two numbers such as " + Max.String() + ", or " + Latest
}

// UnsupportedError is the error of a well-formed version outside of the range from Min to Max. It returns status 406.
type UnsupportedError struct {
	// Text is the version in the notation of the client.
	Text string
}

// Error returns the phrase that clients match.
func (e *UnsupportedError) Error() string {
	return "Unacceptable version header: " + e.Text
}

// Detail returns the text of the response.
func (e *UnsupportedError) Detail() string {
	return "Invalid microversion: " + e.Error()
}

// Negotiate returns the version of the Placement API for a request. A request without a version gets Min. The error is
// a *MalformedError or an *UnsupportedError.
func Negotiate(requested Requested) (Version, error) {
	text, ok := requested.Version(Service)
	switch {
	case !ok:
		return Min, nil
	case text == Latest:
		return Max, nil
	}
	majorText, minorText, ok := strings.Cut(text, ".")
	if !ok {
		return Min, &MalformedError{Text: text}
	}
	majorNumber, majorOK := lenientInt(majorText)
	minorNumber, minorOK := lenientInt(minorText)
	if !majorOK || !minorOK {
		return Min, &MalformedError{Text: text}
	}
	if majorNumber != major || minorNumber < int(Min) || minorNumber > int(Max) {
		return Min, &UnsupportedError{Text: text}
	}
	return Version(minorNumber), nil
}

// Numbers saturate at this value: it is far above any version, and with one more digit it still fits into an int of 32
// bits.
const saturated = 1 << 20

// lenientInt parses a number like OpenStack Placement does: surrounding whitespace, a sign, leading zeros and single
// underscores between digits are accepted, so "1.07" and "1. 5" are valid versions (a compatibility note). Digits
// outside of ASCII are invalid; they cannot reach OpenStack Placement either, which reads a header byte by byte. Huge
// numbers saturate: they are well-formed and unsupported.
func lenientInt(text string) (number int, ok bool) {
	text = strings.Trim(text, whitespace)
	negative := strings.HasPrefix(text, "-")
	if negative || strings.HasPrefix(text, "+") {
		text = text[1:]
	}
	// An underscore is allowed only directly after a digit and before another.
	afterDigit := false
	for _, c := range []byte(text) {
		switch {
		case c >= '0' && c <= '9':
			number = min(number*10+int(c-'0'), saturated)
			afterDigit = true
		case c == '_' && afterDigit:
			afterDigit = false
		default:
			return 0, false
		}
	}
	if negative {
		number = -number
	}
	return number, afterDigit
}
