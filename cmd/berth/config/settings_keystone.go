package config

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/cmd/berth/setting"
	"github.com/berthd/berth/server/identity/keystone"
)

// keystoneSettings holds the settings of token validation with Keystone. Each row has the name of
// the equivalent option of [keystone_authtoken] in OpenStack services.
type keystoneSettings struct {
	KeystoneAuthURL, KeystoneWWWAuthenticateURI string

	KeystoneAuthType                          string
	KeystoneUsername, KeystoneUserID          string
	KeystonePassword, KeystonePasswordFile    string
	KeystoneUserDomain, KeystoneProjectDomain domainSetting
	KeystoneProjectName, KeystoneProjectID    string
	KeystoneSystemScope                       string
	KeystoneCredentialID                      string
	KeystoneCredentialSecret                  string
	KeystoneCredentialSecretFile              string

	KeystoneRegion, KeystoneInterface string

	KeystoneCAFile, KeystoneCertFile, KeystoneKeyFile string
	KeystoneInsecure                                  bool
	KeystoneConnectTimeout                            time.Duration
	KeystoneMaxRetries                                int64

	KeystoneAuthenticationTimeout             time.Duration
	KeystoneMaxValidations, KeystoneMaxQueued int64
	KeystoneBreakerFailures                   int64
	KeystoneBreakerTimeout                    time.Duration
	KeystoneTokenFormats                      []string

	KeystoneTokenCacheTime            time.Duration
	KeystoneServiceType               string
	KeystoneServiceTokenRoles         []string
	KeystoneServiceTokenRolesRequired bool
}

// domainSetting is a domain by ID or by name; the ID takes precedence.
type domainSetting struct{ ID, Name string }

// Values of --keystone-auth-type; the second is an alias of the first.
const (
	byPassword              = "password"
	byPassword3             = "v3password"
	byApplicationCredential = "v3applicationcredential"
)

func (s *keystoneSettings) table() []setting.Setting {
	return slices.Concat(s.credentialTable(), s.connectionTable(), s.limitsTable())
}

func (s *keystoneSettings) credentialTable() []setting.Setting {
	return []setting.Setting{
		{Name: "keystone-auth-url", Fallback: "", Scope: ForServer, Value: webAddress(&s.KeystoneAuthURL),
			Help: "`URL` of Keystone, with which --auth keystone authenticates and validates tokens, such as https://keystone.example.org:5000/v3"},
		{Name: "keystone-www-authenticate-uri", Fallback: "", Scope: ForServer, Value: webAddress(&s.KeystoneWWWAuthenticateURI),
			Help: "`URL` of Keystone in the WWW-Authenticate header of 401 responses. Default: --keystone-auth-url"},
		{Name: "keystone-auth-type", Fallback: byPassword, Scope: ForServer,
			Value: setting.OneOf(&s.KeystoneAuthType, byPassword, byPassword3, byApplicationCredential),
			Help:  "authentication `type`: password or v3applicationcredential"},
		{Name: "keystone-username", Fallback: "", Scope: ForServer, Value: setting.Text(&s.KeystoneUsername),
			Help: "`name` of the user that validates tokens; needs a role that permits it, such as service"},
		{Name: "keystone-user-id", Fallback: "", Scope: ForServer, Value: setting.Text(&s.KeystoneUserID),
			Help: "`ID` of the user that validates tokens, instead of a name"},
		{Name: "keystone-password", Fallback: "", Scope: ForServer, Value: secret(&s.KeystonePassword),
			Help: "`password` of the user that validates tokens; other users of this host can see flags, so use the environment or a file"},
		{Name: "keystone-password-file", Fallback: "", Scope: ForServer, Value: setting.Text(&s.KeystonePasswordFile),
			Help: "`file` with the password; trailing line ends are ignored"},
		{Name: "keystone-user-domain-name", Fallback: "Default", Scope: ForServer, Value: setting.Text(&s.KeystoneUserDomain.Name),
			Help: "`name` of the user's domain"},
		{Name: "keystone-user-domain-id", Fallback: "", Scope: ForServer, Value: setting.Text(&s.KeystoneUserDomain.ID),
			Help: "`ID` of the user's domain; takes precedence over the name"},
		{Name: "keystone-project-name", Fallback: "", Scope: ForServer, Value: setting.Text(&s.KeystoneProjectName),
			Help: "`name` of the project of Berth's service token, usually service"},
		{Name: "keystone-project-id", Fallback: "", Scope: ForServer, Value: setting.Text(&s.KeystoneProjectID),
			Help: "`ID` of the project of Berth's service token; takes precedence over the name"},
		{Name: "keystone-project-domain-name", Fallback: "Default", Scope: ForServer, Value: setting.Text(&s.KeystoneProjectDomain.Name),
			Help: "`name` of the project's domain"},
		{Name: "keystone-project-domain-id", Fallback: "", Scope: ForServer, Value: setting.Text(&s.KeystoneProjectDomain.ID),
			Help: "`ID` of the project's domain; takes precedence over the name"},
		{Name: "keystone-system-scope", Fallback: "", Scope: ForServer, Value: setting.OneOf(&s.KeystoneSystemScope, "", "all"),
			Help: "`all` requests a system-scoped service token instead of a project-scoped one"},
		{Name: "keystone-application-credential-id", Fallback: "", Scope: ForServer, Value: setting.Text(&s.KeystoneCredentialID),
			Help: "`ID` of the application credential that replaces user, password and project"},
		{Name: "keystone-application-credential-secret", Fallback: "", Scope: ForServer, Value: secret(&s.KeystoneCredentialSecret),
			Help: "`secret` of the application credential; other users of this host can see flags, so use the environment or a file"},
		{Name: "keystone-application-credential-secret-file", Fallback: "", Scope: ForServer, Value: setting.Text(&s.KeystoneCredentialSecretFile),
			Help: "`file` with the secret; trailing line ends are ignored"},
	}
}

