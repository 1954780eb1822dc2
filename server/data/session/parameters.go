// Package session sets and checks the settings of sessions on which the behavior of Berth depends: a connection string, a
// role, a database and postgresql.conf can change them.
//
// It is not for connections (package postgres), nor for limits and planner settings, which change no result.
package session

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// sessionParameters are the parameters that every connection has, whatever the connection string, the role, the database
// or the configuration file set: with other values, statements have another meaning, or values another text.
var sessionParameters = map[string]string{
	"default_transaction_isolation": isolation,
	"client_encoding":               "UTF8",
	"standard_conforming_strings":   "on",
	"datestyle":                     "ISO, MDY",
	"bytea_output":                  "hex",
	"extra_float_digits":            "1",
	"array_nulls":                   "on",
	"transform_null_equals":         "off",
	"exit_on_error":                 "off",
}

// isolation is the level at which the SQL functions are correct: after a wait for a lock, the next statement of a
// function sees what the other transaction has committed.
const isolation = "read committed"

// throughPoolers are the parameters of sessionParameters that poolers keep for each client.
var throughPoolers = []string{"client_encoding", "standard_conforming_strings", "datestyle"}

// Set adds the parameters of the session to the start-up message of a connection without a pooler. They replace
// those of the connection string.
func Set(config *pgx.ConnConfig) { set(config, sessionParameters) }

// SetPooled is Set for a connection to a transaction pooler, which rejects or drops other parameters.
func SetPooled(config *pgx.ConnConfig) {
	kept := map[string]string{}
	for _, name := range throughPoolers {
		kept[name] = sessionParameters[name]
	}
	set(config, kept)
}

func set(config *pgx.ConnConfig, parameters map[string]string) {
	maps.DeleteFunc(config.RuntimeParams, func(name, _ string) bool { return parameters[strings.ToLower(name)] != "" })
	maps.Copy(config.RuntimeParams, parameters)
}

// setStatement sets the parameters of the session on an open connection.
var setStatement = func() string {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(sessionParameters)) {
		fmt.Fprintf(&text, "SELECT set_config('%s', '%s', false);", name, sessionParameters[name])
	}
	return text.String()
}()

// liftLimits removes the time limits of the role. Servers before version 17 have no transaction_timeout.
const liftLimits = "SET statement_timeout = 0; SET lock_timeout = 0; " +
	"SET idle_in_transaction_session_timeout = 0; SET idle_session_timeout = 0; " +
	"SELECT set_config(name, '0', false) FROM pg_settings WHERE name = 'transaction_timeout'"

// PrepareMaintenance prepares an open connection for maintenance: it sets the parameters of the session, and removes the
// time limits of the role. It sets both by statements, which a pooler in session mode does not reject.
func PrepareMaintenance(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.Exec(ctx, setStatement+liftLimits, pgx.QueryExecModeSimpleProtocol)
	return err
}

// Connect opens a connection that is prepared for maintenance.
func Connect(ctx context.Context, url string) (*pgx.Conn, error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil, fmt.Errorf("connect to the database: %w", err)
	}
	if err := PrepareMaintenance(ctx, conn); err != nil {
		return nil, errors.Join(err, conn.Close(ctx))
	}
	return conn, nil
}

// IsChosen reports whether the connection string sets a parameter, by its name or in options=-c. PostgreSQL would prefer
// the start-up message to the latter.
func IsChosen(config *pgx.ConnConfig, name string) bool {
	options := strings.ReplaceAll(config.RuntimeParams["options"], "-", "_")
	return config.RuntimeParams[name] != "" || strings.Contains(options, name+"=")
}
