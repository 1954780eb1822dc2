package dbtest

import (
	"context"
	"net/url"
	"testing"
)

// Role creates a role with no privilege except login, and returns its name and the URL of the
// database for it. The suffix distinguishes several roles of a test. At the end of the test it
// drops the role and the objects that the role owns in the database.
func Role(t testing.TB, db *DB, suffix string) (role, databaseURL string) {
	t.Helper()
	role = db.Name + "_" + suffix
	if _, err := db.Pool.Exec(t.Context(), "CREATE ROLE "+role+" LOGIN PASSWORD 'x'"); err != nil {
		t.Fatalf("cannot create the role %s: %v", role, err)
	}
	t.Cleanup(func() {
		if _, err := db.Pool.Exec(context.WithoutCancel(t.Context()), "DROP OWNED BY "+role+" CASCADE; DROP ROLE "+role); err != nil {
			t.Errorf("cannot drop the role %s: %v", role, err)
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
