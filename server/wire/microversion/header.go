package microversion

import "strings"

// whitespace separates the parts of an entry. Unicode spaces are not included: header values are bytes, and no client
// sends them.
const whitespace = " \t\n\v\f\r"

// Requested is the version text of every service in the header of a request. The texts are not validated; each API
// parses its own.
type Requested struct {
	versions map[string]string
}

// Parse parses all values of the header. Repeated headers equal one header with their values joined by commas. The last
// of several entries for one service applies; an entry without a version has no effect and does not cancel an earlier
// one.
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

// splitEntry splits an entry into the service and the version text, which is everything after the first run of
// whitespace and may contain whitespace.
func splitEntry(entry string) (service, version string, ok bool) {
	entry = strings.Trim(entry, whitespace)
	gap := strings.IndexAny(entry, whitespace)
	if gap < 0 {
		return "", "", false
	}
	return entry[:gap], strings.Trim(entry[gap:], whitespace), true
}

// Version returns the version text of a service, and false if there is none. Service names are case-insensitive.
func (r Requested) Version(service string) (text string, ok bool) {
	text, ok = r.versions[strings.ToLower(service)]
	return text, ok
}
