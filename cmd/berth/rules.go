package main

import (
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// brokenTogether checks what no setting can know alone. A rule is left out while
// a setting that it reads is itself wrong: its field is then empty, and a second
// report about the same text would only confuse.
func (s *Settings) brokenTogether() []error {
	var wrong []error
	listen := s.setting("listen")
	exposed := s.Listen != "" && s.Auth == authNoauth2 && !isLocal(s.Listen)
	if exposed && !s.AllowInsecureNoauth2 && !s.setting("allow-insecure-noauth2").wrong {
		wrong = append(wrong, &mistake{"listen", listen.text, listen.origin, rule{
			"can be reached from other machines, and noauth2 believes whatever a caller says it is",
			"listen on a loopback address such as 127.0.0.1:8778, or allow it with --allow-insecure-noauth2 (BERTH_ALLOW_INSECURE_NOAUTH2=true)",
		}})
	}
	wrong = append(wrong, s.runSettings.brokenTogether(s.setting)...)
	if s.Auth == authKeystone {
		wrong = append(wrong, s.keystoneSettings.brokenTogether(s.setting)...)
	}
	direct := s.setting("direct-database-url")
	if direct.text != "" && s.setting("database-url").text == "" && len(s.PGVariables) == 0 {
		wrong = append(wrong, &mistake{"direct-database-url", direct.shown(), direct.origin, rule{
			"bypasses the pooler of a database that is not named",
			"set --database-url (BERTH_DATABASE_URL) as well",
		}})
	}
	timeout, interval := s.setting("baremetal-heartbeat-timeout"), s.setting("baremetal-heartbeat-interval")
	if !timeout.wrong && !interval.wrong && s.BaremetalHeartbeatTimeout < 2*s.BaremetalHeartbeatInterval {
		wrong = append(wrong, &mistake{"baremetal-heartbeat-timeout", timeout.text, timeout.origin, rule{
			fmt.Sprintf("is less than two heartbeats of %s, so that conductors would be taken for dead that are alive", interval.text),
			"write at least twice --baremetal-heartbeat-interval, better six times",
		}})
	}
	if len(s.PGVariables) > 0 {
		if _, err := pgx.ParseConfig(""); err != nil {
			wrong = append(wrong, &mistake{"database-url", "", "environment " + strings.Join(s.PGVariables, ", "), rule{
				fmt.Sprintf("is left to PostgreSQL's own variables, which cannot be read (%v)", err),
				"correct the PG* variables, or set --database-url (BERTH_DATABASE_URL)",
			}})
		}
	}
	return wrong
}

// unused warns of settings that were given and do nothing in this combination.
func (s *Settings) unused() []string {
	var warnings []string
	if dir := s.setting("data-dir"); dir.text != "" && !s.Embedded() {
		warnings = append(warnings, fmt.Sprintf(
			"data-dir (%s) is not used: it belongs to the embedded PostgreSQL, and a database is named", dir.origin))
	}
	return warnings
}

// Database says in one line which PostgreSQL is used, without passwords.
func (s *Settings) Database() string {
	switch {
	case s.DatabaseURL != "":
		return maskPassword(s.DatabaseURL)
	case len(s.PGVariables) > 0:
		named := "the PostgreSQL named by " + strings.Join(s.PGVariables, ", ")
		if config, err := pgx.ParseConfig(""); err == nil {
			named += fmt.Sprintf(" (host %s, port %d, database %s, user %s)", config.Host, config.Port, config.Database, config.User)
		}
		return named
	default:
		return "an embedded PostgreSQL"
	}
}

// DirectURL is the connection string for migrations and locks.
func (s *Settings) DirectURL() string {
	if s.DirectDatabaseURL != "" {
		return s.DirectDatabaseURL
	}
	return s.DatabaseURL
}
