package postgres_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/server/data/postgres"
)

func TestMetrics_CollectorQuery_CanceledOnClose(t *testing.T) {
	t.Parallel()
	db := dbtest.New(t)
	data, err := postgres.Open(t.Context(), postgres.Options{URL: db.URL, MaxConns: 1})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		ended <- data.WithMonitorConn(context.Background(), func(ctx context.Context, conn *pgx.Conn) error {
			_, err := conn.Exec(ctx, "SELECT pg_sleep(60)")
			return err
		})
	}()
	// PostgreSQL ignores a cancellation that arrives before the statement.
	for runs := false; !runs; time.Sleep(5 * time.Millisecond) {
		if err := db.Pool.QueryRow(t.Context(), "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() "+
			"AND state = 'active' AND query = 'SELECT pg_sleep(60)')").Scan(&runs); err != nil {
			t.Fatal(err)
		}
	}
	start := time.Now()
	data.Close()
	if err := <-ended; !errors.Is(err, context.Canceled) || time.Since(start) > 10*time.Second {
		t.Errorf("after %s: %v", time.Since(start), err)
	}
	if err := data.Ping(t.Context()); err == nil {
		t.Error("a query on a closed pool succeeded")
	}
}

func TestMetrics_CollectorConnectionLost_Reconnects(t *testing.T) {
	t.Parallel()
	db := dbtest.New(t)
	data, err := postgres.Open(t.Context(), postgres.Options{URL: db.URL, MaxConns: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer data.Close()
	if err := data.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Pool.Exec(t.Context(),
		"SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"); err != nil {
		t.Fatal(err)
	}
	// The first query may be the one that finds the lost connection.
	if data.Ping(t.Context()) != nil {
		if err := data.Ping(t.Context()); err != nil {
			t.Errorf("query after the reconnect: %v", err)
		}
	}
}
