package config

import (
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/cmd/berth/setting"
)

// connectionParameters are the supported query parameters of a connection URL: those of pgx, and
// session settings of PostgreSQL. pgx would send any other parameter to PostgreSQL as a setting,
// which would reject every connection.
var connectionParameters = []string{
	"host", "port", "user", "password", "dbname", "passfile", "service", "servicefile", "connect_timeout", "application_name", "options",
	"client_encoding", "target_session_attrs", "krbspn", "krbsrvname",
	"sslmode", "sslcert", "sslkey", "sslrootcert", "sslpassword", "sslsni", "sslcertmode", "sslnegotiation", "channel_binding", "require_auth",
}

// tuningParameters tune the socket or the Python driver. Berth drops them: Go enables TCP
// keepalives by default, and the others do not apply.
var tuningParameters = []string{
	"keepalives", "keepalives_idle", "keepalives_interval", "keepalives_count", "tcp_user_timeout", "sslcompression",
	"fallback_application_name", "async_fallback", "prepared_statement_cache_size", "executemany_mode", "use_native_unicode",
}

// databaseURL converts [placement_database]connection from an SQLAlchemy URL to a PostgreSQL URL.
// Read calls it only if no other setting names the database.
func (c *placementConf) databaseURL(found fromFile) (fromFile, bool) {
	return convertURL(found, c.text("placement_database", "connection_parameters"))
}

// replicaURL does the same for slave_connection.
func (c *placementConf) replicaURL(found fromFile) (fromFile, bool) {
	return convertURL(found, c.text("placement_database", "connection_parameters"))
}

// text returns the last value of an option with its references expanded; empty if there is none.
func (c *placementConf) text(group, name string) string {
	for _, option := range c.options {
		if option.group != group || option.Name != name {
			continue
		}
		if entries := c.every(option); len(entries) > 0 {
			text, err := c.expand(entries[len(entries)-1])
			if err == nil {
				return text
			}
		}
	}
	return ""
}

func convertURL(found fromFile, parameters string) (fromFile, bool) {
	if found.text == "" {
		return found, false
	}
	found.shown = maskAlchemy(found.text)
	scheme, rest, _ := strings.Cut(found.text, "://")
	dialect, _, _ := strings.Cut(scheme, "+")
	switch strings.ToLower(dialect) {
	case "postgresql", "postgres":
	case "mysql", "mariadb", "sqlite":
		found.broken = &frame.Rule{
			Broken: fmt.Sprintf("is a %s database, but Berth requires PostgreSQL", dialectName(dialect)),
			Remedy: "name a PostgreSQL database with --database-url (BERTH_DATABASE_URL), which takes precedence over the file, and copy the data with 'berth import " + dialect + "://…'",
		}
		return found, true
	default:
		found.broken = &frame.Rule{Broken: "is not a PostgreSQL URL", Remedy: "write postgresql://user:password@host/name, or set --database-url (BERTH_DATABASE_URL)"}
		return found, true
	}
	if parameters != "" {
		separator := "?"
		if strings.Contains(rest, "?") {
			separator = "&"
		}
		rest += separator + parameters
	}
	found.text, found.broken = postgresURL(rest)
	return found, true
}

func dialectName(dialect string) string {
	return map[string]string{"mysql": "MySQL", "mariadb": "MariaDB", "sqlite": "SQLite"}[strings.ToLower(dialect)]
}

// postgresURL converts the part of an SQLAlchemy URL after :// to a URL for pgx. In SQLAlchemy
// URLs a password may contain any character, the database name is not escaped, and several hosts
// are repeated parameters.
func postgresURL(rest string) (string, *frame.Rule) {
	user, password, hasUser, rest := cutUser(rest)
	rest, query, _ := strings.Cut(rest, "?")
	address := url.URL{Scheme: "postgres"}
	if hasUser {
		address.User = url.User(unescape(user))
		if password != "" {
			address.User = url.UserPassword(unescape(user), unescape(password))
		}
	}
	host, name, _ := strings.Cut(rest, "/")
	address.Host = host
	if name != "" {
		address.Path = "/" + name
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return "", &frame.Rule{Broken: "has invalid parameters after the ?", Remedy: "write them as name=value, separated by &"}
	}
	for parameter := range values {
		switch {
		case slices.Contains(tuningParameters, parameter):
			delete(values, parameter)
		case !slices.Contains(connectionParameters, parameter):
			return "", &frame.Rule{
				Broken: fmt.Sprintf("has the parameter %q, which Berth does not support", parameter),
				Remedy: "remove it, or name the database with --database-url (BERTH_DATABASE_URL), which takes precedence over the file",
			}
		}
	}
	if hosts := values["host"]; len(hosts) > 0 {
		manyHosts(values, hosts)
	}
	address.RawQuery = values.Encode()
	return address.String(), nil
}

