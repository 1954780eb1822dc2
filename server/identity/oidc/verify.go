package oidc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/berthd/berth/internal/exactjson"
	"github.com/berthd/berth/server/identity/auth"
)

// verify returns the claims and the expiry of a token that is valid: of an accepted type and algorithm, signed by the
// issuer for an accepted audience, and neither expired nor from the future. Its error is an
// *auth.UnauthenticatedError, or an *auth.Unavailable if the keys of the issuer cannot be fetched.
func (a *Authenticator) verify(ctx context.Context, text string) (claimSet, time.Time, error) {
	if strings.Count(text, ".") != 2 {
		return nil, time.Time{}, auth.InvalidToken("the token is not a signed JSON Web Token of three parts")
	}
	payload, err := a.verifySignature(ctx, text)
	if err != nil {
		return nil, time.Time{}, err
	}
	// A claim that is there twice, or in another case, has different values for different readers.
	var claims claimSet
	if err := exactjson.Unmarshal(payload, &claims); err != nil || claims == nil {
		return nil, time.Time{}, auth.InvalidToken("the claims of the token are not a JSON object in UTF-8 with each name once")
	}
	var registered jwt.Claims
	if err := exactjson.Unmarshal(payload, &registered); err != nil {
		return nil, time.Time{}, auth.InvalidToken("a registered claim of the token has a wrong type")
	}
	if err := a.checkRegistered(registered); err != nil {
		return nil, time.Time{}, err
	}
	return claims, registered.Expiry.Time(), checkPurpose(claims)
}

// checkRegistered checks issuer, audience and times. The token is signed by the issuer, so its values may
// appear in the log.
func (a *Authenticator) checkRegistered(claims jwt.Claims) error {
	if claims.Expiry == nil {
		return auth.InvalidToken("the token has no claim exp")
	}
	err := claims.ValidateWithLeeway(jwt.Expected{
		Issuer: a.options.Issuer, AnyAudience: jwt.Audience(a.options.Audiences), Time: a.now(),
	}, a.options.Leeway)
	switch {
	case errors.Is(err, jwt.ErrInvalidIssuer):
		return auth.InvalidToken(fmt.Sprintf("the claim iss is %s, want %q", quoted(claims.Issuer), a.options.Issuer))
	case errors.Is(err, jwt.ErrInvalidAudience):
		return auth.InvalidToken(fmt.Sprintf("the claim aud is %s, want one of %q", quoted([]string(claims.Audience)), a.options.Audiences))
	case errors.Is(err, jwt.ErrExpired):
		return auth.InvalidToken("the token has expired")
	case errors.Is(err, jwt.ErrNotValidYet):
		return auth.InvalidToken("the claim nbf of the token is in the future")
	case errors.Is(err, jwt.ErrIssuedInTheFuture):
		return auth.InvalidToken("the claim iat of the token is in the future; compare the clocks of the issuer and of this host")
	case err != nil:
		return auth.InvalidToken("a registered claim of the token is invalid")
	}
	return nil
}

// checkPurpose returns an error for tokens of the issuer that are not bearer tokens: those bound to a key
// of the client (RFC 7800), because Berth cannot check that key, and security events such as logouts
// (RFC 8417).
func checkPurpose(claims claimSet) error {
	if _, bound := claims["cnf"]; bound {
		return auth.InvalidToken("the token is bound to a key of its client (claim cnf), which Berth cannot check")
	}
	if _, event := claims["events"]; event {
		return auth.InvalidToken("the token is a security event (claim events), not an access token")
	}
	return nil
}

// quoted returns a value as Go prints it, shortened for a log line.
func quoted(value any) string {
	text := fmt.Sprintf("%q", value)
	if len(text) > maxErrorText {
		text = strings.ToValidUTF8(text[:maxErrorText], "") + "…"
	}
	return text
}

// verifySignature returns the claims of a token, as JSON, if a key of the issuer has signed it. The header of the token
// is decoded by go-jose, which compares names exactly and rejects duplicates.
func (a *Authenticator) verifySignature(ctx context.Context, text string) ([]byte, error) {
	parsed, err := jose.ParseSignedCompact(text, a.algorithms)
	if err != nil {
		return nil, auth.InvalidToken("the token is malformed, or its algorithm is not one of " + strings.Join(a.options.Algorithms, ", "))
	}
	header := parsed.Signatures[0].Protected
	if !a.acceptsType(header) {
		return nil, auth.InvalidToken("the header typ of the token is not one of " + strings.Join(a.options.TokenTypes, ", "))
	}
	keys, err := a.keys.candidates(ctx, header)
	if err != nil {
		return nil, err
	}
	if len(keys) == 0 {
		return nil, auth.InvalidToken("the issuer has no key with the key id and algorithm of the token")
	}
	for _, key := range keys {
		if payload, err := parsed.Verify(key); err == nil {
			return payload, nil
		}
	}
	return nil, auth.InvalidToken("the signature of the token is invalid")
}

// acceptsType reports whether the header typ has an accepted value. The prefix "application/" may be
// missing, case does not matter, and a missing header means a JWT (RFC 7519, section 5.1).
func (a *Authenticator) acceptsType(header jose.Header) bool {
	name, present := header.ExtraHeaders[jose.HeaderType]
	if !present {
		return slices.Contains(a.options.TokenTypes, TypeJWT)
	}
	text, ok := name.(string)
	return ok && slices.Contains(a.options.TokenTypes, strings.TrimPrefix(strings.ToLower(text), "application/"))
}

// claimSet is the decoded claims of a token. Numbers keep their text.
type claimSet map[string]any

// UnmarshalJSON implements json.Unmarshaler.
func (c *claimSet) UnmarshalJSON(document []byte) error {
	decoder := json.NewDecoder(strings.NewReader(string(document)))
	decoder.UseNumber()
	return decoder.Decode((*map[string]any)(c))
}
