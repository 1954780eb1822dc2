package oidc_test

import (
	"testing"

	"github.com/go-jose/go-jose/v4"

	"github.com/berthd/berth/server/identity/oidc"
)

func TestAuth_OIDCOptions_AreChecked(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*oidc.Options){
		"http":                func(o *oidc.Options) { o.Issuer = "http://issuer.example.org" },
		"query":               func(o *oidc.Options) { o.Issuer = "https://issuer.example.org?a=b" },
		"user":                func(o *oidc.Options) { o.Issuer = "https://u@issuer.example.org" },
		"no address":          func(o *oidc.Options) { o.Issuer = "issuer" },
		"keys over http":      func(o *oidc.Options) { o.KeysURL = "http://issuer.example.org/keys" },
		"no audience":         func(o *oidc.Options) { o.Audiences = nil },
		"no algorithm":        func(o *oidc.Options) { o.Algorithms = nil },
		"no type":             func(o *oidc.Options) { o.TokenTypes = nil },
		"symmetric algorithm": func(o *oidc.Options) { o.Algorithms = []string{"HS256"} },
		"algorithm none":      func(o *oidc.Options) { o.Algorithms = []string{"none"} },
	} {
		changed := options("https://issuer.example.org")
		change(&changed)
		if _, err := oidc.New(changed); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	for _, issuer := range []string{"https://issuer.example.org/realms/a/", "http://127.0.0.1:8080", "http://[::1]:1", "http://localhost"} {
		if _, err := oidc.New(options(issuer)); err != nil {
			t.Errorf("%s: %v", issuer, err)
		}
	}
}

// BenchmarkOIDC_Authenticate measures the authentication of one request with a known key.
func BenchmarkOIDC_Authenticate(b *testing.B) {
	for _, algorithm := range []jose.SignatureAlgorithm{jose.RS256, jose.ES256} {
		b.Run(string(algorithm), func(b *testing.B) {
			r := newRig(b, nil)
			r.provider.Rotate(b, algorithm)
			token := r.token(b, "")
			for b.Loop() {
				if err := r.errorOf(b, token); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
