package microversion

import "strings"

// Whitespace that separates the parts of an entry. Unicode spaces are left
// out: header values are bytes, and no client sends them.
const whitespace = " \t\n\v\f\r"

// Requested holds what a request asks for: the version text of every service
// named in its header. The texts are not judged yet; each API reads its own.
type Requested struct {
	versions map[string]string
}

// Parse reads all values of the header. Repeated headers mean the same as one
// header with their values joined by commas. Of several entries for one
// service the last wins; an entry without a version says nothing and does not
// cancel an earlier one.
func Parse(values []string) Requested {
	versions := make(map[string]string, len(values))
	for _, value := range values {
		for entry := range strings.SplitSeq(value, ",") {
			if service, version, ok := splitEntry(entry); ok {
				versions[strings.ToLower(service)] = version
			}
		}
	}
	return Requested{versions: versions}
}

// splitEntry separates the service from the version text, which is everything
// after the first run of whitespace and may itself contain some.
func splitEntry(entry string) (service, version string, ok bool) {
	entry = strings.Trim(entry, whitespace)
	gap := strings.IndexAny(entry, whitespace)
	if gap < 0 {
		return "", "", false
	}
	return entry[:gap], strings.Trim(entry[gap:], whitespace), true
}

// Version gives the version text asked for a service and whether there is one.
// Service names are compared without regard to case.
func (r Requested) Version(service string) (text string, ok bool) {
	text, ok = r.versions[strings.ToLower(service)]
	return text, ok
}
