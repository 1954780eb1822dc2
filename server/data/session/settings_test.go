package session_test

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/server/data/migrate"
	"github.com/berthd/berth/server/data/session"
)

func exec(t *testing.T, db *dbtest.DB, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := db.Pool.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
}

// databaseAt returns the URL of another database on the server of db.
func databaseAt(t *testing.T, db *dbtest.DB, name string) string {
	t.Helper()
	at, err := url.Parse(db.URL)
	if err != nil {
		t.Fatal(err)
	}
	at.Path = "/" + name
	return at.String()
}

// A migration of an empty database ends with one sentence, and creates nothing.
func TestMigration_UnsuitableSettings_NothingIsCreated(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ setting, want string }{
		"search_path":                   {"search_path = missing", `search_path (missing) names no schema that exists and that the role ROLE may use; create the schema, or run ALTER ROLE ROLE IN DATABASE DATABASE SET search_path = 'public'`},
		"session_replication_role":      {"session_replication_role = replica", `session_replication_role is replica, which disables the triggers and foreign keys of Berth; run ALTER ROLE ROLE IN DATABASE DATABASE SET session_replication_role = 'origin'`},
		"default_transaction_read_only": {"default_transaction_read_only = on", `default_transaction_read_only is on, and Berth writes; run ALTER ROLE ROLE IN DATABASE DATABASE SET default_transaction_read_only = 'off'`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := dbtest.NewEmpty(t)
			exec(t, db, "ALTER DATABASE "+pgx.Identifier{db.Name}.Sanitize()+" SET "+test.setting)
			config, err := pgx.ParseConfig(db.URL)
			if err != nil {
				t.Fatal(err)
			}
			want := strings.NewReplacer("ROLE ROLE", `ROLE "`+config.User+`"`, "role ROLE", `role "`+config.User+`"`, "DATABASE DATABASE", `DATABASE "`+db.Name+`"`).Replace(test.want)
			checkNotMigrated(t, db, db.URL, want)
		})
	}
}

// checkNotMigrated migrates the database at a URL, which fails with a sentence.
func checkNotMigrated(t *testing.T, db *dbtest.DB, at, want string) {
	t.Helper()
	_, err := migrate.Up(t.Context(), at, slog.New(slog.DiscardHandler))
	if !errors.Is(err, session.ErrUnsuitable) || err.Error() != "unsuitable settings of PostgreSQL: "+want {
		t.Errorf("error = %v, want %s", err, want)
	}
	conn, err := pgx.Connect(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	var tables int
	if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").Scan(&tables); err != nil || tables != 0 {
		t.Errorf("tables = %d, error %v, want none", tables, err)
	}
}

func TestMigration_EncodingOfDatabase_NothingIsCreated(t *testing.T) {
	t.Parallel()
	for _, encoding := range []string{"LATIN1", "SQL_ASCII"} {
		t.Run(encoding, func(t *testing.T) {
			t.Parallel()
			db := dbtest.NewEmpty(t)
			name := db.Name + "_" + strings.ToLower(encoding)
			exec(t, db, "CREATE DATABASE "+name+" ENCODING '"+encoding+"' LOCALE 'C' TEMPLATE template0")
			t.Cleanup(func() { _, _ = db.Pool.Exec(context.WithoutCancel(t.Context()), "DROP DATABASE "+name+" WITH (FORCE)") })
			checkNotMigrated(t, db, databaseAt(t, db, name), `the encoding of the database "`+name+`" is `+encoding+
				", and Berth requires UTF8; create another database: CREATE DATABASE name ENCODING 'UTF8' LOCALE 'C' TEMPLATE template0")
		})
	}
}

// A parameter of the connection string outranks that of the role, so the sentence names the connection string.
func TestSettings_ParameterInConnectionString_IsNamed(t *testing.T) {
	t.Parallel()
	db := dbtest.New(t)
	at, err := url.Parse(db.URL)
	if err != nil {
		t.Fatal(err)
	}
	query := at.Query()
	query.Set("default_transaction_read_only", "on")
	at.RawQuery = query.Encode()
	conn, err := session.Connect(t.Context(), at.String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	const want = "unsuitable settings of PostgreSQL: default_transaction_read_only is on, and Berth writes; remove it from the connection string"
	if err := session.Check(t.Context(), conn, true); err == nil || err.Error() != want {
		t.Errorf("error = %v, want %s", err, want)
	}
	if err := session.Check(t.Context(), conn, false); err != nil {
		t.Errorf("for reads: error = %v, want none", err)
	}
}

// Behind a transaction pooler, parameters of the session are those of the role, except those that poolers keep.
func TestSettings_PoolerDropsParameters_AreNamed(t *testing.T) {
	t.Parallel()
	db := dbtest.New(t)
	quoted := pgx.Identifier{db.Name}.Sanitize()
	exec(t, db, "ALTER DATABASE "+quoted+" SET bytea_output = escape", "ALTER DATABASE "+quoted+" SET default_transaction_isolation = serializable",
		"ALTER DATABASE "+quoted+" SET datestyle = german")
	config, err := pgx.ParseConfig(db.URL)
	if err != nil {
		t.Fatal(err)
	}
	session.SetPooled(config)
	conn, err := pgx.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	read, err := session.Read(t.Context(), conn, true)
	if err != nil {
		t.Fatal(err)
	}
	want := `unsuitable settings of PostgreSQL: bytea_output is escape, and Berth requires hex: a pooler dropped this parameter of the session; ` +
		`run ALTER ROLE "` + config.User + `" IN DATABASE "` + db.Name + `" SET bytea_output = 'hex'`
	if err := read.Check(true); err == nil || err.Error() != want {
		t.Errorf("error = %v, want %s", err, want)
	}
}

func TestSettings_Durability_ReportsLosses(t *testing.T) {
	t.Parallel()
	for _, setting := range []string{"synchronous_commit = on", "synchronous_commit = off", "zero_damaged_pages = on", "ignore_checksum_failure = on"} {
		t.Run(setting, func(t *testing.T) {
			t.Parallel()
			db := dbtest.New(t)
			quoted := pgx.Identifier{db.Name}.Sanitize()
			exec(t, db, "ALTER DATABASE "+quoted+" SET synchronous_commit = on", "ALTER DATABASE "+quoted+" SET "+setting)
			conn, err := session.Connect(t.Context(), db.URL)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close(t.Context())
			read, err := session.Read(t.Context(), conn, false)
			if err != nil {
				t.Fatal(err)
			}
			found := map[string]bool{}
			for _, loss := range read.Losses() {
				if loss.Setting != "fsync" && loss.Setting != "full_page_writes" { // of the server of the tests
					found[loss.Setting+" = "+loss.Value] = true
				}
			}
			want := []string{setting}
			if setting == "synchronous_commit = on" {
				want = nil
			}
			if got := slices.Collect(maps.Keys(found)); !slices.Equal(got, want) {
				t.Errorf("losses = %v, want %v", got, want)
			}
		})
	}
}
