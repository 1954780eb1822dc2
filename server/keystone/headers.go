package keystone

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/berthd/berth/server/auth"
)

// The headers that carry tokens. The middleware reads storageTokenHeader, the name from the time of the
// object store, if userTokenHeader is missing.
const (
	userTokenHeader    = "X-Auth-Token"
	storageTokenHeader = "X-Storage-Token"
	serviceTokenHeader = "X-Service-Token"
)

// maxToken is the maximum length of a token in bytes. Tokens of Keystone have some hundred bytes. Proxies
// in front of it reject longer headers with responses that look like outages.
const maxToken = 8192

// identityHeaders lists the headers, in lower case, with which the middleware passes the identity of the
// caller to the service behind it.
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

// strip removes the headers that only the middleware may set. Python's WSGI servers map X_Roles and
// X-Roles to the same variable, so it removes both: a service behind Berth may be such a one.
func strip(header http.Header) {
	for name := range header {
		if identityHeaders[strings.ReplaceAll(strings.ToLower(name), "_", "-")] {
			delete(header, name)
		}
	}
}

// take removes the tokens from the headers, so that later handlers cannot log or forward them, and returns
// them; an empty string means that none was sent.
func take(header http.Header) (user, service string, err error) {
	userHeader := userTokenHeader
	if len(header.Values(userTokenHeader)) == 0 {
		userHeader = storageTokenHeader
	}
	user, err = sent(header, userHeader)
	if err == nil {
		service, err = sent(header, serviceTokenHeader)
	}
	for _, name := range []string{userTokenHeader, storageTokenHeader, serviceTokenHeader} {
		header.Del(name)
	}
	return user, service, err
}

// sent returns the token in a header. It rejects values that cannot be tokens without a request to
// Keystone.
func sent(header http.Header, name string) (string, error) {
	values := header.Values(name)
	switch {
	case len(values) == 0:
		return "", nil
	case len(values) > 1:
		return "", &auth.UnauthenticatedError{Reason: fmt.Sprintf("the header %s was sent %d times, want once", name, len(values))}
	}
	token := strings.TrimSpace(values[0])
	if len(token) > maxToken {
		return "", &auth.UnauthenticatedError{Reason: fmt.Sprintf("the header %s has %d bytes, more than any token", name, len(token))}
	}
	for i := range len(token) {
		if token[i] <= ' ' || token[i] > '~' {
			return "", &auth.UnauthenticatedError{Reason: fmt.Sprintf("the header %s contains characters that are invalid in tokens", name)}
		}
	}
	return token, nil
}
