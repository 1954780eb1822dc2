package postgres_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/server/data/postgres"
)

// TestLocks_ParameterInConnectionString_Wins: a limit in the connection string takes precedence.
func TestLocks_ParameterInConnectionString_Wins(t *testing.T) {
	t.Parallel()
	for form, parameter := range map[string]string{"by name": "lock_timeout=7s", "in options": "options=-c%20lock_timeout%3D7s"} {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			db := dbtest.New(t)
			separator := "?"
			if config, err := pgx.ParseConfig(db.URL + "&" + parameter); err == nil && config.Database == db.Name {
				separator = "&"
			}
			opened, err := postgres.Open(t.Context(), postgres.Options{
				URL: db.URL + separator + parameter, MaxConns: 1,
				Limits: postgres.Limits{LockTimeout: time.Second, StatementTimeout: 9 * time.Second},
			})
			if err != nil {
				t.Fatal(err)
			}
			defer opened.Close()
			for name, want := range map[string]string{"lock_timeout": "7s", "statement_timeout": "9s"} {
				var found string
				if err := opened.WithMonitorConn(t.Context(), func(ctx context.Context, conn *pgx.Conn) error {
					return conn.QueryRow(ctx, "SELECT current_setting($1)", name).Scan(&found)
				}); err != nil || found != want {
					t.Errorf("%s: got %q, %v, want %q", name, found, err, want)
				}
			}
		})
	}
}

// TestLocks_Pooler_LimitsMissingOnRoleAreReported: a pooler drops session parameters, so that the role must have them.
func TestLocks_Pooler_LimitsMissingOnRoleAreReported(t *testing.T) {
	t.Parallel()
	db := dbtest.New(t)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	limits := postgres.Limits{LockTimeout: time.Second, StatementTimeout: 2 * time.Second, ClientCheckInterval: time.Second}
	missing := func() []string {
		t.Helper()
		opened, err := postgres.Open(t.Context(), postgres.Options{URL: db.URL, MaxConns: 1, Pooler: true, Limits: limits})
		must(err)
		defer opened.Close()
		found, err := opened.Unlimited(t.Context())
		must(err)
		return found
	}
	if got := fmt.Sprint(missing()); got != "[lock_timeout statement_timeout]" {
		t.Errorf("got %s", got)
	}
	_, err := db.Pool.Exec(t.Context(), "ALTER ROLE CURRENT_USER IN DATABASE "+pgx.Identifier{db.Name}.Sanitize()+" SET lock_timeout = '5s'")
	must(err)
	if got := fmt.Sprint(missing()); got != "[statement_timeout]" {
		t.Errorf("got %s", got)
	}
}
