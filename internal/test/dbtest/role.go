package dbtest

import (
	"context"
	"net/url"
	"testing"
)

// Role creates a role that may log in and nothing else, and returns its name and the address
// of the database for it. The suffix tells several roles of a test apart. At the end of the
// test the role is dropped, with what it owns in the database.
func Role(t testing.TB, db *DB, suffix string) (role, databaseURL string) {
	t.Helper()
	role = db.Name + "_" + suffix
	if _, err := db.Pool.Exec(t.Context(), "CREATE ROLE "+role+" LOGIN PASSWORD 'x'"); err != nil {
		t.Fatalf("create the role %s: %v", role, err)
	}
	t.Cleanup(func() {
		if _, err := db.Pool.Exec(context.WithoutCancel(t.Context()), "DROP OWNED BY "+role+" CASCADE; DROP ROLE "+role); err != nil {
			t.Errorf("drop the role %s: %v", role, err)
		}
	})
	at, err := url.Parse(db.URL)
	if err != nil {
		t.Fatal(err)
	}
	at.User = url.UserPassword(role, "x")
	query := at.Query()
	query.Del("user")
	at.RawQuery = query.Encode()
	return role, at.String()
}
