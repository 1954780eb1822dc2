package postgres

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/data/session"
)

// Limits are limits of how long PostgreSQL waits on connections for requests. Each becomes a parameter of the session.
// Zero sends none, so that the setting of the role, the database or the server applies. A parameter in the connection
// string wins.
type Limits struct {
	// LockTimeout limits the wait for one lock.
	LockTimeout time.Duration
	// StatementTimeout limits one statement.
	StatementTimeout time.Duration
	// IdleTransactionTimeout limits the time between two statements of a transaction.
	IdleTransactionTimeout time.Duration
	// ClientCheckInterval is the interval at which PostgreSQL checks, during a statement, whether the client is still
	// connected. Some platforms do not support it.
	ClientCheckInterval time.Duration
}

// clientCheck is a parameter that some platforms reject. It cannot be part of the start-up message, because then the
// connection would fail.
const clientCheck = "client_connection_check_interval"

// parameters returns the limits by their PostgreSQL names, in milliseconds, without those that are 0.
func (l Limits) parameters() map[string]string {
	named := map[string]time.Duration{
		"lock_timeout":                        l.LockTimeout,
		"statement_timeout":                   l.StatementTimeout,
		"idle_in_transaction_session_timeout": l.IdleTransactionTimeout,
		clientCheck:                           l.ClientCheckInterval,
	}
	wanted := map[string]string{}
	for name, limit := range named {
		if limit > 0 {
			wanted[name] = strconv.FormatInt(max(1, limit.Milliseconds()), 10)
		}
	}
	return wanted
}

// limit adds the parameters to the start-up message of a connection. It returns the value of the parameter that can
// only be set on an open connection; "" for none.
func (l Limits) limit(config *pgx.ConnConfig) (clientCheckInterval string) {
	for name, value := range l.parameters() {
		switch {
		case session.IsChosen(config, name):
		case name == clientCheck:
			clientCheckInterval = value
		default:
			config.RuntimeParams[name] = value
		}
	}
	return clientCheckInterval
}

// SQLSTATEs of a PostgreSQL that has no such parameter, or does not support it on its platform.
const (
	undefinedObject       = "42704"
	invalidParameterValue = "22023"
	featureNotSupported   = "0A000"
)

// setClientCheck sets the interval at which PostgreSQL checks that the client of a running statement still exists,
// unless the platform does not support it. An empty interval sets nothing.
func setClientCheck(ctx context.Context, conn *pgx.Conn, interval string) error {
	if interval == "" {
		return nil
	}
	_, err := conn.Exec(ctx, "SELECT set_config('client_connection_check_interval', $1, false)", pgx.QueryExecModeSimpleProtocol, interval)
	reported, ok := errors.AsType[*pgconn.PgError](err)
	if ok && slices.Contains([]string{undefinedObject, invalidParameterValue, featureNotSupported}, reported.Code) {
		return nil
	}
	return err
}

// Unlimited returns the sorted names of the requested limits that are off on the connections. A pooler drops parameters
// of the session, so the operator must set them on the role.
func (p *Pool) Unlimited(ctx context.Context) ([]string, error) {
	var missing []string
	for _, name := range slices.Sorted(maps.Keys(p.limits.parameters())) {
		if name == clientCheck {
			continue // some platforms do not support it
		}
		found, err := QueryPrimary(ctx, p, func(from db.DBTX) (string, error) {
			return p.queries.SettingShow(ctx, from, name)
		})
		if err != nil {
			return nil, err
		}
		if found == "0" {
			missing = append(missing, name)
		}
	}
	return missing, nil
}
