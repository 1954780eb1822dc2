package dbtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/berthd/berth/server/data/cluster"
	"github.com/berthd/berth/server/data/migrate"
	"github.com/jackc/pgx/v5"
)

func TestCluster_TestDatabases_AreIsolated(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"one", "another"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := New(t)
			before := Snapshot(t, db)
			// Both databases use the same key.
			execute(t, db, "INSERT INTO traits (id, name) VALUES (77, 'CUSTOM_"+strings.ToUpper(name)+"')")
			want := []string{"+ traits{id: 77, name: CUSTOM_" + strings.ToUpper(name) + ", created_at: set, updated_at: null}"}
			if got := before.Diff(Snapshot(t, db)); !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func execute(t *testing.T, db *DB, statements string) {
	t.Helper()
	if _, err := db.Pool.Exec(t.Context(), statements); err != nil {
		t.Fatal(err)
	}
}

func TestCluster_TestDatabase_HasProductionSettingsAndIsDropped(t *testing.T) {
	t.Parallel()
	var name string
	t.Run("while the test runs", func(t *testing.T) {
		db := NewEmpty(t)
		name = db.Name
		for setting, want := range map[string]string{"plan_cache_mode": "force_generic_plan", "jit": "off"} {
			var got string
			if err := db.Pool.QueryRow(t.Context(), "SELECT current_setting($1)", setting).Scan(&got); err != nil || got != want {
				t.Errorf("%s: got %q, %v, want %q", setting, got, err, want)
			}
		}
		// A leaked connection must not prevent the drop.
		if _, err := pgx.Connect(t.Context(), db.URL); err != nil {
			t.Fatal(err)
		}
	})
	s, err := connectServer()
	if err != nil {
		t.Fatal(err)
	}
	if exists(t, s, name) {
		t.Errorf("database %s exists after the test", name)
	}
}

func exists(t *testing.T, s *server, database string) bool {
	t.Helper()
	var found bool
	err := s.admin.QueryRow(t.Context(),
		"SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", database).Scan(&found)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestCluster_TestTemplate_CreatedOncePerContent(t *testing.T) {
	t.Parallel()
	s, err := connectServer()
	if err != nil {
		t.Fatal(err)
	}
	set, err := migrate.Load(fstest.MapFS{
		"migrations/00001_cargo.sql": {Data: []byte("-- +goose Up\nCREATE TABLE cargo (name text);\n")},
		"functions/VERSION":          {Data: []byte("1 -")},
	})
	if err != nil {
		t.Fatal(err)
	}
	runs := 0
	prepare := Preparation{
		Key: fmt.Sprint("tea of ", os.Getpid()),
		Run: func(ctx context.Context, databaseURL string) error {
			runs++
			conn, err := pgx.Connect(ctx, databaseURL)
			if err != nil {
				return err
			}
			_, err = conn.Exec(ctx, "INSERT INTO cargo VALUES ('tea')")
			return errors.Join(err, conn.Close(ctx))
		},
	}
	ours := *s
	for range 2 {
		if ours.template, err = ensureTemplate(t.Context(), &ours, set, prepare); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if _, err := s.admin.Exec(context.Background(), "DROP DATABASE "+ours.template); err != nil {
			t.Error(err)
		}
	})
	if runs != 1 {
		t.Errorf("runs of the preparation = %d, want 1", runs)
	}
	db := ours.create(t, ours.template)
	if got, want := Snapshot(t, db).Rows("cargo"), []string{"cargo{name: tea}"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	other, err := templateName(set, Preparation{Key: "coffee"})
	if err != nil || other == ours.template {
		t.Errorf("template of another preparation = %s, %v; want another name", other, err)
	}
}

func TestCluster_TestDatabasesOfDeadProcess_Dropped(t *testing.T) {
	t.Parallel()
	s, err := connectServer()
	if err != nil {
		t.Fatal(err)
	}
	// A process that has exited.
	ended := exec.Command(os.Args[0], "-test.list", "^$")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	left := "t_" + strconv.Itoa(ended.Process.Pid) + "_1"
	mine := NewEmpty(t)
	if _, err := s.admin.Exec(t.Context(), "CREATE DATABASE "+left); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), s.url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	// The lock prevents concurrent drops by another test process.
	if _, err := conn.Exec(t.Context(), "SELECT pg_advisory_lock($1)", housekeepingKey); err != nil {
		t.Fatal(err)
	}
	if err := dropDeadClones(t.Context(), conn); err != nil {
		t.Fatal(err)
	}
	if exists(t, s, left) || !exists(t, s, mine.Name) {
		t.Errorf("database of the dead process exists = %v, of this process = %v; want false, true", exists(t, s, left), exists(t, s, mine.Name))
	}
}

// newBase returns a directory for a keeper of the test that the account of the server can access.
func newBase(t *testing.T) base {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	return base(dir)
}

// quick is the interval at which keepers check for users in tests.
const quick = keeperInterval / 500

func useQuick(t *testing.T, b base) *server {
	t.Helper()
	s, err := use(t.Context(), b, quick)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestCluster_TestServerUnused_Stops(t *testing.T) {
	t.Parallel()
	b := newBase(t)
	first, second := useQuick(t, b), useQuick(t, b)
	if second.url != first.url || second.keeper != nil {
		t.Fatalf("server of the second process = %+v, want that of the first", second)
	}
	dir, _ := b.clusterDir()
	var inUse *cluster.InUseError
	if _, err := cluster.Open(t.Context(), cluster.Options{Dir: dir, BinDir: os.Getenv(BinariesVariable)}); !errors.As(err, &inUse) ||
		inUse.PID != first.keeper.Process.Pid {
		t.Errorf("cluster.Open: %v, want an InUseError with the keeper", err)
	}
	if err := errors.Join(first.users.Close(), second.users.Close()); err != nil {
		t.Fatal(err)
	}
	if err := first.keeper.Wait(); err != nil {
		t.Errorf("the keeper failed: %v", err)
	}
	if _, err := reach(t.Context(), b); err == nil {
		t.Error("the server runs after the keeper has stopped")
	}
}

func TestCluster_TestServerDaemonKilled_Replaced(t *testing.T) {
	t.Parallel()
	b := newBase(t)
	first := useQuick(t, b)
	if err := first.keeper.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.keeper.Wait()
	second := useQuick(t, b)
	if second.keeper == nil || second.url != first.url {
		t.Fatalf("second server = %+v, want the first with a new keeper", second)
	}
	if err := errors.Join(first.users.Close(), second.users.Close()); err != nil {
		t.Fatal(err)
	}
	if err := second.keeper.Wait(); err != nil {
		t.Errorf("the keeper failed: %v", err)
	}
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		New(b)
	}
}

func TestCluster_TestTemplateDropped_Recreated(t *testing.T) {
	t.Parallel()
	s, err := setUp()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.admin.Exec(t.Context(), "DROP DATABASE IF EXISTS "+s.template); err != nil {
		t.Fatal(err)
	}
	execute(t, New(t), "INSERT INTO traits (id, name) VALUES (77, 'CUSTOM_GOLD')")
}

// TestSettings_PostgresBinariesVariable_StartsThatVersion checks that a private server runs the
// programs of BinariesVariable, in a separate directory.
func TestSettings_PostgresBinariesVariable_StartsThatVersion(t *testing.T) {
	t.Parallel()
	dir := os.Getenv(BinariesVariable)
	if dir == "" || os.Getenv(ServerVariable) != "" {
		t.Skipf("%s is not set, or %s is", BinariesVariable, ServerVariable)
	}
	binaries, err := cluster.BinariesIn(dir)
	if err != nil {
		t.Fatal(err)
	}
	base, err := baseDir()
	if want := "berth-test-pg" + strconv.Itoa(binaries.Major); err != nil || filepath.Base(base) != want {
		t.Errorf("the server's directory is %s (%v), want %s", base, err, want)
	}
	var got int
	if err := NewEmpty(t).Pool.QueryRow(t.Context(), "SELECT current_setting('server_version_num')::int / 10000").Scan(&got); err != nil || got != binaries.Major {
		t.Errorf("the server's version is %d (%v), want %d", got, err, binaries.Major)
	}
}

func TestCluster_ScansOfTest_AreCountedAfterwards(t *testing.T) {
	t.Parallel()
	db := New(t)
	scans := func() (count int) {
		t.Helper()
		if err := db.Pool.QueryRow(t.Context(), "SELECT seq_scan FROM pg_stat_user_tables WHERE relname = 'scanned'").Scan(&count); err != nil {
			t.Fatal(err)
		}
		return count
	}
	if _, err := db.Pool.Exec(t.Context(), "CREATE TABLE scanned (n int)"); err != nil {
		t.Fatal(err)
	}
	for want := range 5 {
		db.AwaitCounters(t)
		if got := scans(); got != want {
			t.Errorf("scans = %d, want %d", got, want)
		}
		if _, err := db.Pool.Exec(t.Context(), "SELECT count(*) FROM scanned"); err != nil {
			t.Fatal(err)
		}
	}
}
