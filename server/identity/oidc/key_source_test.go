package oidc_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"

	"github.com/berthd/berth/internal/test/oidcprovider"
	"github.com/berthd/berth/server/identity/oidc"
)

func TestAuth_OIDCBadIssuerDocument_Returns503(t *testing.T) {
	t.Parallel()
	answer := func(path, body string) func(http.Handler) http.Handler {
		return func(provider http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != path {
					provider.ServeHTTP(w, r)
					return
				}
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write([]byte(body))
			})
		}
	}
	redirect := func(path, to string) func(http.Handler) http.Handler {
		return func(provider http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != path {
					provider.ServeHTTP(w, r)
					return
				}
				http.Redirect(w, r, to, http.StatusFound)
			})
		}
	}
	const discovery, keys = "/.well-known/openid-configuration", "/keys"
	huge := strings.Repeat(" ", oidc.MaxDocument) + "{}"
	for name, c := range map[string]struct {
		front func(http.Handler) http.Handler
		want  string
	}{
		"garbage instead of discovery": {answer(discovery, "<html>"), "cannot read the discovery document"},
		"huge discovery":               {answer(discovery, huge), "http: request body too large"},
		"discovery of another issuer":  {answer(discovery, `{"issuer":"https://other.example.org","jwks_uri":"https://other.example.org/keys"}`), "its issuer is \"https://other.example.org\""},
		"redirect of discovery":        {redirect(discovery, "/other"), "not following the redirect to "},
		"redirect to another host":     {redirect(keys, "https://other.example.org/keys"), "not following the redirect to https://other.example.org/keys; configure the final address"},
		"garbage instead of keys":      {answer(keys, "<html>"), "not a JSON Web Key Set"},
		"huge keys":                    {answer(keys, huge), "http: request body too large"},
		"no keys":                      {answer(keys, `{"keys":[]}`), "none of the 0 keys can verify signatures of RS256, ES256"},
		"symmetric key":                {answer(keys, `{"keys":[{"kty":"oct","kid":"key-1","k":"c2VjcmV0"}]}`), "none of the 1 keys can verify"},
		"key for encryption":           {answer(keys, `{"keys":[{"kty":"RSA","use":"enc","kid":"key-1","e":"AQAB","n":"`+strings.Repeat("w", 342)+`"}]}`), "none of the 1 keys can verify"},
		"RSA key of 1024 bits":         {answer(keys, `{"keys":[{"kty":"RSA","kid":"key-1","e":"AQAB","n":"`+strings.Repeat("w", 171)+`"}]}`), "none of the 1 keys can verify"},
		"too many keys":                {answer(keys, `{"keys":[`+strings.Repeat(`{},`, 100)+`{}]}`), "101 keys, more than 100"},
		"missing keys":                 {answer(keys, `{}`), "none of the 0 keys"},
		"error text of the issuer":     {func(http.Handler) http.Handler { return http.NotFoundHandler() }, "404 Not Found"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, nil)
			token := r.token(t, "")
			r.provider.Front(c.front)
			got := causeOf(t, r.errorOf(t, token))
			if !strings.Contains(got, c.want) || len(got) > 500 {
				t.Errorf("cause of %d bytes = %s, want %s", len(got), got, c.want)
			}
			r.provider.Resume()
			r.clock.advance(oidc.MinFetchInterval)
			if err := r.errorOf(t, token); err != nil {
				t.Errorf("after the issuer has responded: %v", err)
			}
		})
	}
}

// TestAuth_OIDCUnknownKindsOfKeys_AreIgnored checks that one key that Berth does not understand leaves the
// others usable.
func TestAuth_OIDCUnknownKindsOfKeys_AreIgnored(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	public, err := jose.JSONWebKey{Key: r.provider.PublicKey(), KeyID: r.provider.KeyID()}.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	r.provider.Front(func(provider http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/keys" {
				_, _ = fmt.Fprintf(w, `{"keys":[{"kty":"AKP","kid":"key-1","alg":"ML-DSA-44","pub":"AA"},7,%s]}`, public)
				return
			}
			provider.ServeHTTP(w, r)
		})
	})
	if err := r.errorOf(t, r.token(t, "")); err != nil {
		t.Error(err)
	}
	if keys, age := r.Keys(); keys != 1 || age != 0 {
		t.Errorf("keys = %d, want 1", keys)
	}
}

func TestAuth_OIDCKeysURL_ReplacesDiscovery(t *testing.T) {
	t.Parallel()
	provider := oidcprovider.Start(t, ada)
	changed := options(provider.Issuer)
	changed.KeysURL = provider.Issuer + "/keys"
	made, stopped := newAuthenticator(t, changed)
	r := rig{made, provider, stopped}
	if err := r.errorOf(t, r.token(t, "")); err != nil {
		t.Error(err)
	}
	if got := provider.Requests(); got != 1 {
		t.Errorf("requests to the issuer = %d, want 1", got)
	}
}
