package keystone

import (
	"net/http"

	"github.com/berthd/berth/server/identity/auth"
)

// The headers that carry tokens. The middleware reads storageTokenHeader, the name from the time of the
// object store, if userTokenHeader is missing.
const (
	userTokenHeader    = "X-Auth-Token"
	storageTokenHeader = "X-Storage-Token"
	serviceTokenHeader = "X-Service-Token"
)

// take removes the tokens from the headers, so that later handlers cannot log or forward them, and returns
// them; an empty string means that none was sent.
func take(header http.Header) (user, service string, err error) {
	userHeader := userTokenHeader
	if len(header.Values(userTokenHeader)) == 0 {
		userHeader = storageTokenHeader
	}
	user, err = auth.TokenHeader(header, userHeader)
	if err == nil {
		service, err = auth.TokenHeader(header, serviceTokenHeader)
	}
	for _, name := range []string{userTokenHeader, storageTokenHeader, serviceTokenHeader} {
		header.Del(name)
	}
	return user, service, err
}
