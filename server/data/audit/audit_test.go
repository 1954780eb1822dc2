package audit_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/internal/test/storetest"
	"github.com/berthd/berth/server/data/audit"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/data/store"
	berthsql "github.com/berthd/berth/sql"
)

func TestMain(m *testing.M) { storetest.Main(m) }

func TestCLI_AuditChecks_HaveQueryAndDescription(t *testing.T) {
	t.Parallel()
	var wanted []string
	for _, check := range audit.Checks() {
		wanted = append(wanted, "audit/"+check.Name+".sql")
		if check.RepairAction != "" {
			wanted = append(wanted, "audit/"+check.Name+".repair.sql")
		}
	}
	slices.Sort(wanted)
	files, err := fs.Glob(berthsql.Files, "audit/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	if !slices.Equal(files, wanted) {
		t.Errorf("files = %q, want those of the checks: %q", files, wanted)
	}
	page, err := os.ReadFile("../../../docs/database-reference.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, check := range audit.Checks() {
		if !strings.Contains(string(page), "`"+check.Name+"`") {
			t.Errorf("docs/database-reference.md does not name %s", check.Name)
		}
	}
}

// writers writes to a few providers in all ways that take locks, until stop is true.
func writers(t *testing.T, data *store.Store, stop *atomic.Bool, group *sync.WaitGroup) {
	t.Helper()
	providers := []uuid.UUID{uuid.New(), uuid.New(), uuid.New()}
	record := store.Inventory{Class: "VCPU", Total: 1 << 20, MinUnit: 1, MaxUnit: 1 << 20, StepSize: 1, AllocationRatio: 1}
	for i, id := range providers {
		if _, err := data.ProviderCreate(t.Context(), id, fmt.Sprint("provider ", i), nil); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 8 {
		group.Go(func() {
			for ctx := context.WithoutCancel(t.Context()); !stop.Load(); {
				id, consumer := providers[i%3], uuid.New()
				shown, err := data.ProviderShow(ctx, id)
				if err == nil {
					_, err = data.InventoryReplace(ctx, id, shown.Generation, []store.Inventory{record}, 1)
				}
				if err == nil || store.AsRuleViolation(err) != nil {
					err = data.AllocationReplace(ctx, []store.Claim{{
						Consumer: consumer, ProjectID: "project", UserID: "user",
						Allocations: []store.Allocation{{Provider: id, Class: "VCPU", Amount: 1}, {Provider: providers[(i+1)%3], Class: "VCPU", Amount: 1}},
					}}, true)
				}
				if err == nil || store.AsRuleViolation(err) != nil {
					_, _, err = data.ProviderTraitReplace(ctx, id, shown.Generation+2, []string{"HW_CPU_X86_VMX"}[:i%2])
				}
				if err == nil || store.AsRuleViolation(err) != nil {
					_, err = data.AllocationDelete(ctx, consumer, nil)
				}
				if err != nil && store.AsRuleViolation(err) == nil {
					t.Errorf("write failed: %v", err)
					return
				}
			}
		})
	}
}

func TestLocks_RepairWithWriters_NoDeadlock(t *testing.T) {
	t.Parallel()
	db := dbtest.New(t)
	dbtest.AddInvariantTriggers(t, db)
	data, err := store.Open(t.Context(), postgres.Options{URL: db.URL, MaxConns: 8})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(data.Close)
	var stop atomic.Bool
	var group sync.WaitGroup
	writers(t, data, &stop, &group)
	for range 10 {
		err := pgx.BeginFunc(t.Context(), db.Pool, func(tx pgx.Tx) error {
			if err := audit.Lock(t.Context(), tx); err != nil {
				return err
			}
			results, err := audit.Run(t.Context(), tx, 10, nil)
			if all, _ := audit.Count(results); all > 0 {
				t.Errorf("%d findings, want none: %+v", all, results)
			}
			if err == nil {
				_, err = audit.Repair(t.Context(), tx)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
	stop.Store(true)
	group.Wait()
	if data.Pool().Retries() > 0 {
		t.Errorf("retried writes = %d, want 0", data.Pool().Retries())
	}
}