func (s *keystoneSettings) connectionTable() []setting.Setting {
	return []setting.Setting{
		{Name: "keystone-region-name", Fallback: "", Scope: ForServer, Value: setting.Text(&s.KeystoneRegion),
			Help: "`region` of the Keystone endpoint. Default: any"},
		{Name: "keystone-interface", Fallback: "internal", Scope: ForServer,
			Value: setting.OneOf(&s.KeystoneInterface, "internal", "public", "admin"),
			Help:  "`interface` of the Keystone endpoint in the catalog: internal, public or admin"},
		{Name: "keystone-cafile", Fallback: "", Scope: ForServer, Value: setting.Text(&s.KeystoneCAFile),
			Help: "PEM `file` of trusted CA certificates for Keystone. Default: system CAs"},
		{Name: "keystone-certfile", Fallback: "", Scope: ForServer, Value: setting.Text(&s.KeystoneCertFile),
			Help: "PEM `file` with the client certificate for Keystone"},
		{Name: "keystone-keyfile", Fallback: "", Scope: ForServer, Value: setting.Text(&s.KeystoneKeyFile),
			Help: "PEM `file` with the private key of the client certificate. Default: --keystone-certfile"},
		{Name: "keystone-insecure", Fallback: "false", Scope: ForServer, Value: setting.Boolean(&s.KeystoneInsecure),
			Help: "whether certificates of Keystone are not verified; an attacker on the network can then forge valid tokens"},
		{Name: "keystone-http-connect-timeout", Fallback: "10s", Scope: ForServer,
			Value: seconds(&s.KeystoneConnectTimeout, 10*time.Millisecond, 10*time.Minute),
			Help:  "`timeout` of a request to Keystone"},
		{Name: "keystone-http-request-max-retries", Fallback: "3", Scope: ForServer, Value: setting.Integer(&s.KeystoneMaxRetries, 0, 20),
			Help: "maximum `number` of retries when Keystone does not respond"},
		{Name: "keystone-token-cache-time", Fallback: "5m", Scope: ForServer,
			Value: seconds(&s.KeystoneTokenCacheTime, -time.Second, 24*time.Hour),
			Help:  "`time` for which the result of a token validation is cached; a revoked token is accepted for that time. 0 or -1 disables the cache"},
		{Name: "keystone-service-type", Fallback: "placement", Scope: ForServer, Value: setting.Text(&s.KeystoneServiceType),
			Help: "service `type` of the Placement API in access rules of application credentials; empty denies credentials with access rules"},
		{Name: "keystone-service-token-roles", Fallback: "service", Scope: ForServer, Value: names(&s.KeystoneServiceTokenRoles),
			Help: "comma-separated `roles`; a token in X-Service-Token with one of them is a service token"},
		{Name: "keystone-service-token-roles-required", Fallback: "true", Scope: ForServer, Value: setting.Boolean(&s.KeystoneServiceTokenRolesRequired),
			Help: "whether requests are rejected whose service token has none of --keystone-service-token-roles"},
	}
}

// limitsTable returns the limits of token validation.
func (s *keystoneSettings) limitsTable() []setting.Setting {
	return []setting.Setting{
		{Name: "keystone-authentication-timeout", Fallback: "15s", Scope: ForServer,
			Value: seconds(&s.KeystoneAuthenticationTimeout, 10*time.Millisecond, 10*time.Minute),
			Help:  "maximum `time` to authenticate one request, including the wait in the queue and retries; then the request gets 503"},
		{Name: "keystone-max-validations", Fallback: "64", Scope: ForServer, Value: setting.Integer(&s.KeystoneMaxValidations, 1, 4096),
			Help: "maximum `number` of concurrent token validations"},
		{Name: "keystone-max-queued-validations", Fallback: "1024", Scope: ForServer, Value: setting.Integer(&s.KeystoneMaxQueued, 0, 1<<16),
			Help: "maximum `number` of requests that wait for a token validation, shared fairly among client addresses; further requests get 503"},
		{Name: "keystone-circuit-breaker-failures", Fallback: "5", Scope: ForServer, Value: setting.Integer(&s.KeystoneBreakerFailures, 0, 1000),
			Help: "`number` of consecutive validations without a response of Keystone after which requests with uncached tokens get 503 at once (circuit breaker); 0 means never"},
		{Name: "keystone-circuit-breaker-timeout", Fallback: "5s", Scope: ForServer,
			Value: seconds(&s.KeystoneBreakerTimeout, 10*time.Millisecond, 10*time.Minute),
			Help:  "`time` after which the open circuit breaker permits one validation"},
		{Name: "keystone-token-formats", Fallback: "fernet,jws", Scope: ForServer, Value: tokenFormats(&s.KeystoneTokenFormats),
			Help: "comma-separated token `formats` that are sent to Keystone: fernet, jws, uuid (32 hexadecimal digits) or any; " +
				"a token of another format gets 401 without a request to Keystone"},
	}
}

