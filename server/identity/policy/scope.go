package policy

import "github.com/berthd/berth/server/identity/auth"

// scopes is a set of token scopes, the scope_types of oslo.policy.
type scopes int

// The members of the set, and the sets that rules have.
const (
	systemScope scopes = 1 << iota
	domainScope
	projectScope

	systemOrProject = systemScope | projectScope
	anyScope        = systemScope | domainScope | projectScope
)

// scopeOf returns the scope of a caller's token as oslo.policy does. A token that is for neither the
// system nor a domain counts as project-scoped.
func scopeOf(caller *auth.Caller) scopes {
	switch {
	case caller.SystemScope != "":
		return systemScope
	case caller.DomainID != "":
		return domainScope
	}
	return projectScope
}

func (s scopes) names() []string {
	var names []string
	for _, item := range []struct {
		scope scopes
		name  string
	}{{systemScope, "system"}, {domainScope, "domain"}, {projectScope, "project"}} {
		if s&item.scope != 0 {
			names = append(names, item.name)
		}
	}
	return names
}
