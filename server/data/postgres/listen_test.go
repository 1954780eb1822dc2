package postgres

import (
	"context"
	"testing"
	"time"

	"github.com/berthd/berth/internal/test/dbtest"
)

func TestConductor_ListenIdle_PingKeepsConnection(t *testing.T) {
	t.Parallel()
	db := dbtest.New(t)
	s, err := Open(t.Context(), Options{URL: db.URL, MaxConns: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	conn, err := s.listener(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	exec := func(statement string, arguments ...any) {
		t.Helper()
		if _, err := db.Pool.Exec(t.Context(), statement, arguments...); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := conn.Exec(t.Context(), "LISTEN berth_node_pending"); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if heard, err := nextNotification(t.Context(), conn, 10*time.Millisecond); heard != nil || err != nil {
			t.Fatalf("without a notification: got %v, error %v", heard, err)
		}
	}
	exec("NOTIFY berth_node_pending, 'x'")
	if heard, err := nextNotification(t.Context(), conn, time.Minute); err != nil || heard.Payload != "x" {
		t.Fatalf("notification = %v, error = %v", heard, err)
	}
	exec("SELECT pg_terminate_backend($1)", int(conn.PgConn().PID()))
	if heard, err := nextNotification(t.Context(), conn, time.Minute); err == nil {
		t.Errorf("notification on a closed connection = %v", heard)
	}
}
