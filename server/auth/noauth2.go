package auth

import (
	"net/http"
	"strings"
)

// The user who is an administrator unless the request names other roles.
const adminUser = "admin"

// IsOpen says whether a path of the Placement API is served without asking who
// calls: the root, which answers with the versions document. Under a prefix the
// root arrives as an empty path. The reference asks for a token there in one of
// its two modes; here both spellings are open in all of them.
func IsOpen(path string) bool {
	return path == "/" || path == ""
}

// Noauth2 reads the identity from a token that nobody vouches for, of the form
// "user" or "user:project". It serves tests and closed networks.
//
// ok is false for exactly the requests that get 401: those to a path that is
// not open and without the header X-Auth-Token. A token that is present but
// empty passes; its user has no name and, unless the request says otherwise, no
// roles, so the policy will deny it.
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

// projectOf picks the project by the order of the identity headers: X-Project-Id,
// X-Tenant-Id, X-Tenant. The token's project takes the place of X-Tenant-Id, so
// only the first of them can overrule it. A system-scoped token has no project
// to put there, and the client's own headers show through. The token's user
// stands in the place of X-User-Id in every case, which is the first of its
// kind; that is why no header of the client ever changes the user.
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

// rolesOf gives the roles that the request names. Naming none, by an empty
// header, is different from not sending the header: it makes even the
// administrator a user without roles.
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

// header gives the value of a header and whether it was sent at all. A header
// sent several times has the values joined by commas, as HTTP defines it.
func header(r *http.Request, name string) (value string, ok bool) {
	values := r.Header.Values(name)
	return strings.Join(values, ","), len(values) > 0
}
