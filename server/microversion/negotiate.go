package microversion

import "strings"

// MalformedError says that the version text is not of the form 1.N. The answer
// to it is 400.
type MalformedError struct {
	// Text is the version as the client wrote it.
	Text string
}

// Error is the phrase that clients look for.
func (e *MalformedError) Error() string {
	return "invalid version string: " + e.Text
}

// Detail is the sentence for the body of the answer. Its last part is free
// text in the contract and tells what would have been understood.
func (e *MalformedError) Detail() string {
	return "Invalid microversion: " + e.Error() +
		"; expected two numbers such as " + Max.String() + ", or " + Latest
}

// UnsupportedError says that the version is well formed but outside the range
// from Min to Max. The answer to it is 406.
type UnsupportedError struct {
	// Text is the version as the client wrote it.
	Text string
}

// Error is the phrase that clients look for.
func (e *UnsupportedError) Error() string {
	return "Unacceptable version header: " + e.Text
}

// Detail is the sentence for the body of the answer.
func (e *UnsupportedError) Detail() string {
	return "Invalid microversion: " + e.Error()
}

// Negotiate picks the version of the Placement API for a request. A request
// that names none gets Min. The error is a *MalformedError or an
// *UnsupportedError.
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

// Numbers are not counted beyond this: it is far above any version, and adding
// one more digit to it still fits an int of 32 bits.
const saturated = 1 << 20

// lenientInt reads a number the way the reference does: surrounding whitespace,
// a sign, leading zeros and single underscores between digits are accepted, so
// "1.07" and "1. 5" are valid versions (a quirk of the wire that is kept).
// Digits outside ASCII are refused; they cannot reach the reference either,
// which sees a header byte by byte. Huge numbers saturate: they are well formed
// and merely unsupported.
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
