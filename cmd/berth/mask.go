package main

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"
)

const mask = "***"

// pairPassword finds a password in the key=value form: quoted with backslash
// escapes, or up to the next blank.
var pairPassword = regexp.MustCompile(`(?i)\b((?:ssl)?password\s*=\s*)('(?:\\.|[^'\\])*'|(?:\\.|[^\s\\])*)`)

// maskPassword returns a connection string that can be printed. Text that pgx
// cannot read is not shown at all when a password may be in it: in a malformed
// URL nobody can say where the password ends. Neither can they in a URL of another
// database, which pgx would read as key=value.
func maskPassword(connection string) string {
	_, err := pgx.ParseConfig(connection)
	if (err != nil || otherDialect(connection) != "") && mayHoldPassword(connection) {
		return "(not shown, it may hold a password)"
	}
	scheme, rest, isURL := strings.Cut(connection, "://")
	if !isURL || strings.ContainsAny(scheme, " =") {
		return pairPassword.ReplaceAllString(connection, "${1}"+mask)
	}
	base, query, hasQuery := cutUserInfo(rest)
	masked := scheme + "://" + base
	if hasQuery {
		masked += "?" + maskQuery(query)
	}
	return masked
}

// cutUserInfo masks the password before the host and cuts off the query. The
// user information ends at the first @, as libpq has it; a second @ before the
// path is most likely part of a password that was not escaped, so the mask
// reaches to the last.
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
			user = name + ":" + mask + "@"
		}
	}
	rest, query, hasQuery = strings.Cut(rest, "?")
	return user + rest, query, hasQuery
}

var otherScheme = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9.-]*)(?:\+[A-Za-z0-9.+-]*)?://`)

// otherDialect is the name before the :// of a URL that is none of PostgreSQL's; empty
// for all else.
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
			pairs[i] = key + "=" + mask
		}
	}
	return strings.Join(pairs, "&")
}

func mayHoldPassword(connection string) bool {
	lower := strings.ToLower(connection)
	return strings.Contains(lower, "password") || strings.Contains(lower, "@") || strings.Contains(lower, "%")
}

// harmlessReason is the cause of a parse error where it cannot quote a password.
func harmlessReason(connection string, cause error) string {
	if mayHoldPassword(connection) {
		return ""
	}
	return fmt.Sprintf(" (%v)", cause)
}
