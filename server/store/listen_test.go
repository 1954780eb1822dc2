package store

import (
	"context"
	"testing"
	"time"

	"github.com/berthd/berth/server/dbtest"
)

func TestSilenceIsAskedAboutAndDoesNotCostTheConnection(t *testing.T) {
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
	if _, err := conn.Exec(t.Context(), "LISTEN berth_nodes"); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if heard, err := hear(t.Context(), conn, 10*time.Millisecond); heard != nil || err != nil {
			t.Fatalf("in silence it hears %v, error %v", heard, err)
		}
	}
	exec("NOTIFY berth_nodes, 'x'")
	if heard, err := hear(t.Context(), conn, time.Minute); err != nil || heard.Payload != "x" {
		t.Fatalf("it hears %v, error %v", heard, err)
	}
	exec("SELECT pg_terminate_backend($1)", int(conn.PgConn().PID()))
	if heard, err := hear(t.Context(), conn, time.Minute); err == nil {
		t.Errorf("on a connection that is gone it hears %v", heard)
	}
}