// manyHosts converts ?host=a:1&host=b:2 to the form of libpq: ?host=a,b&port=1,2.
func manyHosts(values url.Values, hosts []string) {
	names, ports := []string{}, []string{}
	for _, host := range hosts {
		name, port, hasPort := strings.Cut(host, ":")
		if strings.HasPrefix(host, "/") || !hasPort {
			name, port = host, "5432"
		}
		names, ports = append(names, name), append(ports, port)
	}
	values.Set("host", strings.Join(names, ","))
	if len(hosts) > 1 || strings.Contains(hosts[0], ":") {
		values.Set("port", strings.Join(ports, ","))
	}
}

// cutUser splits user:password@ from the rest as SQLAlchemy does: the user contains neither : nor
// /, and the password extends to the last @.
func cutUser(rest string) (user, password string, found bool, after string) {
	end := strings.IndexAny(rest, ":/")
	if end < 0 {
		end = len(rest)
	}
	last := strings.LastIndex(rest, "@")
	if end < len(rest) && rest[end] == '/' {
		last = strings.LastIndex(rest[:end], "@")
	}
	switch {
	case last < 0:
		return "", "", false, rest
	case last < end:
		return rest[:last], "", true, rest[last+1:]
	}
	return rest[:end], rest[end+1 : last], true, rest[last+1:]
}

func unescape(text string) string {
	if plain, err := url.PathUnescape(text); err == nil {
		return plain
	}
	return text
}

// maskAlchemy masks the password of an SQLAlchemy URL and its query.
func maskAlchemy(text string) string {
	scheme, rest, isURL := strings.Cut(text, "://")
	if !isURL {
		return "(hidden, may contain a password)"
	}
	user, password, hasUser, rest := cutUser(rest)
	rest, _, hasQuery := strings.Cut(rest, "?")
	if hasQuery {
		rest += "?" + setting.Mask
	}
	switch {
	case hasUser && password != "":
		return scheme + "://" + user + ":" + setting.Mask + "@" + rest
	case hasUser:
		return scheme + "://" + user + "@" + rest
	}
	return scheme + "://" + rest
}

// Defaults of SQLAlchemy for max_pool_size and max_overflow.
const (
	usualPoolSize = 5
	usualOverflow = 10
)

// poolSize returns the sum of max_pool_size and max_overflow. 0 and -1 mean no limit, so that the
// setting keeps its default.
func (c *placementConf) poolSize(found fromFile) (fromFile, bool) {
	total := 0
	if found.text == "" {
		return found, false
	}
	for _, part := range []struct {
		name   string
		number int
	}{{"max_pool_size", usualPoolSize}, {"max_overflow", usualOverflow}} {
		name, number := part.name, part.number
		if text := c.text("placement_database", name); text != "" {
			value, err := strconv.Atoi(text)
			if err != nil {
				found.text, found.broken = text, &frame.Rule{Broken: "is not a whole number", Remedy: "write digits only in [placement_database]" + name}
				return found, true
			}
			number = value
		}
		if number < 0 || name == "max_pool_size" && number == 0 {
			return found, false
		}
		total += number
	}
	found.text = strconv.Itoa(max(1, total))
	return found, true
}

// logFile returns the path of log_file in log_dir, either of which may be unset.
func (c *placementConf) logFile(found fromFile) (fromFile, bool) {
	file, dir := c.text("DEFAULT", "log_file"), c.text("DEFAULT", "log_dir")
	switch {
	case dir == "":
		found.text = file
	case file == "":
		found.text = filepath.Join(dir, "berth.log")
	case filepath.IsAbs(file):
		found.text = file
	default:
		found.text = filepath.Join(dir, file)
	}
	return found, found.text != ""
}

// whenTrue returns a reader that sets text if the option is true, and nothing if it is false.
func whenTrue(text string) func(*placementConf, fromFile) (fromFile, bool) {
	return func(_ *placementConf, found fromFile) (fromFile, bool) {
		found, _ = inKind("bool", found)
		if found.broken != nil {
			return found, true
		}
		isTrue := found.text == "true"
		found.text = text
		return found, isTrue
	}
}
