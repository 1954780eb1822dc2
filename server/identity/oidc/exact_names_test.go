package oidc_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"

	"github.com/berthd/berth/internal/test/oidcprovider"
)

// TestAuth_OIDCClaimNames_ComparedExactly checks that a claim with a name in another case neither replaces a claim nor
// takes its place, and that a claim is there at most once.
func TestAuth_OIDCClaimNames_ComparedExactly(t *testing.T) {
	t.Parallel()
	provider := oidcprovider.Start(t, ada)
	under, stopped := newAuthenticator(t, options(provider.Issuer))
	const (
		twice   = "the claims of the token are not a JSON object in UTF-8 with each name once"
		expired = "the token has expired"
	)
	otherAudience := `the claim aud is ["other"], want one of ["first" "` + audience + `"]`
	now := stopped.Now()
	good := goodClaims(provider.Issuer, now)
	past, future := now.Unix()-3600, now.Unix()+3600
	for name, c := range map[string]struct {
		claims map[string]any
		more   string // members after the claims
		reason string // empty: valid
	}{
		"aud":                 {with(good, "aud", "other"), fmt.Sprintf(`"AUD":%q`, audience), otherAudience},
		"iss":                 {with(good, "iss", "other"), fmt.Sprintf(`"ISS":%q`, provider.Issuer), `the claim iss is "other", want "` + provider.Issuer + `"`},
		"exp":                 {with(good, "exp", past), fmt.Sprintf(`"Exp":%d`, future), expired},
		"nbf":                 {with(good, "nbf", future), fmt.Sprintf(`"NBF":%d`, past), "the claim nbf of the token is in the future"},
		"iat":                 {with(good, "iat", future), fmt.Sprintf(`"Iat":%d`, past), "the claim iat of the token is in the future; compare the clocks of the issuer and of this host"},
		"missing aud":         {with(good, "aud", nil), fmt.Sprintf(`"AUD":%q`, audience), `the claim aud is [], want one of ["first" "` + audience + `"]`},
		"missing exp":         {with(good, "exp", nil), fmt.Sprintf(`"EXP":%d`, future), "the token has no claim exp"},
		"escaped aud":         {with(good, "aud", "other"), fmt.Sprintf(`"\u0041ud":%q`, audience), otherAudience},
		"long s":              {with(good, "iss", "other"), fmt.Sprintf(`"i%ss":%q`, "\u017f", provider.Issuer), `the claim iss is "other", want "` + provider.Issuer + `"`},
		"AUD of others":       {good, `"AUD":"other","EXP":1,"ISS":[],"nBf":"tomorrow","SUB":7`, ""},
		"Cnf is not cnf":      {good, `"Cnf":{}`, ""},
		"aud twice":           {with(good, "aud", "other"), fmt.Sprintf(`"aud":%q`, audience), twice},
		"exp twice":           {with(good, "exp", past), fmt.Sprintf(`"exp":%d`, future), twice},
		"escaped exp twice":   {with(good, "exp", past), fmt.Sprintf(`"\u0065xp":%d`, future), twice},
		"sub twice":           {good, `"sub":"root"`, twice},
		"project twice":       {good, `"project":"other"`, twice},
		"roles twice, nested": {with(good, "realm_access", nil), `"realm_access":{"roles":["reader"],"roles":["admin"]}`, twice},
		"cnf removed by null": {with(good, "cnf", map[string]any{"jkt": "x"}), `"cnf":null`, twice},
		"invalid UTF-8":       {with(good, "project", nil), "\"project\":\"a\xff\"", twice},
		"trailing object":     {good, `"x":1} {"aud":"x"`, twice},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := json.Marshal(c.claims)
			if err != nil {
				t.Fatal(err)
			}
			for place, document := range map[string]string{
				"after":  strings.TrimSuffix(string(text), "}") + "," + c.more + "}",
				"before": "{" + c.more + "," + strings.TrimPrefix(string(text), "{"),
			} {
				if place == "before" && strings.Contains(c.more, "} {") {
					continue
				}
				_, err := authenticate(t, under, provider.SignText(t, map[string]any{"kid": provider.KeyID()}, document))
				switch {
				case c.reason == "" && err != nil:
					t.Errorf("%s: error = %v, want none", place, err)
				case c.reason != "":
					if got := reasonOf(t, err); got != c.reason {
						t.Errorf("%s: reason = %s, want %s", place, got, c.reason)
					}
				}
			}
		})
	}
}

