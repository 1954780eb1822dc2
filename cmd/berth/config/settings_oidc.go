package config

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/cmd/berth/setting"
	"github.com/berthd/berth/server/identity/oidc"
)

// oidcSettings holds the settings of --auth oidc.
type oidcSettings struct {
	OIDCIssuer, OIDCKeysURL, OIDCCAFile           string
	OIDCAudiences, OIDCAlgorithms, OIDCTokenTypes []string
	OIDCClaims                                    oidc.ClaimMapping
	OIDCLeeway, OIDCFetchTimeout                  time.Duration
	OIDCKeysRefreshInterval, OIDCKeysMaxAge       time.Duration
}

func (s *oidcSettings) table() []setting.Setting {
	return slices.Concat(s.tokenTable(), s.claimTable(), s.keyTable())
}

// tokenTable returns the settings that decide which tokens are valid.
func (s *oidcSettings) tokenTable() []setting.Setting {
	return []setting.Setting{
		{Name: "oidc-issuer", Fallback: "", Scope: ForServer, Value: keySourceURL(&s.OIDCIssuer),
			Help: "`URL` of the OpenID Connect issuer of --auth oidc, exactly as in the claim iss of its tokens; https, or http on a loopback address"},
		{Name: "oidc-audience", Fallback: "", Scope: ForServer, Value: names(&s.OIDCAudiences),
			Help: "comma-separated `audiences`; a token is valid if its claim aud contains one of them"},
		{Name: "oidc-algorithms", Fallback: "RS256,ES256", Scope: ForServer, Value: choices(&s.OIDCAlgorithms, "algorithms", oidc.SupportedAlgorithms),
			Help: "comma-separated signature `algorithms` of valid tokens: " + strings.Join(oidc.SupportedAlgorithms, ", ")},
		{Name: "oidc-token-types", Fallback: oidc.TypeAccessToken + "," + oidc.TypeJWT, Scope: ForServer,
			Value: choices(&s.OIDCTokenTypes, "types", []string{oidc.TypeAccessToken, oidc.TypeJWT}),
			Help:  "comma-separated `types` of valid tokens, from the header typ: at+jwt (access tokens), or jwt, which includes tokens without a type. at+jwt alone excludes ID tokens"},
		{Name: "oidc-leeway", Fallback: "30s", Scope: ForServer, Value: seconds(&s.OIDCLeeway, 0, 10*time.Minute),
			Help: "maximum clock `difference` to the issuer for the claims exp, nbf and iat"},
	}
}

// claimTable returns the settings that map claims to callers.
func (s *oidcSettings) claimTable() []setting.Setting {
	return []setting.Setting{
		{Name: "oidc-user-claim", Fallback: "sub", Scope: ForServer, Value: claimName(&s.OIDCClaims.User),
			Help: "`claim` with the user ID, or a path such as realm_access.user"},
		{Name: "oidc-project-claim", Fallback: "project", Scope: ForServer, Value: claimName(&s.OIDCClaims.Project),
			Help: "`claim` with the project ID, or a path; a token without it gets 403"},
		{Name: "oidc-roles-claim", Fallback: "roles", Scope: ForServer, Value: claimName(&s.OIDCClaims.Roles),
			Help: "`claim` with the roles, or a path such as realm_access.roles; a list, or a text with blanks between the roles. A token without a role gets 403"},
		{Name: "oidc-role-map", Fallback: "", Scope: ForServer, Value: roleMap(&s.OIDCClaims.RoleMap),
			Help: "comma-separated `pairs` value=role, which map values of --oidc-roles-claim to roles; other values have no role. A value may have several pairs. " +
				"Default: each value is a role, so the issuer decides who has the role admin"},
		{Name: "oidc-system-claim", Fallback: "", Scope: ForServer, Value: setting.Text(&s.OIDCClaims.System),
			Help: "`claim` whose value true or \"all\" makes the token system-scoped, without a project, or a path. Default: no token is system-scoped"},
	}
}

// keyTable returns the settings about the keys of the issuer.
func (s *oidcSettings) keyTable() []setting.Setting {
	return []setting.Setting{
		{Name: "oidc-cafile", Fallback: "", Scope: ForServer, Value: setting.Text(&s.OIDCCAFile),
			Help: "PEM `file` of trusted CA certificates for the issuer. Default: system CAs"},
		{Name: "oidc-jwks-url", Fallback: "", Scope: ForServer, Value: keySourceURL(&s.OIDCKeysURL),
			Help: "`URL` of the issuer's keys (JSON Web Key Set). Default: jwks_uri of the issuer's discovery document"},
		{Name: "oidc-fetch-timeout", Fallback: "10s", Scope: ForServer, Value: seconds(&s.OIDCFetchTimeout, 10*time.Millisecond, 10*time.Minute),
			Help: "`timeout` of a fetch of the issuer's keys; requests that need them wait at most that long and then get 503"},
		{Name: "oidc-jwks-refresh-interval", Fallback: "5m", Scope: ForServer, Value: seconds(&s.OIDCKeysRefreshInterval, time.Second, 24*time.Hour),
			Help: "`age` of the issuer's keys after which the next request starts a fetch; a key that the issuer has removed is accepted for that time"},
		{Name: "oidc-jwks-max-age", Fallback: "1h", Scope: ForServer, Value: seconds(&s.OIDCKeysMaxAge, time.Second, 30*24*time.Hour),
			Help: "`age` of the issuer's keys after which requests get 503 if the issuer is unreachable"},
	}
}

