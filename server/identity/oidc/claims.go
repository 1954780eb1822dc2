package oidc

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/berthd/berth/server/identity/auth"
)

// ClaimMapping names the claims from which the identity of a caller comes. A name is that of a claim, or a
// path of names with dots between them, such as realm_access.roles.
type ClaimMapping struct {
	// User and Project name claims with a text; Roles one with a list of texts, or with a text of roles
	// that are separated by blanks.
	User, Project, Roles string
	// System names a claim whose value true or "all" means that the token is for the whole deployment
	// rather than for a project; empty: no token is.
	System string
	// RoleMap maps values of the claim Roles, such as groups, to roles. Values that it does not contain
	// yield no role. Nil: each value is a role.
	RoleMap map[string][]string
}

// maxIdentity is the maximum length of a user, a project or a role in characters. It is that of the ids in
// the database.
const maxIdentity = 255

// caller returns the caller that the claims of a valid token describe. Its error is an *auth.DeniedError,
// which names the claim and the setting.
func (m ClaimMapping) caller(claims claimSet) (auth.Caller, error) {
	caller := auth.Caller{Method: auth.MethodOIDC, Subject: textOf(claims["sub"]), TokenID: textOf(claims["jti"])}
	var err error
	if caller.UserID, err = identity(claims, m.User, "oidc-user-claim"); err != nil {
		return auth.Caller{}, err
	}
	system, err := m.isSystem(claims)
	if err != nil {
		return auth.Caller{}, err
	}
	if system {
		caller.SystemScope = "all"
	} else if caller.ProjectID, err = identity(claims, m.Project, "oidc-project-claim"); err != nil {
		return auth.Caller{}, err
	}
	if caller.Roles, err = m.roles(claims); err != nil {
		return auth.Caller{}, err
	}
	return caller, nil
}

// identity returns the text of a claim that names one user or project. A list of one text counts as that
// text, because some issuers send groups so.
func identity(claims claimSet, path, setting string) (string, error) {
	value, found := claims.find(path)
	if list, ok := value.([]any); ok {
		if len(list) > 1 {
			return "", denied("The claim %q of the token (--%s) has %d values, but must have one.", path, setting, len(list))
		}
		if found = len(list) == 1; found {
			value = list[0]
		}
	}
	text, ok := value.(string)
	switch {
	case !found || value == nil || ok && text == "":
		return "", denied("The token has no claim %q (--%s).", path, setting)
	case !ok || !isIdentity(text):
		return "", denied("The claim %q of the token (--%s) is not a text of at most %d printable characters.", path, setting, maxIdentity)
	}
	return text, nil
}

func (m ClaimMapping) isSystem(claims claimSet) (bool, error) {
	if m.System == "" {
		return false, nil
	}
	switch value, _ := claims.find(m.System); value {
	case true, "all":
		return true, nil
	case nil, false, "":
		return false, nil
	}
	return false, denied("The claim %q of the token (--oidc-system-claim) is neither true nor \"all\".", m.System)
}

// roles returns the roles of the caller with those that they imply.
func (m ClaimMapping) roles(claims claimSet) ([]string, error) {
	value, _ := claims.find(m.Roles)
	var names []string
	switch value := value.(type) {
	case nil:
	case string:
		names = strings.Fields(value)
	case []any:
		for _, each := range value {
			names = append(names, textOf(each))
		}
	default:
		return nil, denied("The claim %q of the token (--oidc-roles-claim) is neither a text nor a list.", m.Roles)
	}
	var roles []string
	for _, name := range names {
		for _, role := range m.mapped(name) {
			if isIdentity(role) && !slices.Contains(roles, role) {
				roles = append(roles, role)
			}
		}
	}
	switch {
	case len(roles) > 0:
		return auth.Implied(roles), nil
	case len(names) > 0 && m.RoleMap != nil:
		return nil, denied("None of the values of the claim %q of the token (--oidc-roles-claim) has a role in --oidc-role-map.", m.Roles)
	default:
		return nil, denied("The token has no roles in the claim %q (--oidc-roles-claim).", m.Roles)
	}
}

func (m ClaimMapping) mapped(name string) []string {
	if m.RoleMap == nil {
		return []string{name}
	}
	return m.RoleMap[name]
}

// find returns the claim with a name or path. The names of claims may contain dots themselves, so at each
// level the longest name that exists is tried first.
func (c claimSet) find(path string) (any, bool) {
	if value, ok := c[path]; ok {
		return value, true
	}
	for end := strings.LastIndexByte(path, '.'); end > 0; end = strings.LastIndexByte(path[:end], '.') {
		if below, ok := c[path[:end]].(map[string]any); ok {
			if value, ok := claimSet(below).find(path[end+1:]); ok {
				return value, true
			}
		}
	}
	return nil, false
}

func denied(format string, values ...any) error {
	return &auth.DeniedError{Detail: fmt.Sprintf(format, values...)}
}

// textOf returns a value that is a text, and an empty text for all other values.
func textOf(value any) string {
	text, _ := value.(string)
	return text
}

// isIdentity reports whether a text can name a user, a project or a role.
func isIdentity(text string) bool {
	return text != "" && utf8.RuneCountInString(text) <= maxIdentity && utf8.ValidString(text) &&
		!strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError })
}
