package keystone

import (
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/berthd/berth/server/identity/auth"
)

// writtenRule is an access rule of an application credential in the format of Keystone's API.
type writtenRule struct {
	Service string `json:"service"`
	Method  string `json:"method"`
	Path    string `json:"path"`
}

// accessRule permits requests with one method to the matching paths of one service.
type accessRule struct {
	service, method string
	path            *regexp.Regexp
}

// piece matches a part of a pattern: {name} and * stand for one segment of a path, or a part of one, but
// not for an empty string; ** stands for any string.
var piece = regexp.MustCompile(`\*\*|\*|\{[^}]*\}|[^{}*]+`)

// compile translates the rule to an accessRule. Everything except the wildcards is literal; in the
// middleware a dot matches any character, which no author of a rule intends. A rule with an unbalanced
// brace permits nothing.
func (w writtenRule) compile() accessRule {
	rule := accessRule{service: w.Service, method: w.Method}
	var pattern strings.Builder
	rest := w.Path
	for rest != "" {
		at := piece.FindStringIndex(rest)
		if at == nil || at[0] != 0 {
			return rule
		}
		switch found := rest[:at[1]]; {
		case found == "**":
			pattern.WriteString(".*")
		case found == "*" || found[0] == '{':
			pattern.WriteString("[^/]+")
		default:
			pattern.WriteString(regexp.QuoteMeta(found))
		}
		rest = rest[at[1]:]
	}
	rule.path, _ = regexp.Compile(`(?s)\A(?:` + pattern.String() + `)\z`)
	return rule
}

func (a accessRule) allows(service, method, path string) bool {
	return a.service == service && a.method == method && a.path != nil && a.path.MatchString(path)
}

// permits returns an error unless the token permits a request to a service of the given type. It matches
// the path as it arrived, with the prefix under which the API is mounted, and ignores the original path in
// headers of proxies, which a client can forge.
//
// If a service forwards the request (passedOn), every request is permitted: the service acts for reasons
// of its own, which the author of the rules cannot know.
func (t *token) permits(r *http.Request, service string, passedOn bool) error {
	const ofCredential = "the token belongs to an application credential with access rules, "
	switch {
	case !t.restricted:
		return nil
	case service == "":
		return &auth.UnauthenticatedError{Reason: ofCredential + "and the service type of this API is not configured (keystone-service-type)"}
	case !slices.Contains(t.services, service):
		return &auth.UnauthenticatedError{Reason: ofCredential + "and its catalog has no service of the type " + service}
	case passedOn:
		return nil
	// Some servers take an encoded slash as part of a segment, others as its end.
	case strings.Contains(strings.ToLower(r.URL.EscapedPath()), "%2f"):
		return &auth.UnauthenticatedError{Reason: ofCredential + "and the path has an encoded slash"}
	}
	for _, rule := range t.rules {
		if rule.allows(service, r.Method, r.URL.Path) {
			return nil
		}
	}
	return &auth.UnauthenticatedError{Reason: ofCredential + "none of which permits " + r.Method + " on that path of " + service}
}
