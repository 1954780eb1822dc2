package config

import (
	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/cmd/berth/setting"
)

// Values of --auth.
const (
	AuthNoauth2  = "noauth2"
	AuthKeystone = "keystone"
	AuthTokens   = "tokens"
	AuthOIDC     = "oidc"
)

// AuthenticationSettings holds the choice of the authentication method, and the settings about the
// addresses on which it is safe.
type AuthenticationSettings struct {
	Auth                 string
	AllowInsecureNoauth2 bool
	AllowInsecureTokens  bool
	AllowedHosts         []string
	// TokensFile is the file of --auth tokens.
	TokensFile string
}

// TokensTable returns the settings that the server and the commands for tokens share.
func (s *AuthenticationSettings) TokensTable() []setting.Setting {
	return []setting.Setting{
		{Name: "tokens-file", Fallback: "/etc/berth/tokens.yaml", Scope: ForServer, Value: setting.Text(&s.TokensFile),
			Help: "YAML `file` with the hashes of the tokens of --auth tokens, with mode 0600; reloaded when it changes. 'berth token create' writes it"},
	}
}

func (s *AuthenticationSettings) table() []setting.Setting {
	return append([]setting.Setting{
		{Name: "auth", Fallback: AuthNoauth2, Scope: ForServer, Value: setting.OneOf(&s.Auth, AuthNoauth2, AuthKeystone, AuthTokens, AuthOIDC),
			Help: "authentication `method`: keystone validates the token of each request with Keystone; tokens compares it with --tokens-file; " +
				"oidc verifies it as a JSON Web Token of an OpenID Connect issuer; noauth2 accepts every caller and is meant for a single host"},
		{Name: "allow-insecure-noauth2", Fallback: "false", Scope: ForServer, Value: setting.Boolean(&s.AllowInsecureNoauth2),
			Help: "whether noauth2 is allowed on listen addresses other than loopback"},
		{Name: "allow-insecure-tokens", Fallback: "false", Scope: ForServer, Value: setting.Boolean(&s.AllowInsecureTokens),
			Help: "whether --auth tokens and oidc are allowed without TLS on listen addresses other than loopback, for a proxy that terminates TLS"},
		{Name: "allowed-hosts", Fallback: "", Scope: ForServer, Value: hostNames(&s.AllowedHosts),
			Help: "comma-separated `hosts` that the Host header may name, besides loopback names, on loopback connections with noauth2, " +
				"or *; other requests get 403, because a web page in a browser could send them (DNS rebinding)"},
	}, s.TokensTable()...)
}

// ExposedAddress returns the rule that a listen address breaks if other hosts can reach it; nil: the
// authentication method is safe there.
func (s *Settings) ExposedAddress() *frame.Rule {
	switch {
	case s.Auth == AuthNoauth2 && !s.AllowInsecureNoauth2 && !s.Row("allow-insecure-noauth2").Wrong:
		return &frame.Rule{
			Broken: "is reachable from other hosts, but noauth2 does not authenticate callers",
			Remedy: "listen on a loopback address such as 127.0.0.1:8778, or allow it with --allow-insecure-noauth2 (BERTH_ALLOW_INSECURE_NOAUTH2=true)",
		}
	case (s.Auth == AuthTokens || s.Auth == AuthOIDC) && s.TLSCert == "" && !s.AllowInsecureTokens && !s.Row("allow-insecure-tokens").Wrong:
		return &frame.Rule{
			Broken: "is reachable from other hosts without TLS, so that the network can read tokens",
			Remedy: "set --tls-cert and --tls-key, or, behind a proxy that terminates TLS, allow it with --allow-insecure-tokens (BERTH_ALLOW_INSECURE_TOKENS=true)",
		}
	}
	return nil
}
