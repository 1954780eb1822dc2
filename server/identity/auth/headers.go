package auth

import (
	"fmt"
	"net/http"
	"strings"
)

// MaxToken is the maximum length of a token in bytes. Tokens of Keystone have some hundred bytes. Proxies
// in front of it reject longer headers with responses that look like outages.
const MaxToken = 8192

// identityHeaders lists the headers, in lower case, with which OpenStack's middleware passes the identity
// of the caller to the service behind it.
var identityHeaders = func() map[string]bool {
	all := map[string]bool{
		"x-identity-status": true, "x-service-identity-status": true, "x-service-catalog": true,
		"x-is-admin-project": true, "openstack-system-scope": true,
		// Deprecated names.
		"x-user": true, "x-role": true, "x-tenant": true, "x-tenant-id": true, "x-tenant-name": true,
	}
	for _, of := range []string{"x-", "x-service-"} {
		for _, what := range []string{
			"user-id", "user-name", "user-domain-id", "user-domain-name",
			"project-id", "project-name", "project-domain-id", "project-domain-name",
			"domain-id", "domain-name", "roles",
		} {
			all[of+what] = true
		}
	}
	return all
}()

// DropIdentity removes the headers that only a middleware may set, so that a client cannot name its own
// identity. Python's WSGI servers map X_Roles and X-Roles to the same variable, so it removes both: a
// service behind Berth may be such a one.
func DropIdentity(header http.Header) {
	for name := range header {
		if identityHeaders[strings.ReplaceAll(strings.ToLower(name), "_", "-")] {
			delete(header, name)
		}
	}
}

// TokenHeader returns the token in a header; an empty text means that none was sent. Its error is an
// *UnauthenticatedError, for a header with several values, or with a value that cannot be a token.
func TokenHeader(header http.Header, name string) (string, error) {
	values := header.Values(name)
	switch {
	case len(values) == 0:
		return "", nil
	case len(values) > 1:
		return "", &UnauthenticatedError{Reason: fmt.Sprintf("the header %s was sent %d times, want once", name, len(values))}
	}
	token := strings.TrimSpace(values[0])
	if err := checkToken(name, token); err != nil {
		return "", err
	}
	return token, nil
}

// checkToken returns an error for a text that is too long for a token or has characters that no token has.
func checkToken(name, token string) error {
	if len(token) > MaxToken {
		return &UnauthenticatedError{Reason: fmt.Sprintf("the header %s has %d bytes, more than any token", name, len(token))}
	}
	for i := range len(token) {
		if token[i] <= ' ' || token[i] > '~' {
			return &UnauthenticatedError{Reason: fmt.Sprintf("the header %s contains characters that are invalid in tokens", name)}
		}
	}
	return nil
}
