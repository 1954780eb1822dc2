package dbtest

import (
	"context"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
)

// loaded are the databases that NewLoaded clones, by the statements that filled them.
var loaded = struct {
	sync.Mutex
	templates map[string]string
}{templates: map[string]string{}}

// NewLoaded creates a database in which statements have been executed. The first call of a process with the same statements
// executes them; each call clones the result with its statistics. Use it for large data that several tests read.
func NewLoaded(t testing.TB, statements string) *DB {
	t.Helper()
	s, err := setUp()
	if err != nil {
		t.Fatalf("cannot set up the test databases: %v", err)
	}
	template, err := s.loadedTemplate(context.WithoutCancel(t.Context()), statements)
	if err != nil {
		t.Fatalf("cannot load a test database: %v", err)
	}
	return s.create(t, template)
}

// loadedTemplate returns the name of the database to clone. The next test process drops it, see dropDeadClones.
func (s *server) loadedTemplate(ctx context.Context, statements string) (string, error) {
	loaded.Lock()
	defer loaded.Unlock()
	if name, exists := loaded.templates[statements]; exists {
		return name, nil
	}
	name, err := s.clone(ctx, s.template)
	if err != nil {
		return "", err
	}
	conn, err := pgx.Connect(ctx, databaseURL(s.url, name))
	if err != nil {
		return "", err
	}
	_, err = conn.Exec(ctx, statements)
	if closed := conn.Close(ctx); err == nil {
		err = closed
	}
	if err != nil {
		return "", err
	}
	loaded.templates[statements] = name
	return name, nil
}