// keySourceURL returns a reader of an address from which keys may be fetched, or an empty text.
func keySourceURL(field *string) setting.Reader {
	return setting.Reader{Kind: "URL", Read: func(text string) *frame.Rule {
		if text != "" {
			if err := oidc.CheckURL(text); err != nil {
				return &frame.Rule{Broken: "is not a safe address of an issuer: " + err.Error(), Remedy: "write one such as https://issuer.example.org/realms/berth"}
			}
		}
		*field = text
		return nil
	}}
}

// claimName returns a reader of the name of a claim, which is not empty.
func claimName(field *string) setting.Reader {
	return setting.Reader{Kind: "claim", Read: func(text string) *frame.Rule {
		if strings.TrimSpace(text) == "" {
			return &frame.Rule{Broken: "names no claim", Remedy: "write the name of a claim, or remove the setting to use its default"}
		}
		*field = text
		return nil
	}}
}

// choices returns a reader of a list that has some of the given values, and at least one.
func choices(field *[]string, kind string, known []string) setting.Reader {
	return setting.Reader{Kind: kind, Read: func(text string) *frame.Rule {
		list := setting.SplitList(text)
		remedy := "write some of " + strings.Join(known, ",")
		if len(list) == 0 {
			return &frame.Rule{Broken: "is an empty list", Remedy: remedy}
		}
		for _, each := range list {
			if !slices.Contains(known, each) {
				return &frame.Rule{Broken: fmt.Sprintf("contains %q, which is not possible", each), Remedy: remedy}
			}
		}
		*field = list
		return nil
	}}
}

// roleMap returns a reader of pairs value=role. A value may contain equals signs.
func roleMap(field *map[string][]string) setting.Reader {
	return setting.Reader{Kind: "pairs", Read: func(text string) *frame.Rule {
		var roles map[string][]string
		for _, pair := range setting.SplitList(text) {
			at := strings.LastIndexByte(pair, '=')
			if at <= 0 || at == len(pair)-1 {
				return &frame.Rule{Broken: fmt.Sprintf("contains %q, which is not a pair value=role", pair), Remedy: "write pairs such as /operators=admin,/developers=member"}
			}
			if roles == nil {
				roles = map[string][]string{}
			}
			roles[pair[:at]] = append(roles[pair[:at]], pair[at+1:])
		}
		*field = roles
		return nil
	}}
}

// validateCombination returns an error for each setting that --auth oidc requires and that is missing, or
// that contradicts another one.
func (s *oidcSettings) validateCombination(row func(name string) setting.Setting) []error {
	var wrong []error
	need := func(name, broken, remedy string) {
		if found := row(name); !found.Wrong {
			wrong = append(wrong, &frame.InputError{Setting: name, Value: found.Shown(), Origin: found.Origin, Rule: frame.Rule{Broken: broken, Remedy: remedy}})
		}
	}
	const unset = "is not set, but --auth oidc requires it"
	if s.OIDCIssuer == "" {
		need("oidc-issuer", unset, "write the URL of the issuer, such as https://issuer.example.org/realms/berth")
	}
	if len(s.OIDCAudiences) == 0 {
		need("oidc-audience", unset, "write the audience that the issuer puts into tokens for Berth, because tokens for other services must not be valid here")
	}
	if !row("oidc-jwks-refresh-interval").Wrong && s.OIDCKeysMaxAge < s.OIDCKeysRefreshInterval {
		need("oidc-jwks-max-age", "is less than --oidc-jwks-refresh-interval", "write at least that interval, better ten times")
	}
	return wrong
}

// OIDCOptions converts the settings to options of package oidc. It reads the file with certificates, and
// returns an error if it cannot be read.
func (s *oidcSettings) OIDCOptions() (oidc.Options, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	trusted, err := trustedCAs("oidc-cafile", s.OIDCCAFile)
	if err != nil {
		return oidc.Options{}, err
	}
	transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: trusted}
	return oidc.Options{
		Issuer: s.OIDCIssuer, KeysURL: s.OIDCKeysURL, Audiences: s.OIDCAudiences,
		Algorithms: s.OIDCAlgorithms, TokenTypes: s.OIDCTokenTypes, Leeway: s.OIDCLeeway,
		Claims: s.OIDCClaims, Transport: transport, Timeout: s.OIDCFetchTimeout,
		RefreshInterval: s.OIDCKeysRefreshInterval, MaxKeyAge: s.OIDCKeysMaxAge,
	}, nil
}
