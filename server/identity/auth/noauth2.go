package auth

import (
	"net/http"
	"slices"
	"strings"
)

// adminUser is the user that has the role admin unless the request names other roles.
const adminUser = "admin"

// IsOpen reports whether a path of the Placement API needs no authentication: only the root, which returns
// the versions document. Under a prefix the root arrives as an empty path. OpenStack Placement requires a
// token there in one of its two modes; here both spellings are open in all modes.
func IsOpen(path string) bool {
	return path == "/" || path == ""
}

// Noauth2 reads the identity from a token of the form "user" or "user:project", which it does not
// validate. It is for tests and closed networks.
//
// ok is false for exactly the requests that get 401: those to a path that is not open and without the
// header X-Auth-Token. A token that is present but empty is accepted; its user has no name and, unless the
// request sends roles, no roles, so the policy denies it.
func Noauth2(r *http.Request) (caller Caller, ok bool) {
	if IsOpen(r.URL.Path) {
		return Caller{}, true
	}
	token, ok := header(r, "X-Auth-Token")
	if !ok {
		return Caller{}, false
	}
	user, project, _ := strings.Cut(token, ":")
	if project == "" {
		project = user
	}
	scope, _ := header(r, "OpenStack-System-Scope")
	domain, _ := header(r, "X-Domain-Id")
	return Caller{
		UserID:      user,
		ProjectID:   projectOf(r, project, scope),
		Roles:       rolesOf(r, user),
		SystemScope: scope,
		DomainID:    domain,
	}, true
}

// projectOf returns the project by the order of the identity headers: X-Project-Id, X-Tenant-Id, X-Tenant.
// The project of the token replaces X-Tenant-Id, so only X-Project-Id overrides it. A system-scoped token
// has no project, so X-Tenant-Id and X-Tenant of the client apply. The user of the token always replaces
// X-User-Id, the first header for users; so no header of the client changes the user.
func projectOf(r *http.Request, tokenProject, systemScope string) string {
	if project, ok := header(r, "X-Project-Id"); ok {
		return project
	}
	if systemScope == "" {
		return tokenProject
	}
	if project, ok := header(r, "X-Tenant-Id"); ok {
		return project
	}
	project, _ := header(r, "X-Tenant")
	return project
}

// rolesOf returns the roles that the request names. An empty header differs from a missing one: it removes
// even the roles of the user admin.
func rolesOf(r *http.Request, user string) []string {
	list, ok := header(r, "X-Roles")
	if !ok {
		if user == adminUser {
			return []string{adminUser}
		}
		return nil
	}
	var roles []string
	for role := range strings.SplitSeq(list, ",") {
		if role = strings.TrimSpace(role); role != "" {
			roles = append(roles, role)
		}
	}
	return roles
}

// Baremetal returns the caller of Noauth2 for the Bare Metal API, whose rules distinguish system scope
// from project scope. A request that names neither a project nor a domain has system scope. As in Keystone
// after its bootstrap, the role admin implies member, and member implies reader.
func Baremetal(r *http.Request, caller Caller) Caller {
	token, _ := header(r, "X-Auth-Token")
	_, named := header(r, "X-Project-Id")
	if _, project, _ := strings.Cut(token, ":"); project == "" && !named && caller.ProjectScoped() {
		caller.SystemScope = "all"
	}
	if caller.SystemScope != "" {
		caller.ProjectID = ""
	}
	for _, implied := range [][2]string{{"admin", "member"}, {"manager", "member"}, {"member", "reader"}} {
		if has(caller.Roles, implied[0]) && !has(caller.Roles, implied[1]) {
			caller.Roles = append(slices.Clone(caller.Roles), implied[1])
		}
	}
	return caller
}

// header returns the value of a header and whether it was sent. The values of a header that was sent
// several times are joined by commas, as HTTP defines.
func header(r *http.Request, name string) (value string, ok bool) {
	values := r.Header.Values(name)
	return strings.Join(values, ","), len(values) > 0
}
