package auth

import (
	"fmt"
	"net/http"
	"strings"
)

// The headers of the methods with bearer tokens.
const (
	userTokenHeader     = "X-Auth-Token"
	authorizationHeader = "Authorization"
	serviceTokenHeader  = "X-Service-Token"
)

// bearerChallenge is the value of WWW-Authenticate for a request without a token; after a token that is
// invalid, it has an error code (RFC 6750, section 3.1).
const bearerChallenge = `Bearer realm="berth"`

// MissingToken returns the error of a request without a token.
func MissingToken() error {
	return &UnauthenticatedError{
		Challenge: bearerChallenge,
		Reason:    "no token in the header X-Auth-Token, nor in Authorization: Bearer",
	}
}

// InvalidToken returns the error of a request whose token is invalid. The reason is for the log, and must
// not contain the token.
func InvalidToken(reason string) error {
	return &UnauthenticatedError{Challenge: bearerChallenge + `, error="invalid_token"`, Reason: reason}
}

// Token removes the tokens from the headers of a request, so that later handlers cannot log or forward
// them, and returns the token of the caller: that of X-Auth-Token or of Authorization with the scheme
// Bearer. If both are sent, they must be equal. Its error is an *UnauthenticatedError with the challenge of
// RFC 6750. Token ignores X-Service-Token, but removes it too.
func Token(r *http.Request) (string, error) {
	plain, err := TokenHeader(r.Header, userTokenHeader)
	var bearer string
	if err == nil {
		bearer, err = bearerToken(r.Header)
	}
	for _, name := range []string{userTokenHeader, authorizationHeader, serviceTokenHeader} {
		r.Header.Del(name)
	}
	switch {
	case err != nil:
		return "", InvalidToken(err.Error())
	case plain != "" && bearer != "" && plain != bearer:
		return "", InvalidToken("the headers X-Auth-Token and Authorization have different tokens")
	case plain != "":
		return plain, nil
	case bearer != "":
		return bearer, nil
	default:
		return "", MissingToken()
	}
}

// bearerToken returns the token in the header Authorization; empty: the header is missing.
func bearerToken(header http.Header) (string, error) {
	values := header.Values(authorizationHeader)
	switch {
	case len(values) == 0:
		return "", nil
	case len(values) > 1:
		return "", fmt.Errorf("the header %s was sent %d times, want once", authorizationHeader, len(values))
	}
	scheme, token, _ := strings.Cut(strings.TrimSpace(values[0]), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", fmt.Errorf("the header %s has another scheme than Bearer", authorizationHeader)
	}
	if token = strings.TrimLeft(token, " "); token == "" {
		return "", fmt.Errorf("the header %s has no token after Bearer", authorizationHeader)
	}
	return token, checkToken(authorizationHeader, token)
}
