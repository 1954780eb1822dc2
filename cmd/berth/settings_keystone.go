package main

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// keystoneSettings are for asking Keystone who calls. Each row is called like the
// option of [keystone_authtoken] that OpenStack's services have for the same.
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

	KeystoneTokenCacheTime            time.Duration
	KeystoneServiceType               string
	KeystoneServiceTokenRoles         []string
	KeystoneServiceTokenRolesRequired bool
}

// What --auth may be.
const (
	authNoauth2  = "noauth2"
	authKeystone = "keystone"
)

// domainSetting is a domain by id, which wins, or by name.
type domainSetting struct{ ID, Name string }

// What --keystone-auth-type may be; the second means the first.
const (
	byPassword              = "password"
	byPassword3             = "v3password"
	byApplicationCredential = "v3applicationcredential"
)

func (s *keystoneSettings) table() []setting {
	return append(s.whoTable(), s.howTable()...)
}

func (s *keystoneSettings) whoTable() []setting {
	return []setting{
		{name: "keystone-auth-url", fallback: "", scope: forServer, value: webAddress(&s.KeystoneAuthURL),
			help: "`URL` of Keystone, where --auth keystone signs in to validate tokens, such as https://keystone.example.org:5000/v3"},
		{name: "keystone-www-authenticate-uri", fallback: "", scope: forServer, value: webAddress(&s.KeystoneWWWAuthenticateURI),
			help: "`URL` of Keystone for clients that come without a token; empty is that of --keystone-auth-url"},
		{name: "keystone-auth-type", fallback: byPassword, scope: forServer,
			value: oneOf(&s.KeystoneAuthType, byPassword, byPassword3, byApplicationCredential),
			help:  "`how` to sign in: password or v3applicationcredential"},
		{name: "keystone-username", fallback: "", scope: forServer, value: text(&s.KeystoneUsername),
			help: "`name` of the user who validates tokens; it needs a role that may, such as service"},
		{name: "keystone-user-id", fallback: "", scope: forServer, value: text(&s.KeystoneUserID),
			help: "`id` of that user, instead of a name"},
		{name: "keystone-password", fallback: "", scope: forServer, value: secret(&s.KeystonePassword),
			help: "its `password`; others on this machine can see flags, so use the environment or a file"},
		{name: "keystone-password-file", fallback: "", scope: forServer, value: text(&s.KeystonePasswordFile),
			help: "`file` with the password; line ends after it do not count"},
		{name: "keystone-user-domain-name", fallback: "Default", scope: forServer, value: text(&s.KeystoneUserDomain.Name),
			help: "`name` of the domain of the user"},
		{name: "keystone-user-domain-id", fallback: "", scope: forServer, value: text(&s.KeystoneUserDomain.ID),
			help: "`id` of the domain of the user, which wins over the name"},
		{name: "keystone-project-name", fallback: "", scope: forServer, value: text(&s.KeystoneProjectName),
			help: "`name` of the project to sign in to, usually service"},
		{name: "keystone-project-id", fallback: "", scope: forServer, value: text(&s.KeystoneProjectID),
			help: "`id` of that project, which wins over the name"},
		{name: "keystone-project-domain-name", fallback: "Default", scope: forServer, value: text(&s.KeystoneProjectDomain.Name),
			help: "`name` of the domain of the project"},
		{name: "keystone-project-domain-id", fallback: "", scope: forServer, value: text(&s.KeystoneProjectDomain.ID),
			help: "`id` of the domain of the project, which wins over the name"},
		{name: "keystone-system-scope", fallback: "", scope: forServer, value: oneOf(&s.KeystoneSystemScope, "", "all"),
			help: "`all` signs in to the whole deployment instead of a project"},
		{name: "keystone-application-credential-id", fallback: "", scope: forServer, value: text(&s.KeystoneCredentialID),
			help: "`id` of the application credential that takes the place of user, password and project"},
		{name: "keystone-application-credential-secret", fallback: "", scope: forServer, value: secret(&s.KeystoneCredentialSecret),
			help: "its `secret`; others on this machine can see flags, so use the environment or a file"},
		{name: "keystone-application-credential-secret-file", fallback: "", scope: forServer, value: text(&s.KeystoneCredentialSecretFile),
			help: "`file` with the secret; line ends after it do not count"},
	}
}

