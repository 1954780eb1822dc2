package oidc_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/berthd/berth/internal/test/oidcprovider"
	"github.com/berthd/berth/server/identity/auth"
	"github.com/berthd/berth/server/identity/oidc"
)

// audience is the audience of the tokens of these tests.
const audience = "https://berth.example.org"

// ada is a client of the provider whose tokens describe a caller.
var ada = oidcprovider.Client{ID: "ada", Audience: []string{"other", audience}, Claims: map[string]any{
	"project": "lab", "realm_access": map[string]any{"roles": []string{"admin"}},
}}

// options returns the options of an authenticator for the tokens of ada.
func options(issuer string) oidc.Options {
	return oidc.Options{
		Issuer: issuer, Audiences: []string{"first", audience}, Algorithms: []string{"RS256", "ES256"},
		TokenTypes: []string{oidc.TypeAccessToken, oidc.TypeJWT}, Leeway: 30 * time.Second,
		Claims: oidc.ClaimMapping{User: "sub", Project: "project", Roles: "realm_access.roles"},
	}
}

// clock is a clock that a test sets.
type clock struct {
	mutex sync.Mutex
	now   time.Time
}

func (c *clock) Now() time.Time {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.now
}

// advance moves the clock forward.
func (c *clock) advance(by time.Duration) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.now = c.now.Add(by)
}

// newAuthenticator returns an authenticator with a clock that stands still.
func newAuthenticator(t testing.TB, with oidc.Options) (*oidc.Authenticator, *clock) {
	t.Helper()
	made, err := oidc.New(with)
	if err != nil {
		t.Fatal(err)
	}
	stopped := &clock{now: time.Now().Truncate(time.Second)}
	made.SetNow(stopped.Now)
	return made, stopped
}

// authenticate authenticates a request with a token in the given header.
func authenticate(t testing.TB, with *oidc.Authenticator, token string) (auth.Caller, error) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/resource_providers", nil)
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("X-Roles", "admin")
	caller, err := with.Authenticate(r)
	if len(r.Header) != 0 {
		t.Errorf("headers after authentication = %v, want none", r.Header)
	}
	return caller, err
}

// reasonOf returns the reason of a 401, after a check of its challenge.
func reasonOf(t testing.TB, err error) string {
	t.Helper()
	var invalid *auth.UnauthenticatedError
	if !errors.As(err, &invalid) {
		t.Errorf("error = %v, want an UnauthenticatedError", err)
		return ""
	}
	if want := `Bearer realm="berth", error="invalid_token"`; invalid.Challenge != want {
		t.Errorf("challenge = %s, want %s", invalid.Challenge, want)
	}
	return invalid.Reason
}

