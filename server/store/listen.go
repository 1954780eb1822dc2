package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Channels on which the SQL functions tell of work for conductors; the payload is a
// uuid.
const (
	NodeChannel           = "berth_nodes"
	NodeAllocationChannel = "berth_allocations"
	// NodeAllocationDecisions is for clients that wait; not for conductors.
	NodeAllocationDecisions = "berth_decisions"
)

// A connection on which nothing is heard may be dead without anybody having said so.
const (
	silence = 30 * time.Second
	patient = 10 * time.Second
)

// Listen hears what is told on the channels, on a connection of its own, until the
// context ends or the connection is lost; the error says which. Listening is called
// once nothing can be missed any more: what was told before has to be looked up in
// the tables. The URL must not lead through a pooler of transactions; empty: the
// store's own.
func (s *Store) Listen(ctx context.Context, url string, channels []string, listening func(), heard func(channel, payload string)) error {
	conn, err := s.listener(ctx, url)
	if err != nil {
		return err
	}
	defer func() {
		closing, done := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer done()
		_ = conn.Close(closing) // it is of no use any more, whatever it says
	}()
	for _, channel := range channels {
		if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{channel}.Sanitize()); err != nil {
			return fmt.Errorf("listen to %s: %w", channel, err)
		}
	}
	listening()
	for {
		notification, err := hear(ctx, conn, silence)
		if err != nil {
			return err
		}
		if notification != nil {
			heard(notification.Channel, notification.Payload)
		}
	}
}

// listener opens a connection outside the pool, since it is busy all its life.
func (s *Store) listener(ctx context.Context, url string) (*pgx.Conn, error) {
	config := s.pool.Config().ConnConfig
	if url != "" {
		direct, err := pgx.ParseConfig(url)
		if err != nil {
			return nil, err
		}
		config = direct
	}
	return pgx.ConnectConfig(ctx, config)
}

// hear waits for one notification; nil: there was none for so long, and the
// connection still answers.
func hear(ctx context.Context, conn *pgx.Conn, silence time.Duration) (*pgconn.Notification, error) {
	bounded, done := context.WithTimeout(ctx, silence)
	defer done()
	notification, err := conn.WaitForNotification(bounded)
	if err == nil || ctx.Err() != nil || !pgconn.Timeout(err) {
		return notification, err
	}
	asking, asked := context.WithTimeout(ctx, patient)
	defer asked()
	return nil, conn.Ping(asking)
}