func (s *keystoneSettings) howTable() []setting {
	return []setting{
		{name: "keystone-region-name", fallback: "", scope: forServer, value: text(&s.KeystoneRegion),
			help: "`region` of the Keystone that validates tokens; empty is any"},
		{name: "keystone-interface", fallback: "internal", scope: forServer,
			value: oneOf(&s.KeystoneInterface, "internal", "public", "admin"),
			help:  "`which` address of Keystone in the catalog validates tokens: internal, public or admin"},
		{name: "keystone-cafile", fallback: "", scope: forServer, value: text(&s.KeystoneCAFile),
			help: "`file` with the authorities in PEM that Keystone's certificate may be of; empty are those of the system"},
		{name: "keystone-certfile", fallback: "", scope: forServer, value: text(&s.KeystoneCertFile),
			help: "`file` with a certificate in PEM to show to Keystone"},
		{name: "keystone-keyfile", fallback: "", scope: forServer, value: text(&s.KeystoneKeyFile),
			help: "`file` with the key of that certificate; empty: it is in the same file"},
		{name: "keystone-insecure", fallback: "false", scope: forServer, value: boolean(&s.KeystoneInsecure),
			help: "accept any certificate of Keystone, so that anybody in between can make tokens valid"},
		{name: "keystone-http-connect-timeout", fallback: "10s", scope: forServer,
			value: seconds(&s.KeystoneConnectTimeout, 10*time.Millisecond, 10*time.Minute),
			help:  "longest `time` a request to Keystone may take"},
		{name: "keystone-http-request-max-retries", fallback: "3", scope: forServer, value: integer(&s.KeystoneMaxRetries, 0, 20),
			help: "`number` of further attempts when Keystone does not answer"},
		{name: "keystone-token-cache-time", fallback: "5m", scope: forServer,
			value: seconds(&s.KeystoneTokenCacheTime, -time.Second, 24*time.Hour),
			help:  "`time` for which a valid token is not validated again, so that a revoked one is accepted that long; 0 or -1 asks each time"},
		{name: "keystone-service-type", fallback: "placement", scope: forServer, value: text(&s.KeystoneServiceType),
			help: "`type` by which access rules of application credentials name the Placement API; empty refuses credentials that have rules"},
		{name: "keystone-service-token-roles", fallback: "service", scope: forServer, value: names(&s.KeystoneServiceTokenRoles),
			help: "comma separated `roles`, one of which makes a token in X-Service-Token that of a service"},
		{name: "keystone-service-token-roles-required", fallback: "true", scope: forServer, value: boolean(&s.KeystoneServiceTokenRolesRequired),
			help: "refuse requests whose service token has none of these roles"},
	}
}

// secret is a text that is never printed.
func secret(field *string) reader {
	made := text(field)
	made.secret = true
	return made
}

// names is a list of names without blanks around them.
func names(field *[]string) reader {
	return reader{kind: "names", read: func(text string) *rule {
		*field = splitList(text)
		return nil
	}}
}

// webAddress accepts what can be asked over HTTP, or nothing. What is refused may hold a
// password.
func webAddress(field *string) reader {
	return reader{kind: "URL", secret: true, mask: maskPassword, read: func(text string) *rule {
		parsed, err := url.Parse(text)
		usable := err == nil && (parsed.Scheme == "http" || parsed.Scheme == "https") && parsed.Host != "" &&
			parsed.User == nil && parsed.RawQuery == "" && !strings.ContainsAny(text, "\"\\ ")
		if text != "" && !usable {
			return &rule{"is not a web address without user and query", "write one such as https://keystone.example.org:5000/v3"}
		}
		*field = text
		return nil
	}}
}

// seconds accepts a duration, or a number of seconds as the options of OpenStack's
// services are written.
func seconds(field *time.Duration, least, most time.Duration) reader {
	under := duration(field, least, most)
	return reader{kind: under.kind, read: func(text string) *rule {
		if _, err := strconv.Atoi(text); err == nil {
			text += "s"
		}
		return under.read(text)
	}}
}

// brokenTogether checks what signing in to Keystone needs.
func (s *keystoneSettings) brokenTogether(row func(name string) setting) []error {
	var wrong []error
	need := func(name, why, remedy string) {
		if found := row(name); !found.wrong {
			wrong = append(wrong, &mistake{name, found.shown(), found.origin, rule{why, remedy}})
		}
	}
	const unset = "is not set, and --auth keystone needs it"
	if s.KeystoneAuthURL == "" {
		need("keystone-auth-url", unset, "write the address of Keystone, such as https://keystone.example.org:5000/v3")
	}
	secretName := "keystone-password"
	if s.KeystoneAuthType == byApplicationCredential {
		secretName = "keystone-application-credential-secret"
		if s.KeystoneCredentialID == "" {
			need("keystone-application-credential-id", unset+" for application credentials", "write the id of one of the user who validates tokens")
		}
	} else {
		if s.KeystoneUsername == "" && s.KeystoneUserID == "" {
			need("keystone-username", unset, "write the name of the user who validates tokens, or its id as --keystone-user-id, or set --keystone-auth-type "+byApplicationCredential)
		}
		if s.KeystoneProjectName == "" && s.KeystoneProjectID == "" && s.KeystoneSystemScope == "" {
			need("keystone-project-name", unset, "write the project of that user, usually service")
		}
	}
	inline, file := row(secretName), row(secretName+"-file")
	switch {
	case inline.text == "" && file.text == "":
		need(secretName, unset, fmt.Sprintf("give it as %s, or the name of a file as --%s", inline.env(), file.name))
	case inline.text != "" && file.text != "":
		need(file.name, "is set beside --"+secretName+", and only one of them can be meant", "remove one of them")
	}
	if s.KeystoneKeyFile != "" && s.KeystoneCertFile == "" {
		need("keystone-keyfile", "belongs to a certificate that is not named", "set --keystone-certfile, or remove the key")
	}
	return wrong
}
