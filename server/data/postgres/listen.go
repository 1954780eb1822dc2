package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// A silent connection may be dead without an error, so it is pinged.
const (
	listenPingInterval = 30 * time.Second
	listenPingTimeout  = 10 * time.Second
)

// Listen receives notifications on the channels, on its own connection, until the context ends or the connection fails;
// it returns the error of either. It calls listening as soon as it misses no more notifications: the caller must read
// earlier work from the tables. The URL must not be that of a transaction pooler; empty: the pool's own.
func (p *Pool) Listen(
	ctx context.Context, url string, channels []string, listening func(), heard func(channel, payload string),
) error {
	conn, err := p.listener(ctx, url)
	if err != nil {
		return err
	}
	defer func() {
		closing, done := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer done()
		_ = conn.Close(closing) // the connection is no longer used, so its error does not matter
	}()
	for _, channel := range channels {
		if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{channel}.Sanitize()); err != nil {
			return fmt.Errorf("listen to %s: %w", channel, err)
		}
	}
	listening()
	for {
		notification, err := nextNotification(ctx, conn, listenPingInterval)
		if err != nil {
			return err
		}
		if notification != nil {
			heard(notification.Channel, notification.Payload)
		}
	}
}

// listener opens a connection outside the pool, because LISTEN keeps it for the lifetime of the process.
func (p *Pool) listener(ctx context.Context, url string) (*pgx.Conn, error) {
	config := p.pool.Config().ConnConfig
	if url != "" {
		direct, err := pgx.ParseConfig(url)
		if err != nil {
			return nil, err
		}
		config = direct
	}
	return pgx.ConnectConfig(ctx, config)
}

// nextNotification waits for one notification. It returns nil if there was none for that long and the connection still
// responds.
func nextNotification(ctx context.Context, conn *pgx.Conn, silence time.Duration) (*pgconn.Notification, error) {
	bounded, done := context.WithTimeout(ctx, silence)
	defer done()
	notification, err := conn.WaitForNotification(bounded)
	if err == nil || ctx.Err() != nil || !pgconn.Timeout(err) {
		return notification, err
	}
	asking, asked := context.WithTimeout(ctx, listenPingTimeout)
	defer asked()
	return nil, conn.Ping(asking)
}
