package config

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/cmd/berth/setting"
)

// pairPassword matches a password in key=value form: quoted with backslash escapes, or up to the
// next blank.
var pairPassword = regexp.MustCompile(`(?i)\b((?:ssl)?password\s*=\s*)('(?:\\.|[^'\\])*'|(?:\\.|[^\s\\])*)`)

// MaskPassword returns a connection string with its passwords masked. It replaces the whole text
// if pgx cannot parse it and it may contain a password, because the end of the password in a
// malformed URL is unknown. The same applies to URLs of other databases, which pgx would parse as
// key=value.
func MaskPassword(connection string) string {
	_, err := pgx.ParseConfig(connection)
	if (err != nil || otherDialect(connection) != "") && mayHoldPassword(connection) {
		return "(hidden, may contain a password)"
	}
	scheme, rest, isURL := strings.Cut(connection, "://")
	if !isURL || strings.ContainsAny(scheme, " =") {
		return pairPassword.ReplaceAllString(connection, "${1}"+setting.Mask)
	}
	base, query, hasQuery := cutUserInfo(rest)
	masked := scheme + "://" + base
	if hasQuery {
		masked += "?" + maskQuery(query)
	}
	return masked
}

// cutUserInfo masks the password before the host and splits off the query. The user information
// ends at the first @, as in libpq. A second @ before the path is most likely part of an
// unescaped password, so the mask extends to the last one.
func cutUserInfo(rest string) (base, query string, hasQuery bool) {
	user := ""
	if at := strings.IndexAny(rest, "@/"); at >= 0 && rest[at] == '@' {
		name, _, hasPassword := strings.Cut(rest[:at], ":")
		rest = rest[at+1:]
		end := strings.IndexAny(rest, "/?")
		if end < 0 {
			end = len(rest)
		}
		rest = rest[strings.LastIndex(rest[:end], "@")+1:]
		user = name + "@"
		if hasPassword {
			user = name + ":" + setting.Mask + "@"
		}
	}
	rest, query, hasQuery = strings.Cut(rest, "?")
	return user + rest, query, hasQuery
}

var otherScheme = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9.-]*)(?:\+[A-Za-z0-9.+-]*)?://`)

// otherDialect returns the scheme of a URL that is not a PostgreSQL URL; empty for any other
// text.
func otherDialect(connection string) string {
	found := otherScheme.FindStringSubmatch(connection)
	if found == nil || strings.HasPrefix(connection, "postgres://") || strings.HasPrefix(connection, "postgresql://") {
		return ""
	}
	return found[1]
}

func maskQuery(query string) string {
	pairs := strings.Split(query, "&")
	for i, pair := range pairs {
		key, _, _ := strings.Cut(pair, "=")
		plain, err := url.QueryUnescape(key)
		if err != nil || strings.Contains(strings.ToLower(plain), "password") {
			pairs[i] = key + "=" + setting.Mask
		}
	}
	return strings.Join(pairs, "&")
}

func mayHoldPassword(connection string) bool {
	lower := strings.ToLower(connection)
	return strings.Contains(lower, "password") || strings.Contains(lower, "@") || strings.Contains(lower, "%")
}

// harmlessReason returns the cause of a parse error, or an empty text if it may quote a password.
func harmlessReason(connection string, cause error) string {
	if mayHoldPassword(connection) {
		return ""
	}
	return fmt.Sprintf(" (%v)", cause)
}
