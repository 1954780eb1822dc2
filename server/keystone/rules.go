package keystone

import (
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/berthd/berth/server/auth"
)

// writtenRule is a rule of an application credential as Keystone tells it.
type writtenRule struct {
	Service string `json:"service"`
	Method  string `json:"method"`
	Path    string `json:"path"`
}

// accessRule allows requests of one method to the paths of one service that match.
type accessRule struct {
	service, method string
	path            *regexp.Regexp
}

// piece is a part of a pattern: {name} and * stand for one segment of a path, or a
// part of one, but not for nothing; ** stands for anything.
var piece = regexp.MustCompile(`\*\*|\*|\{[^}]*\}|[^{}*]+`)

// compile makes the rule comparable. Everything but the wildcards means itself;
// the middleware takes a dot for any character, which nobody can have wanted. A
// brace without its other half has no meaning, and such a rule allows nothing.
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

// mayAsk says whether a token is good for a request to a service of the given type.
// The path that counts is the one that arrived here, with the prefix under which the
// API is mounted; what proxies say that it was before is anybody's word.
//
// A service that passes the request on has done so for its own reasons, of which the
// writer of the rules cannot know: with the token of one, any request may be made.
func (t *token) mayAsk(r *http.Request, service string, passedOn bool) error {
	const ofCredential = "the token is of an application credential with access rules, "
	switch {
	case !t.restricted:
		return nil
	case service == "":
		return &auth.Refused{Reason: ofCredential + "and it is not said of which service type this is (keystone-service-type)"}
	case !slices.Contains(t.services, service):
		return &auth.Refused{Reason: ofCredential + "and its catalog has no service of the type " + service}
	case passedOn:
		return nil
	// A slash that is not written as one is part of a segment to some and the end
	// of one to others.
	case strings.Contains(strings.ToLower(r.URL.EscapedPath()), "%2f"):
		return &auth.Refused{Reason: ofCredential + "and the path has an encoded slash"}
	}
	for _, rule := range t.rules {
		if rule.allows(service, r.Method, r.URL.Path) {
			return nil
		}
	}
	return &auth.Refused{Reason: ofCredential + "of which none allows " + r.Method + " on that path of " + service}
}
