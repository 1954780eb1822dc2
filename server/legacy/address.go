package legacy

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

// engine is a kind of database that the Python service runs on.
type engine string

const (
	sqlite     engine = "sqlite"
	mariadb    engine = "mysql"
	postgresql engine = "postgresql"
)

// Address says where a database of the Python service is.
type Address struct {
	engine engine
	// source is the address in the words of the driver, password included.
	source string
	shown  string
}

// String is the address without its password.
func (a Address) String() string { return a.shown }

// File is the path of an SQLite database, empty for others.
func (a Address) File() string {
	if a.engine != sqlite {
		return ""
	}
	return a.source
}

var errAddress = errors.New("write sqlite:///path, mysql://user:password@host/database or postgresql://user:password@host/database, " +
	"as [placement_database]connection of placement.conf has it")

// ParseAddress reads an address as SQLAlchemy spells it, with or without a driver
// (mysql+pymysql://). The errors don't quote it, since a password may be in it.
func ParseAddress(text string) (Address, error) {
	scheme, rest, found := strings.Cut(text, "://")
	if !found {
		return Address{}, fmt.Errorf("not the address of a database; %w", errAddress)
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
	return Address{}, fmt.Errorf("%q is not a kind of database that can be read; %w", dialect, errAddress)
}

// sqliteAddress: three slashes and a relative path, or four and an absolute one.
func sqliteAddress(rest string) (Address, error) {
	path, _, _ := strings.Cut(strings.TrimPrefix(rest, "/"), "?")
	if !strings.HasPrefix(rest, "/") || path == "" || path == ":memory:" {
		return Address{}, errors.New("an SQLite database is a file: write sqlite:///relative/path or sqlite:////absolute/path")
	}
	absolute, err := filepath.Abs(path)
	return Address{engine: sqlite, source: absolute, shown: "sqlite:///" + absolute}, err
}

// where is what the addresses of the two servers have in common. SQLAlchemy takes
// everything up to the last @ as user and password.
type where struct {
	user, password, host, port, database string
	options                              url.Values
}

func parseServer(rest string) (w where, err error) {
	rest, query, _ := strings.Cut(rest, "?")
	if w.options, err = url.ParseQuery(query); err != nil {
		return w, fmt.Errorf("what stands behind the question mark cannot be read; %w", errAddress)
	}
	authority, database := rest, ""
	// A slash in a password is before the @.
	if at := strings.LastIndex(rest, "@"); at >= 0 {
		authority, database, _ = strings.Cut(rest[at+1:], "/")
		user, password, _ := strings.Cut(rest[:at], ":")
		if w.user, err = url.PathUnescape(user); err == nil {
			w.password, err = url.PathUnescape(password)
		}
		if err != nil {
			return w, fmt.Errorf("user or password has a percent sign that is no escape: write %%25 for one; %w", errAddress)
		}
	} else {
		authority, database, _ = strings.Cut(rest, "/")
	}
	w.database = database
	w.host = authority
	if colon := strings.LastIndex(authority, ":"); colon >= 0 && !strings.HasSuffix(authority, "]") {
		w.host, w.port = authority[:colon], authority[colon+1:]
	}
	if strings.Trim(w.port, "0123456789") != "" { // not shown: it is of a password that has a ? as it is
		return w, fmt.Errorf("the port is no number, or there is a ? in the password: write %%3F for that; %w", errAddress)
	}
	w.host = strings.Trim(w.host, "[]")
	if database == "" {
		return w, fmt.Errorf("the address names no database; %w", errAddress)
	}
	return w, nil
}

func (w where) shown(scheme string) string {
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
	// Times are naive there, so nothing converts them on their way.
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
