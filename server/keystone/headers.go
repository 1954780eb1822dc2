package keystone

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/berthd/berth/server/auth"
)

// The headers that carry tokens. The oldest name of the first was made for an object
// store; the middleware takes it where the first is missing.
const (
	userTokenHeader    = "X-Auth-Token"
	storageTokenHeader = "X-Storage-Token"
	serviceTokenHeader = "X-Service-Token"
)

// maxToken bounds what is taken for a token, in bytes. Those of Keystone have some
// hundreds; servers in front of it refuse long headers in ways that look like outages.
const maxToken = 8192

// identityHeaders are those by which the middleware tells the service behind it who
// calls, in lower case.
var identityHeaders = func() map[string]bool {
	all := map[string]bool{
		"x-identity-status": true, "x-service-identity-status": true, "x-service-catalog": true,
		"x-is-admin-project": true, "openstack-system-scope": true,
		// Old names of others.
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

// strip removes the headers that only the middleware may set. Servers of the kind
// that Python services run in do not tell X_Roles from X-Roles, and what is behind us
// may be such a one day.
func strip(header http.Header) {
	for name := range header {
		if identityHeaders[strings.ReplaceAll(strings.ToLower(name), "_", "-")] {
			delete(header, name)
		}
	}
}

// take removes the tokens from the headers, so that nothing below can tell them to
// anybody, and returns them; empty: none was sent.
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

// sent is the token in a header. What cannot be one is refused here: Keystone need
// not be asked.
func sent(header http.Header, name string) (string, error) {
	values := header.Values(name)
	switch {
	case len(values) == 0:
		return "", nil
	case len(values) > 1:
		return "", &auth.Refused{Reason: fmt.Sprintf("the header %s was sent %d times", name, len(values))}
	}
	token := strings.TrimSpace(values[0])
	if len(token) > maxToken {
		return "", &auth.Refused{Reason: fmt.Sprintf("the header %s has %d bytes, more than any token", name, len(token))}
	}
	for i := range len(token) {
		if token[i] <= ' ' || token[i] > '~' {
			return "", &auth.Refused{Reason: fmt.Sprintf("the header %s holds characters that no token has", name)}
		}
	}
	return token, nil
}