// TestAuth_OIDCHeaderNames_ComparedExactly checks the header of a token, which go-jose decodes.
func TestAuth_OIDCHeaderNames_ComparedExactly(t *testing.T) {
	t.Parallel()
	provider := oidcprovider.Start(t, ada)
	under, stopped := newAuthenticator(t, options(provider.Issuer))
	parts := strings.Split(provider.Sign(t, map[string]any{"kid": provider.KeyID()}, goodClaims(provider.Issuer, stopped.Now())), ".")
	const malformed = "the token is malformed, or its algorithm is not one of RS256, ES256"
	for header, reason := range map[string]string{
		`{"ALG":"RS256","kid":"key-1"}`:                                 malformed,
		`{"alg":"none","ALG":"RS256","kid":"key-1"}`:                    malformed,
		`{"alg":"none","alg":"RS256","kid":"key-1"}`:                    malformed,
		`{"alg":"RS256","kid":"key-9","kid":"key-1"}`:                   malformed,
		`{"alg":"RS256","kid":"key-9","KID":"key-1"}`:                   "the issuer has no key with the key id and algorithm of the token",
		`{"alg":"RS256","kid":"key-1","typ":"logout+jwt","TYP":"jwt"}`:  "the header typ of the token is not one of at+jwt, jwt",
		`{"alg":"RS256","kid":"key-1","crit":["exp"],"crit":[]}`:        malformed,
		`{"alg":"RS256","kid":"key-1","typ":"logout+jwt","typ":"jwt" }`: malformed,
	} {
		text := base64.RawURLEncoding.EncodeToString([]byte(header)) + "." + parts[1] + "." + parts[2]
		if _, err := authenticate(t, under, text); reasonOf(t, err) != reason {
			t.Errorf("%s: error = %v, want %s", header, err, reason)
		}
	}
}

// TestAuth_OIDCIssuerDocumentNames_ComparedExactly checks the discovery document and the keys of the issuer.
func TestAuth_OIDCIssuerDocumentNames_ComparedExactly(t *testing.T) {
	t.Parallel()
	const discovery, keys = "/.well-known/openid-configuration", "/keys"
	for name, c := range map[string]struct {
		path string
		// body is the response; ISSUER and KEY stand for the address and the key of the provider.
		body, want string // want is the error; empty: none
	}{
		"issuer in another case": {discovery, `{"issuer":"https://other.example.org","ISSUER":"ISSUER","jwks_uri":"ISSUER/keys"}`,
			`its issuer is "https://other.example.org"`},
		"issuer only in another case": {discovery, `{"Issuer":"ISSUER","jwks_uri":"ISSUER/keys"}`, `its issuer is ""`},
		"address in another case":     {discovery, `{"issuer":"ISSUER","jwks_uri":"ISSUER/keys","JWKS_URI":"ISSUER/other"}`, ""},
		"address only in another case": {discovery, `{"issuer":"ISSUER","JWKS_URI":"ISSUER/keys"}`,
			`jwks_uri "": want an absolute URL`},
		"issuer twice":              {discovery, `{"issuer":"https://other.example.org","issuer":"ISSUER","jwks_uri":"ISSUER/keys"}`, `the member "issuer" appears twice`},
		"address twice":             {discovery, `{"issuer":"ISSUER","jwks_uri":"ISSUER/other","jwks_uri":"ISSUER/keys"}`, `the member "jwks_uri" appears twice`},
		"unknown member twice":      {discovery, `{"issuer":"ISSUER","jwks_uri":"ISSUER/keys","x":1,"x":2}`, ""},
		"text after the document":   {discovery, `{"issuer":"ISSUER","jwks_uri":"ISSUER/keys"}{}`, "after top-level value"},
		"keys in another case":      {keys, `{"KEYS":[KEY]}`, "none of the 0 keys"},
		"keys replaced":             {keys, `{"keys":[KEY],"Keys":[]}`, ""},
		"keys twice":                {keys, `{"keys":[],"keys":[KEY]}`, `the member "keys" appears twice`},
		"text after the keys":       {keys, `{"keys":[KEY]}]`, "after top-level value"},
		"a key with a member twice": {keys, `{"keys":[{"kty":"RSA","kty":"RSA","kid":"key-2"},KEY]}`, ""},
		"kty in another case":       {keys, `{"keys":[KTY]}`, "none of the 1 keys"},
		"kid twice":                 {keys, `{"keys":[KID]}`, "none of the 1 keys"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, nil)
			token := r.token(t, "")
			public, err := jose.JSONWebKey{Key: r.provider.PublicKey(), KeyID: r.provider.KeyID()}.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			key := string(public)
			body := strings.NewReplacer(
				`"ISSUER":`, `"ISSUER":`, "ISSUER", r.provider.Issuer, "KEY]", key+"]",
				"KTY", strings.Replace(key, `"kty"`, `"KTY"`, 1), "KID", strings.Replace(key, `"kid"`, `"kid":"key-9","kid"`, 1),
			).Replace(c.body)
			r.provider.Front(func(provider http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path != c.path {
						provider.ServeHTTP(w, r)
						return
					}
					_, _ = w.Write([]byte(body))
				})
			})
			switch err := r.errorOf(t, token); {
			case c.want == "" && err != nil:
				t.Errorf("error = %v, want none", err)
			case c.want != "":
				if got := causeOf(t, err); !strings.Contains(got, c.want) {
					t.Errorf("cause = %s, want %s", got, c.want)
				}
			}
		})
	}
}
