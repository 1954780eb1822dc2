package command

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/cmd/berth/config"
	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/internal/test/dbtest"
)

// lockTable locks a table until a statement has waited half a second for it.
func lockTable(t *testing.T, db *dbtest.DB, table string) (released <-chan error) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), db.URL)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), "SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0; BEGIN; LOCK TABLE "+table); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		defer conn.Close(context.WithoutCancel(t.Context()))
		for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
			// PostgreSQL caches statistics during a transaction.
			var waits bool
			if _, err := conn.Exec(t.Context(), "SELECT pg_stat_clear_snapshot()"); err != nil {
				done <- err
				return
			}
			if err := conn.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_stat_activity
				WHERE datname = current_database() AND wait_event_type = 'Lock')`).Scan(&waits); err != nil {
				done <- err
				return
			}
			if waits {
				time.Sleep(500 * time.Millisecond)
				done <- nil
				return
			}
		}
		done <- fmt.Errorf("no statement waited for %s", table)
	}()
	return done
}

// TestLocks_RoleHasShortTimeouts_MaintenanceSucceeds checks that maintenance commands override the
// timeouts of the role, which are for requests.
func TestLocks_RoleHasShortTimeouts_MaintenanceSucceeds(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		table string
		run   func(t *testing.T, url string) ran
	}{
		"migrate": {"berth_function_set", func(t *testing.T, url string) ran { return runCommand(t, nil, "db", "migrate", "--database-url", url) }},
		"check":   {"allocations", func(t *testing.T, url string) ran { return runCommand(t, nil, "db", "check", "--database-url", url) }},
		"repair": {"allocations", func(t *testing.T, url string) ran {
			return runCommand(t, nil, "db", "repair", "--yes", "--database-url", url)
		}},
		"export": {"allocations", func(t *testing.T, url string) ran {
			return runCommand(t, nil, "export", "sqlite:///"+filepath.Join(t.TempDir(), "placement.db"), "--database-url", url)
		}},
		"import": {"import_state", func(t *testing.T, url string) ran {
			file := "sqlite:///" + filepath.Join(t.TempDir(), "placement.db")
			if made := runCommand(t, nil, "export", file, "--database-url", dbtest.New(t).URL); made.code != frame.ExitOK {
				t.Fatal(made.stderr)
			}
			return runCommand(t, nil, "import", file, "--database-url", url)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := dbtest.New(t)
			in := " IN DATABASE " + pgx.Identifier{db.Name}.Sanitize()
			if _, err := db.Pool.Exec(t.Context(), "ALTER ROLE CURRENT_USER"+in+" SET lock_timeout = '1ms'; "+
				"ALTER ROLE CURRENT_USER"+in+" SET statement_timeout = '200ms'; "+
				"ALTER ROLE CURRENT_USER"+in+" SET idle_in_transaction_session_timeout = '200ms'"); err != nil {
				t.Fatal(err)
			}
			released := lockTable(t, db, test.table)
			got := test.run(t, db.URL)
			if err := <-released; err != nil {
				t.Error(err)
			}
			if got.code != frame.ExitOK {
				t.Errorf("exit code %d: %s%s", got.code, got.stdout, got.stderr)
			}
		})
	}
}

// TestLocks_ServerIsBusy_ConnectionsStayWithinBudget counts the sessions of a server while requests
// wait for all connections of its pool, and clients scrape metrics, probe and wait for node allocations.
func TestLocks_ServerIsBusy_ConnectionsStayWithinBudget(t *testing.T) {
	t.Parallel()
	db := dbtest.New(t)
	const pool = 5
	b := setupServe(t, "--database-url", db.URL, "--instance=busy", fmt.Sprintf("--db-max-connections=%d", pool), "--db-lock-timeout=60s")
	settings, _, err := loaded(t, config.ForServer, []string{fmt.Sprintf("--db-max-connections=%d", pool)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	budget := settings.ConnectionBudget().Total()
	holder, err := pgx.Connect(t.Context(), db.URL)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := holder.Exec(t.Context(), "BEGIN; LOCK TABLE resource_providers"); err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	send := func(method, path, body string) {
		clients.Go(func() {
			for ctx.Err() == nil {
				r, _ := http.NewRequestWithContext(ctx, method, b.url+path, strings.NewReader(body))
				r.Header.Set("X-Auth-Token", "admin")
				r.Header.Set("Content-Type", "application/json")
				r.Header.Set("OpenStack-API-Version", "placement 1.39, berth 1.0")
				if response, err := http.DefaultClient.Do(r); err == nil {
					io.Copy(io.Discard, response.Body)
					response.Body.Close()
				}
			}
		})
	}
	for n := range 2 * pool {
		send("GET", "/resource_providers", "")
		send("POST", "/resource_providers", fmt.Sprintf(`{"name": "host-%d"}`, n))
		send("POST", "/v1/allocations", `{"resource_class": "none", "wait": 5}`)
		send("GET", "/metrics", "")
		send("GET", "/readyz", "")
	}
	var maxOwn, maxForeign int64
	for full := 0; full < 100; time.Sleep(20 * time.Millisecond) {
		var own, foreign, waiting int64
		if err := db.Pool.QueryRow(t.Context(), `SELECT count(*) FILTER (WHERE application_name = 'berth/busy'),
				count(*) FILTER (WHERE application_name NOT IN ('berth/busy', '')), count(*) FILTER (WHERE wait_event_type = 'Lock')
			FROM pg_stat_activity WHERE datname = current_database()`).Scan(&own, &foreign, &waiting); err != nil {
			t.Fatal(err)
		}
		maxOwn, maxForeign = max(maxOwn, own), max(maxForeign, foreign)
		if waiting > 0 {
			full++
		}
		select {
		case <-b.exit:
			t.Fatalf("the server exited: %s", b.stderr)
		default:
		}
	}
	end()
	clients.Wait()
	if err := holder.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Logf("maximum of sessions = %d, budget = %d", maxOwn, budget)
	if maxOwn < pool || maxOwn > budget || maxForeign != 0 {
		t.Errorf("sessions of the server = %d, of other applications = %d; want %d to %d, and 0", maxOwn, maxForeign, pool, budget)
	}
	if want := fmt.Sprintf("application_name=berth/busy max_total=%d max_pool=%d", budget, pool); !strings.Contains(b.stderr.String(), want) {
		t.Errorf("the log lacks %q: %s", want, b.stderr)
	}
}
