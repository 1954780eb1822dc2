package open

import (
	"fmt"
	"log/slog"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Safely prepares a connection string of a setting: it logs a warning if the connection is
// insecure, and drops a password file that libpq would ignore.
func Safely(connection, setting string, log *slog.Logger) string {
	config, err := pgx.ParseConfig(connection)
	if err != nil {
		return connection // the reader of the setting, or the connection attempt, reports it
	}
	if hosts := unverifiedHosts(config); len(hosts) > 0 {
		log.Warn("the connection to PostgreSQL does not verify the server: an attacker on the network can read and change all data. "+
			"Add sslmode=verify-full and sslrootcert=FILE, the PEM file of its certificate authority, to the connection string (or set PGSSLMODE and PGSSLROOTCERT)",
			"setting", setting, "hosts", strings.Join(hosts, ", "))
	}
	path := passfileOf(connection)
	flaw := passfileFlaw(path)
	if flaw == "" {
		return connection
	}
	without := withPassfile(connection, os.DevNull)
	if other, err := pgx.ParseConfig(without); err != nil || other.Password == config.Password {
		return connection // its password does not come from the file
	}
	log.Warn("the password file is ignored, as libpq does: "+flaw+"; run 'chmod 0600' on it, or name another file with PGPASSFILE",
		"setting", setting, "file", path)
	return without
}

// unverifiedHosts lists the hosts of a configuration that are reached over a network
// without checking that their certificate is theirs, as sslmode=verify-full does.
func unverifiedHosts(config *pgx.ConnConfig) []string {
	var hosts []string
	add := func(host string, verified bool) {
		if !verified && !isLocalHost(host) && !slices.Contains(hosts, host) {
			hosts = append(hosts, host)
		}
	}
	add(config.Host, config.TLSConfig != nil && !config.TLSConfig.InsecureSkipVerify)
	for _, other := range config.Fallbacks {
		add(other.Host, other.TLSConfig != nil && !other.TLSConfig.InsecureSkipVerify)
	}
	return hosts
}

// isLocalHost reports whether a host of a connection string is local: the directory of a Unix
// socket, localhost or a loopback address.
func isLocalHost(host string) bool {
	if strings.HasPrefix(host, "/") || strings.HasPrefix(host, "@") || strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// pairPassfile matches the password file in key=value form.
var pairPassfile = regexp.MustCompile(`\bpassfile\s*=\s*(?:'((?:\\.|[^'\\])*)'|((?:\\.|[^\s\\])*))`)

// passfileOf returns the password file of a connection string: its own, that of PGPASSFILE, or
// ~/.pgpass; empty if there is none.
func passfileOf(connection string) string {
	named := ""
	if isURL(connection) {
		_, query, _ := strings.Cut(connection, "?")
		for pair := range strings.SplitSeq(query, "&") {
			// url.ParseQuery would decode + as a blank; libpq and pgx do not.
			if value, ok := strings.CutPrefix(pair, "passfile="); ok {
				named, _ = url.PathUnescape(value)
			}
		}
	} else if all := pairPassfile.FindAllStringSubmatch(connection, -1); len(all) > 0 {
		last := all[len(all)-1]
		named = strings.NewReplacer(`\\`, `\`, `\'`, `'`).Replace(last[1] + last[2])
	}
	if named == "" {
		named = os.Getenv("PGPASSFILE")
	}
	if home, err := os.UserHomeDir(); named == "" && err == nil {
		named = filepath.Join(home, ".pgpass")
	}
	return named
}

// withPassfile replaces the password file of a connection string.
func withPassfile(connection, path string) string {
	if !isURL(connection) {
		return strings.TrimSpace(connection + " passfile=" + path) // the last one counts
	}
	base, query, _ := strings.Cut(connection, "?")
	pairs := slices.DeleteFunc(strings.Split(query, "&"), func(pair string) bool {
		return pair == "" || strings.HasPrefix(pair, "passfile=")
	})
	return base + "?" + strings.Join(append(pairs, "passfile="+path), "&")
}

func isURL(connection string) bool {
	return strings.HasPrefix(connection, "postgres://") || strings.HasPrefix(connection, "postgresql://")
}

// passfileFlaw returns the reason why libpq ignores a password file; empty if it does not, or if
// the file does not exist.
func passfileFlaw(path string) string {
	found, err := os.Stat(path)
	switch {
	case err != nil:
		return ""
	case !found.Mode().IsRegular():
		return "it is not a regular file"
	case found.Mode().Perm()&0o077 != 0:
		return fmt.Sprintf("its mode %04o gives other users access", found.Mode().Perm())
	}
	return ""
}