func TestAuth_OIDCToken_YieldsCaller(t *testing.T) {
	t.Parallel()
	provider := oidcprovider.Start(t, ada)
	with, _ := newAuthenticator(t, options(provider.Issuer))
	for _, algorithm := range []jose.SignatureAlgorithm{jose.RS256, jose.ES256} {
		provider.Rotate(t, algorithm)
		fresh, _ := newAuthenticator(t, options(provider.Issuer))
		caller, err := authenticate(t, fresh, provider.Token(t, "ada"))
		want := auth.Caller{
			UserID: "ada", Subject: "ada", TokenID: "id-of-ada", ProjectID: "lab", Method: auth.MethodOIDC,
			Roles: []string{"admin", "manager", "member", "reader"},
		}
		if left := time.Until(caller.Expires); left <= 0 || left > 24*time.Hour {
			t.Errorf("%s: expires in %v", algorithm, left)
		}
		want.Expires = caller.Expires
		if err != nil || !reflect.DeepEqual(caller, want) {
			t.Errorf("%s: caller = %+v, error %v; want %+v", algorithm, caller, err, want)
		}
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/resource_providers", nil)
	r.Header.Set("X-Auth-Token", provider.Token(t, "ada"))
	if caller, err := with.Authenticate(r); err != nil || caller.UserID != "ada" {
		t.Errorf("with X-Auth-Token: caller = %+v, error %v", caller, err)
	}
	if got, want := with.Validations(), map[string]int64{"valid": 1, "invalid": 0, "claim_missing": 0, "unavailable": 0}; !maps.Equal(got, want) {
		t.Errorf("validations = %v, want %v", got, want)
	}
}

// TestAuth_OIDCMissingToken_HasChallengeWithoutError checks RFC 6750, section 3.1: a request without a
// token gets no error code.
func TestAuth_OIDCMissingToken_HasChallengeWithoutError(t *testing.T) {
	t.Parallel()
	with, _ := newAuthenticator(t, options("http://127.0.0.1:1"))
	_, err := with.Authenticate(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/resource_providers", nil))
	var missing *auth.UnauthenticatedError
	if !errors.As(err, &missing) || missing.Challenge != `Bearer realm="berth"` {
		t.Errorf("error = %#v, want a challenge without an error", err)
	}
}

// goodClaims returns claims that authenticate ada at a time.
func goodClaims(issuer string, now time.Time) map[string]any {
	return map[string]any{
		"iss": issuer, "aud": audience, "sub": "ada", "exp": now.Add(time.Minute).Unix(), "iat": now.Unix(),
		"project": "lab", "realm_access": map[string]any{"roles": "admin"},
	}
}

// with returns claims with one changed; nil removes it.
func with(claims map[string]any, name string, value any) map[string]any {
	changed := maps.Clone(claims)
	changed[name] = value
	if value == nil {
		delete(changed, name)
	}
	return changed
}

func TestAuth_OIDCClaims_DecideValidity(t *testing.T) {
	t.Parallel()
	provider := oidcprovider.Start(t, ada)
	under, stopped := newAuthenticator(t, options(provider.Issuer))
	now := stopped.Now()
	at := func(seconds int64) int64 { return now.Unix() + seconds }
	good := goodClaims(provider.Issuer, now)
	cases := []struct {
		name   string
		claims map[string]any
		reason string // empty: valid
	}{
		{"good", good, ""},
		{"one of several audiences", with(good, "aud", []string{"x", "first"}), ""},
		{"expired within the leeway", with(good, "exp", at(-30)), ""},
		{"expired", with(good, "exp", at(-31)), "the token has expired"},
		{"no exp", with(good, "exp", nil), "the token has no claim exp"},
		{"exp beyond all times", with(good, "exp", 1e300), "a registered claim of the token has a wrong type"},
		{"exp is text", with(good, "exp", "tomorrow"), "a registered claim of the token has a wrong type"},
		{"nbf within the leeway", with(good, "nbf", at(30)), ""},
		{"nbf in the future", with(good, "nbf", at(31)), "the claim nbf of the token is in the future"},
		{"iat within the leeway", with(good, "iat", at(30)), ""},
		{"iat in the future", with(good, "iat", at(31)), "the claim iat of the token is in the future; compare the clocks of the issuer and of this host"},
		{"no iat", with(good, "iat", nil), ""},
		{"other audience", with(good, "aud", "other"), `the claim aud is ["other"], want one of ["first" "` + audience + `"]`},
		{"no audience", with(good, "aud", nil), `the claim aud is [], want one of ["first" "` + audience + `"]`},
		{"audience with a suffix", with(good, "aud", audience+"/"), `the claim aud is ["` + audience + `/"], want one of ["first" "` + audience + `"]`},
		{"other issuer", with(good, "iss", "https://other.example.org"), `the claim iss is "https://other.example.org", want "` + provider.Issuer + `"`},
		{"issuer with a slash", with(good, "iss", provider.Issuer+"/"), `the claim iss is "` + provider.Issuer + `/", want "` + provider.Issuer + `"`},
		{"no issuer", with(good, "iss", nil), `the claim iss is "", want "` + provider.Issuer + `"`},
		{"bound to a key", with(good, "cnf", map[string]any{"jkt": "x"}), "the token is bound to a key of its client (claim cnf), which Berth cannot check"},
		{"logout token", with(good, "events", map[string]any{}), "the token is a security event (claim events), not an access token"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := authenticate(t, under, provider.Sign(t, map[string]any{"kid": provider.KeyID()}, c.claims))
			switch {
			case c.reason == "" && err != nil:
				t.Errorf("error = %v, want none", err)
			case c.reason != "":
				if got := reasonOf(t, err); got != c.reason {
					t.Errorf("reason = %s, want %s", got, c.reason)
				}
			}
		})
	}
}

func TestAuth_OIDCTokenType_MustBeAccepted(t *testing.T) {
	t.Parallel()
	provider := oidcprovider.Start(t, ada)
	lax, stopped := newAuthenticator(t, options(provider.Issuer))
	strictly := options(provider.Issuer)
	strictly.TokenTypes = []string{oidc.TypeAccessToken}
	strict, _ := newAuthenticator(t, strictly)
	strict.SetNow(stopped.Now)
	for _, c := range []struct {
		typ         any
		lax, strict bool
	}{
		{nil, true, false}, {"JWT", true, false}, {"jwt", true, false},
		{"at+jwt", true, true}, {"application/at+JWT", true, true},
		{"logout+jwt", false, false}, {"dpop+jwt", false, false}, {"", false, false},
	} {
		header := map[string]any{"kid": provider.KeyID()}
		if c.typ != nil {
			header["typ"] = c.typ
		}
		token := provider.Sign(t, header, goodClaims(provider.Issuer, stopped.Now()))
		if _, err := authenticate(t, lax, token); (err == nil) != c.lax {
			t.Errorf("typ %v: error = %v, want valid: %t", c.typ, err, c.lax)
		}
		if _, err := authenticate(t, strict, token); (err == nil) != c.strict {
			t.Errorf("typ %v with at+jwt only: error = %v, want valid: %t", c.typ, err, c.strict)
		}
	}
}

func TestAuth_OIDCForgedToken_Returns401(t *testing.T) {
	t.Parallel()
	provider := oidcprovider.Start(t, ada)
	under, stopped := newAuthenticator(t, options(provider.Issuer))
	good := goodClaims(provider.Issuer, stopped.Now())
	header := map[string]any{"kid": provider.KeyID()}
	valid := provider.Sign(t, header, good)
	parts := strings.Split(valid, ".")
	encode := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	published := provider.PublicKey().(*rsa.PublicKey)
	der, err := x509.MarshalPKIXPublicKey(published)
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	hmac := func(secret []byte) string {
		return oidcprovider.SignWith(t, jose.SigningKey{Algorithm: jose.HS256, Key: secret}, header, good)
	}
	const (
		malformed = "the token is malformed, or its algorithm is not one of RS256, ES256"
		unknown   = "the issuer has no key with the key id and algorithm of the token"
		signature = "the signature of the token is invalid"
		parted    = "the token is not a signed JSON Web Token of three parts"
	)
	for name, c := range map[string]struct{ token, reason string }{
		"alg none":                           {encode(`{"alg":"none"}`) + "." + parts[1] + ".", malformed},
		"alg None with a signature":          {encode(`{"alg":"None","kid":"key-1"}`) + "." + parts[1] + "." + parts[2], malformed},
		"HS256 with the public key":          {hmac(der), malformed},
		"HS256 with the public key as PEM":   {hmac(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})), malformed},
		"another algorithm of the same key":  {encode(`{"alg":"RS512","kid":"key-1"}`) + "." + parts[1] + "." + parts[2], malformed},
		"ES256 header on an RSA key":         {encode(`{"alg":"ES256","kid":"key-1"}`) + "." + parts[1] + "." + parts[2], unknown},
		"unknown key id":                     {provider.Sign(t, map[string]any{"kid": "key-99"}, good), unknown},
		"a key of its own with the known id": {oidcprovider.SignWith(t, jose.SigningKey{Algorithm: jose.ES256, Key: foreign}, header, good), unknown},
		"a key of its own in the header": {oidcprovider.SignWith(t, jose.SigningKey{Algorithm: jose.ES256, Key: foreign},
			map[string]any{"jwk": jose.JSONWebKey{Key: foreign.Public(), KeyID: "key-1"}, "kid": "key-1"}, good), unknown},
		"changed claims":        {parts[0] + "." + encode(`{"iss":"`+provider.Issuer+`","sub":"root"}`) + "." + parts[2], signature},
		"changed signature":     {parts[0] + "." + parts[1] + "." + encode(strings.Repeat("x", 256)), signature},
		"empty signature":       {parts[0] + "." + parts[1] + ".", signature},
		"critical header":       {provider.Sign(t, map[string]any{"kid": "key-1", "crit": []string{"exp"}, "exp": 1}, good), signature},
		"two parts":             {parts[0] + "." + parts[1], parted},
		"encrypted":             {valid + ".x.y", parted},
		"opaque":                {"0123456789abcdef", parted},
		"parts without content": {"..", malformed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := authenticate(t, under, c.token)
			if got := reasonOf(t, err); got != c.reason {
				t.Errorf("reason = %s, want %s", got, c.reason)
			}
		})
	}
	if _, err := authenticate(t, under, valid); err != nil {
		t.Errorf("the valid token: %v", err)
	}
	if _, err := authenticate(t, under, valid+strings.Repeat("A", auth.MaxToken)); !strings.Contains(reasonOf(t, err), "more than any token") {
		t.Errorf("a token that is too long: %v", err)
	}
}