// tokenFormats reads a list of token formats.
func tokenFormats(field *[]string) setting.Reader {
	known := []string{keystone.FormatFernet, keystone.FormatJWS, keystone.FormatUUID, keystone.FormatAny}
	return setting.Reader{Kind: "formats", Read: func(text string) *frame.Rule {
		list := setting.SplitList(text)
		for _, format := range list {
			if !slices.Contains(known, format) {
				return &frame.Rule{Broken: "holds " + format + ", which is not a format of tokens", Remedy: "write some of " + strings.Join(known, ",")}
			}
		}
		if len(list) == 0 {
			return &frame.Rule{Broken: "names no format of tokens", Remedy: "write any to send tokens of every form to Keystone"}
		}
		*field = list
		return nil
	}}
}

// secret returns a reader of a text that is never printed.
func secret(field *string) setting.Reader {
	reader := setting.Text(field)
	reader.Secret = true
	return reader
}

// names returns a reader of a comma-separated list of names.
func names(field *[]string) setting.Reader {
	return setting.Reader{Kind: "names", Read: func(text string) *frame.Rule {
		*field = setting.SplitList(text)
		return nil
	}}
}

// webAddress returns a reader of an http or https URL, or an empty text. Its error omits the
// value, which may contain a password.
func webAddress(field *string) setting.Reader {
	return setting.Reader{Kind: "URL", Secret: true, Mask: MaskPassword, Read: func(text string) *frame.Rule {
		parsed, err := url.Parse(text)
		usable := err == nil && (parsed.Scheme == "http" || parsed.Scheme == "https") && parsed.Host != "" &&
			parsed.User == nil && parsed.RawQuery == "" && !strings.ContainsAny(text, "\"\\ ")
		if text != "" && !usable {
			return &frame.Rule{Broken: "is not a web address without user and query", Remedy: "write one such as https://keystone.example.org:5000/v3"}
		}
		*field = text
		return nil
	}}
}

// seconds returns a reader of a duration, or of a number of seconds as in the options of
// OpenStack services.
func seconds(field *time.Duration, least, most time.Duration) setting.Reader {
	under := setting.Duration(field, least, most)
	return setting.Reader{Kind: under.Kind, Read: func(text string) *frame.Rule {
		if _, err := strconv.Atoi(text); err == nil {
			text += "s"
		}
		return under.Read(text)
	}}
}

// validateCombination returns an error for each setting that authentication with Keystone
// requires and that is missing.
func (s *keystoneSettings) validateCombination(row func(name string) setting.Setting) []error {
	var wrong []error
	need := func(name, why, remedy string) {
		if found := row(name); !found.Wrong {
			wrong = append(wrong, &frame.InputError{Setting: name, Value: found.Shown(), Origin: found.Origin, Rule: frame.Rule{Broken: why, Remedy: remedy}})
		}
	}
	const unset = "is not set, but --auth keystone requires it"
	if s.KeystoneAuthURL == "" {
		need("keystone-auth-url", unset, "write the address of Keystone, such as https://keystone.example.org:5000/v3")
	}
	secretName := "keystone-password"
	if s.KeystoneAuthType == byApplicationCredential {
		secretName = "keystone-application-credential-secret"
		if s.KeystoneCredentialID == "" {
			need("keystone-application-credential-id", unset+" for application credentials", "write the ID of an application credential of the user that validates tokens")
		}
	} else {
		if s.KeystoneUsername == "" && s.KeystoneUserID == "" {
			need("keystone-username", unset, "write the name of the user that validates tokens, or its ID as --keystone-user-id, or set --keystone-auth-type "+byApplicationCredential)
		}
		if s.KeystoneProjectName == "" && s.KeystoneProjectID == "" && s.KeystoneSystemScope == "" {
			need("keystone-project-name", unset, "write the project of that user, usually service")
		}
	}
	inline, file := row(secretName), row(secretName+"-file")
	switch {
	case inline.Text == "" && file.Text == "":
		need(secretName, unset, fmt.Sprintf("give it as %s, or the name of a file as --%s", inline.Env(), file.Name))
	case inline.Text != "" && file.Text != "":
		need(file.Name, "is set beside --"+secretName+", but only one of them may be set", "remove one of them")
	}
	if s.KeystoneKeyFile != "" && s.KeystoneCertFile == "" {
		need("keystone-keyfile", "is set without --keystone-certfile", "set --keystone-certfile, or remove --keystone-keyfile")
	}
	return wrong
}
