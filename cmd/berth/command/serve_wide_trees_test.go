package command

import (
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/internal/test/dbtest"
)

// wideTree fills a database with hosts with 8 GPUs, and with one with 9.
const wideTree = `
INSERT INTO resource_classes (id, name) VALUES (10001, 'CUSTOM_GPU');
INSERT INTO resource_providers (id, uuid, name, root_id, parent_id) OVERRIDING SYSTEM VALUE
SELECT n, gen_random_uuid(), 'host-' || n, n - n % 10, CASE WHEN n % 10 > 0 THEN n - n % 10 END
FROM generate_series(10, 68) AS n;
INSERT INTO resource_providers (id, uuid, name, root_id, parent_id) OVERRIDING SYSTEM VALUE VALUES (69, gen_random_uuid(), 'gpu-9', 60, 60);
INSERT INTO inventories (provider_id, class_id, root_id, total, reserved, min_unit, max_unit, step_size, allocation_ratio)
SELECT id, 10001, root_id, 1, 0, 1, 1, 1, 1 FROM resource_providers WHERE id % 10 > 0 AND (id % 10 < 9 OR id = 69);`

// TestSettings_WideTree_NamedAtStart checks that a server names the setting that spreads a page of candidates over hosts, if
// one host can fill a page.
func TestSettings_WideTree_NamedAtStart(t *testing.T) {
	t.Parallel()
	db := dbtest.New(t)
	if _, err := db.Pool.Exec(t.Context(), wideTree); err != nil {
		t.Fatal(err)
	}
	b := setupServe(t, "--database-url", db.URL)
	const want = `Wide trees:     "host-60" has 9 providers of CUSTOM_GPU, so that its candidates alone can fill the page of a query with several groups; ` +
		"--allocation-candidates-generation-strategy breadth-first returns those of other hosts too\n"
	for !strings.Contains(b.later.String(), "\n") {
		select {
		case code := <-b.exit:
			t.Fatalf("exit code %d: %s", code, b.stderr)
		case <-time.After(10 * time.Millisecond):
		}
	}
	if got := b.later.String(); got != want {
		t.Errorf("printed %q, want %q", got, want)
	}
	b.signals <- syscall.SIGTERM
	if code := <-b.exit; code != frame.ExitOK {
		t.Errorf("exit code %d: %s", code, b.stderr)
	}
}

// TestSettings_WideTreeQueryWaits_ServerServes locks the table of the query: the server serves and stops anyway.
func TestSettings_WideTreeQueryWaits_ServerServes(t *testing.T) {
	t.Parallel()
	db := dbtest.New(t)
	lock, err := db.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Rollback(t.Context()) //nolint:errcheck // the test ends
	if _, err := lock.Exec(t.Context(), "LOCK TABLE tree_classes IN ACCESS EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	b := setupServe(t, "--database-url", db.URL)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.url+"/resource_providers", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-Auth-Token", "admin")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Errorf("status = %d, want 200", response.StatusCode)
	}
	b.signals <- syscall.SIGTERM
	if code := <-b.exit; code != frame.ExitOK || b.later.String() != "" {
		t.Errorf("exit code %d, printed %q: %s", code, b.later, b.stderr)
	}
}
