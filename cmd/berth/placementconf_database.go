package main

import (
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// What may stand behind the ? of a connection: what pgx reads itself, and settings of
// the session that PostgreSQL reads. Anything else would be sent to PostgreSQL as a
// setting, which would end every connection with an error about it.
var connectionParameters = []string{
	"host", "port", "user", "password", "dbname", "passfile", "service", "servicefile", "connect_timeout", "application_name", "options",
	"client_encoding", "target_session_attrs", "krbspn", "krbsrvname",
	"sslmode", "sslcert", "sslkey", "sslrootcert", "sslpassword", "sslsni", "sslcertmode", "sslnegotiation", "channel_binding", "require_auth",
}

// Parameters that tune the socket or the Python driver. They are left out: Go keeps
// connections alive by itself, and the rest has no meaning here.
var tuningParameters = []string{
	"keepalives", "keepalives_idle", "keepalives_interval", "keepalives_count", "tcp_user_timeout", "sslcompression",
	"fallback_application_name", "async_fallback", "prepared_statement_cache_size", "executemany_mode", "use_native_unicode",
}

// databaseURL turns [placement_database]connection, a URL of SQLAlchemy's, into one of
// PostgreSQL's. Nothing else names the database when it is called.
func (c *placementConf) databaseURL(found fromFile) (fromFile, bool) {
	return convertURL(found, c.text("placement_database", "connection_parameters"))
}

// replicaURL is the same for slave_connection, which belongs to connection.
func (c *placementConf) replicaURL(found fromFile) (fromFile, bool) {
	return convertURL(found, c.text("placement_database", "connection_parameters"))
}

// text is the last value of an option, without references; empty when there is none.
func (c *placementConf) text(group, name string) string {
	for _, option := range c.options {
		if option.group != group || option.name != name {
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
		found.broken = &rule{
			fmt.Sprintf("is a %s database, and Berth keeps its data in PostgreSQL", dialectName(dialect)),
			"name a PostgreSQL database with --database-url (BERTH_DATABASE_URL), which wins over the file, and copy the data with 'berth import " + dialect + "://…'",
		}
		return found, true
	default:
		found.broken = &rule{"is no URL of a PostgreSQL database", "write postgresql://user:password@host/name, or set --database-url (BERTH_DATABASE_URL)"}
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

// postgresURL makes a URL that pgx reads out of what follows the :// of one of
// SQLAlchemy's. There a password may hold any character, only the name of the database
// has no escapes, and several hosts are several parameters of one name.
func postgresURL(rest string) (string, *rule) {
	user, password, hasUser, rest := cutUser(rest)
	rest, query, _ := strings.Cut(rest, "?")
	made := url.URL{Scheme: "postgres"}
	if hasUser {
		made.User = url.User(unescape(user))
		if password != "" {
			made.User = url.UserPassword(unescape(user), unescape(password))
		}
	}
	host, name, _ := strings.Cut(rest, "/")
	made.Host = host
	if name != "" {
		made.Path = "/" + name
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return "", &rule{"has parameters behind the ? that cannot be read", "write them as name=value, separated by &"}
	}
	for parameter := range values {
		switch {
		case slices.Contains(tuningParameters, parameter):
			delete(values, parameter)
		case !slices.Contains(connectionParameters, parameter):
			return "", &rule{
				fmt.Sprintf("has the parameter %q, which means nothing here", parameter),
				"remove it, or name the database with --database-url (BERTH_DATABASE_URL), which wins over the file",
			}
		}
	}
	if hosts := values["host"]; len(hosts) > 0 {
		manyHosts(values, hosts)
	}
	made.RawQuery = values.Encode()
	return made.String(), nil
}

// manyHosts writes ?host=a:1&host=b:2 as libpq has it: ?host=a,b&port=1,2.
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

// cutUser splits user:password@ from the rest as SQLAlchemy does: the user has no : or
// /, and the password reaches to the last @ that there is.
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

// maskAlchemy hides the password of a URL of SQLAlchemy's, and all that is behind the ?.
func maskAlchemy(text string) string {
	scheme, rest, isURL := strings.Cut(text, "://")
	if !isURL {
		return "(not shown, it may hold a password)"
	}
	user, password, hasUser, rest := cutUser(rest)
	rest, _, hasQuery := strings.Cut(rest, "?")
	if hasQuery {
		rest += "?" + mask
	}
	switch {
	case hasUser && password != "":
		return scheme + "://" + user + ":" + mask + "@" + rest
	case hasUser:
		return scheme + "://" + user + "@" + rest
	}
	return scheme + "://" + rest
}

// What SQLAlchemy takes where the file leaves one of the two out.
const (
	usualPoolSize = 5
	usualOverflow = 10
)

// poolSize adds the connections that are kept and those allowed beyond. 0 and -1 mean
// that there is no limit, which leaves the setting to its default.
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
				found.text, found.broken = text, &rule{"is no whole number", "write digits only in [placement_database]" + name}
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

// logFile is log_file in log_dir, either of which may be missing.
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

// whenTrue gives a setting a value when the option is true, and leaves it alone when
// the option is false.
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
