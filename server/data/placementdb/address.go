package placementdb

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

// engine is a database engine that OpenStack Placement supports.
type engine string

const (
	sqlite     engine = "sqlite"
	mariadb    engine = "mysql"
	postgresql engine = "postgresql"
)

// Address is the address of a database of OpenStack Placement.
type Address struct {
	engine engine
	// source is the address in the format of the driver, including the password.
	source string
	shown  string
}

// String returns the address without its password.
func (a Address) String() string { return a.shown }

// File returns the path of an SQLite database, empty for other engines.
func (a Address) File() string {
	if a.engine != sqlite {
		return ""
	}
	return a.source
}

var errAddress = errors.New("write sqlite:///path, mysql://user:password@host/database or postgresql://user:password@host/database, " +
	"as in [placement_database]connection of placement.conf")

// ParseAddress parses an address in SQLAlchemy's format, with or without a driver (mysql+pymysql://). Its
// errors do not quote the address, since it may contain a password.
func ParseAddress(text string) (Address, error) {
	scheme, rest, found := strings.Cut(text, "://")
	if !found {
		return Address{}, fmt.Errorf("not a database URL; %w", errAddress)
	}
	dialect, _, _ := strings.Cut(strings.ToLower(scheme), "+")
	switch dialect {
	case "sqlite":
		return sqliteAddress(rest)
	case "mysql", "mariadb":
		return mysqlAddress(rest)
	case "postgresql", "postgres":
		return postgresAddress(rest)
	}
	return Address{}, fmt.Errorf("unsupported database %q; %w", dialect, errAddress)
}

// sqliteAddress parses the rest of an SQLite URL: three slashes and a relative path, or four and an
// absolute one.
func sqliteAddress(rest string) (Address, error) {
	path, _, _ := strings.Cut(strings.TrimPrefix(rest, "/"), "?")
	if !strings.HasPrefix(rest, "/") || path == "" || path == ":memory:" {
		return Address{}, errors.New("an SQLite database is a file: write sqlite:///relative/path or sqlite:////absolute/path")
	}
	absolute, err := filepath.Abs(path)
	return Address{engine: sqlite, source: absolute, shown: "sqlite:///" + absolute}, err
}

// serverAddress contains the parts that MySQL and PostgreSQL addresses share. SQLAlchemy takes everything
// up to the last @ as user and password.
type serverAddress struct {
	user, password, host, port, database string
	options                              url.Values
}

func parseServer(rest string) (w serverAddress, err error) {
	rest, query, _ := strings.Cut(rest, "?")
	if w.options, err = url.ParseQuery(query); err != nil {
		return w, fmt.Errorf("invalid options after the question mark; %w", errAddress)
	}
	authority, database := rest, ""
	// A slash before the @ belongs to the password.
	if at := strings.LastIndex(rest, "@"); at >= 0 {
		authority, database, _ = strings.Cut(rest[at+1:], "/")
		user, password, _ := strings.Cut(rest[:at], ":")
		if w.user, err = url.PathUnescape(user); err == nil {
			w.password, err = url.PathUnescape(password)
		}
		if err != nil {
			return w, fmt.Errorf("invalid escape in user or password: write %%25 for a percent sign; %w", errAddress)
		}
	} else {
		authority, database, _ = strings.Cut(rest, "/")
	}
	w.database = database
	w.host = authority
	if colon := strings.LastIndex(authority, ":"); colon >= 0 && !strings.HasSuffix(authority, "]") {
		w.host, w.port = authority[:colon], authority[colon+1:]
	}
	if strings.Trim(w.port, "0123456789") != "" { // not shown: it is part of a password with an unescaped ?
		return w, fmt.Errorf("invalid port, or an unescaped ? in the password: write %%3F for a question mark; %w", errAddress)
	}
	w.host = strings.Trim(w.host, "[]")
	if database == "" {
		return w, fmt.Errorf("the URL has no database name; %w", errAddress)
	}
	return w, nil
}

func (w serverAddress) shown(scheme string) string {
	shown := url.URL{Scheme: scheme, Host: w.host, Path: "/" + w.database}
	if w.port != "" {
		shown.Host += ":" + w.port
	}
	if w.user != "" {
		shown.User = url.User(w.user)
	}
	text := shown.String()
	if w.password != "" {
		text = strings.Replace(text, "@", ":***@", 1)
	}
	return text
}

func mysqlAddress(rest string) (Address, error) {
	w, err := parseServer(rest)
	if err != nil {
		return Address{}, err
	}
	config := mysql.NewConfig()
	config.User, config.Passwd, config.DBName = w.user, w.password, w.database
	config.Net, config.Addr = "tcp", fallback(w.host, "127.0.0.1")+":"+fallback(w.port, "3306")
	if socket := w.options.Get("unix_socket"); socket != "" {
		config.Net, config.Addr = "unix", socket
	}
	if config.TLSConfig, err = mysqlTLS(w.host, w.options); err != nil {
		return Address{}, err
	}
	config.Timeout = 30 * time.Second
	// Times in the source have no time zone, so the driver must not convert them.
	config.Params = map[string]string{"time_zone": "'+00:00'"}
	return Address{engine: mariadb, source: config.FormatDSN(), shown: w.shown("mysql")}, nil
}

func postgresAddress(rest string) (Address, error) {
	w, err := parseServer(rest)
	if err != nil {
		return Address{}, err
	}
	address := url.URL{Scheme: "postgres", Host: w.host, Path: "/" + w.database}
	if w.port != "" {
		address.Host += ":" + w.port
	}
	if w.user != "" {
		address.User = url.UserPassword(w.user, w.password)
	}
	kept := url.Values{"timezone": {"UTC"}}
	for _, name := range []string{"host", "port", "sslmode", "sslrootcert", "sslcert", "sslkey", "application_name", "options", "connect_timeout"} {
		if w.options.Has(name) {
			kept.Set(name, w.options.Get(name))
		}
	}
	address.RawQuery = strings.ReplaceAll(kept.Encode(), "+", "%20")
	return Address{engine: postgresql, source: address.String(), shown: w.shown("postgresql")}, nil
}

func fallback(text, instead string) string {
	if text == "" {
		return instead
	}
	return text
}
