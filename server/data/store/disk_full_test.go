package store_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/wire/fault"
)

// TestConnLoss_DiskFull_Returns503AndIsCounted: the SQLSTATE is what PostgreSQL reports
// when a table cannot grow.
func TestConnLoss_DiskFull_Returns503AndIsCounted(t *testing.T) {
	t.Parallel()
	b := setup(t, 4)
	host := b.provider("a host", nil, map[string]int32{"VCPU": 100})
	conn := b.monitorPool("")
	for _, statement := range []string{
		`CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS $$
			BEGIN RAISE 'could not extend file "base/5/16384": No space left on device' USING ERRCODE = '53100'; END $$`,
		`CREATE TRIGGER no_room BEFORE INSERT ON allocations FOR EACH ROW EXECUTE FUNCTION no_room()`,
	} {
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	err := b.AllocationReplace(t.Context(), []store.Claim{claim("server", nil, host, 1)}, true)
	reported, ok := errors.AsType[*fault.Error](err)
	if !ok || reported.Kind != fault.Unavailable || !strings.Contains(reported.Detail, "disk of the database is full") ||
		strings.Contains(reported.Detail, "base/5") {
		t.Errorf("error = %v, want a full disk, without PostgreSQL's text in the detail", err)
	}
	if got := b.Pool().DiskFull(); got != 1 {
		t.Errorf("DiskFull = %d, want 1", got)
	}
	if got := b.used(host); got != 0 {
		t.Errorf("used = %d, want 0", got)
	}
}
