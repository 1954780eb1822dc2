package config

import (
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/cmd/berth/frame"
)

// validateCombination returns an error for each broken rule over several settings. It skips a
// rule if a setting that it reads is invalid, because the field of that setting is then empty.
func (s *Settings) validateCombination() []error {
	var wrong []error
	listen := s.Row("listen")
	if broken := s.ExposedAddress(); broken != nil && s.Listen != "" && !isLocal(s.Listen) {
		wrong = append(wrong, &frame.InputError{Setting: "listen", Value: listen.Text, Origin: listen.Origin, Rule: *broken})
	}
	wrong = append(wrong, s.listenerSettings.validateCombination(s.Row)...)
	wrong = append(wrong, s.ObservabilitySettings.validateCombination(s.Row)...)
	if s.Auth == AuthKeystone {
		wrong = append(wrong, s.keystoneSettings.validateCombination(s.Row)...)
	}
	if s.Auth == AuthOIDC {
		wrong = append(wrong, s.oidcSettings.validateCombination(s.Row)...)
	}
	direct := s.Row("direct-database-url")
	if direct.Text != "" && s.Row("database-url").Text == "" && s.DatabaseURLFile == "" && len(s.PGVariables) == 0 {
		wrong = append(wrong, &frame.InputError{Setting: "direct-database-url", Value: direct.Shown(), Origin: direct.Origin, Rule: frame.Rule{
			Broken: "bypasses a pooler, but no database URL is set",
			Remedy: "set --database-url (BERTH_DATABASE_URL) as well",
		}})
	}
	timeout, interval := s.Row("baremetal-heartbeat-timeout"), s.Row("baremetal-heartbeat-interval")
	if !timeout.Wrong && !interval.Wrong && s.Conductor.HeartbeatTimeout < 2*s.Conductor.HeartbeatInterval {
		wrong = append(wrong, &frame.InputError{Setting: "baremetal-heartbeat-timeout", Value: timeout.Text, Origin: timeout.Origin, Rule: frame.Rule{
			Broken: fmt.Sprintf("is less than two heartbeats of %s, so that conductors would take over nodes of live conductors", interval.Text),
			Remedy: "write at least twice --baremetal-heartbeat-interval, better six times",
		}})
	}
	if len(s.PGVariables) > 0 {
		if _, err := pgx.ParseConfig(""); err != nil {
			wrong = append(wrong, &frame.InputError{Setting: "database-url", Value: "", Origin: "environment " + strings.Join(s.PGVariables, ", "), Rule: frame.Rule{
				Broken: fmt.Sprintf("comes from invalid PG* variables (%v)", err),
				Remedy: "correct the PG* variables, or set --database-url (BERTH_DATABASE_URL)",
			}})
		}
	}
	return wrong
}

// unused returns a warning for each setting that has no effect in this combination.
func (s *Settings) unused() []string {
	var warnings []string
	if dir := s.Row("data-dir"); dir.Text != "" && !s.Embedded() {
		warnings = append(warnings, fmt.Sprintf(
			"data-dir (%s) has no effect: it applies to the embedded PostgreSQL, but a database is configured", dir.Origin))
	}
	if lock := s.Row("db-lock-timeout"); s.RequestTimeout > 0 && s.DBLockTimeout >= s.RequestTimeout {
		warnings = append(warnings, fmt.Sprintf(
			"db-lock-timeout (%s) has no effect: it is not less than --request-timeout", lock.Origin))
	}
	return warnings
}

// Database returns a one-line description of the PostgreSQL server, without passwords.
func (s *Settings) Database() string {
	switch {
	case s.DatabaseURL != "":
		return MaskPassword(s.DatabaseURL)
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

// DirectURL returns the connection string for migrations and locks.
func (s *Settings) DirectURL() string {
	if s.DirectDatabaseURL != "" {
		return s.DirectDatabaseURL
	}
	return s.DatabaseURL
}
