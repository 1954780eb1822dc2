package leases_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/internal/test/storetest"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/observe/auditlog"
	"github.com/berthd/berth/server/work/leases"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// safeBuffer is a buffer for the log of several goroutines.
type safeBuffer struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

func (b *safeBuffer) Write(line []byte) (int, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.text.Write(line)
}

func (b *safeBuffer) String() string {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.text.String()
}

var (
	consumer = uuid.MustParse("1d5ecafe-0000-4000-8000-000000000001")
	kept     = uuid.MustParse("1d5ecafe-0000-4000-8000-000000000002")
	host     = uuid.MustParse("c0ffee00-0000-4000-8000-000000000001")
)

// opened is a store with two consumers, of which one has expired.
func opened(t *testing.T) (*store.Store, *dbtest.DB) {
	t.Helper()
	db := dbtest.NewWithInvariantTriggers(t)
	data, err := store.Open(t.Context(), postgres.Options{URL: db.URL, MaxConns: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(data.Close)
	if _, err := data.ProviderCreate(t.Context(), host, "gpu-1", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := data.InventoryReplace(t.Context(), host, 0, []store.Inventory{
		{Class: "VGPU", Total: 8, MinUnit: 1, MaxUnit: 8, StepSize: 1, AllocationRatio: 1},
	}, 1); err != nil {
		t.Fatal(err)
	}
	for _, id := range []uuid.UUID{consumer, kept} {
		if err := data.AllocationReplace(t.Context(), []store.Claim{{
			Consumer: id, ProjectID: "p", UserID: "u", Type: "JOB", Lease: &store.LeaseTerms{Seconds: new(int32(3600))},
			Allocations: []store.Allocation{{Provider: host, Class: "VGPU", Amount: 2}},
		}}, true); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := db.Pool.Exec(t.Context(), `UPDATE leases SET expires_at = now() - interval '1 minute', due = now() - interval '1 minute'
		WHERE consumer_id = (SELECT id FROM consumers WHERE uuid = $1)`, consumer); err != nil {
		t.Fatal(err)
	}
	return data, db
}

// await waits until the store has so many leases.
func await(t *testing.T, data *store.Store, want int64) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if count, _, err := data.LeaseCount(t.Context()); err == nil && count == want {
			return
		}
	}
	t.Fatalf("there are not %d leases after 20 seconds", want)
}

func closeBounded(t *testing.T, remover *leases.Remover) {
	t.Helper()
	bounded, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	remover.Close(bounded)
	remover.Close(bounded)
	if bounded.Err() != nil {
		t.Error("the remover did not end")
	}
}

// gather returns the values of metrics; of histograms their sums.
func gather(t *testing.T, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, family := range families {
		metric := family.GetMetric()[0]
		values[family.GetName()] = metric.GetCounter().GetValue() + metric.GetHistogram().GetSampleSum() + metric.GetGauge().GetValue()
	}
	return values
}

func TestLease_Removal_HasLogAuditLineAndMetrics(t *testing.T) {
	t.Parallel()
	data, _ := opened(t)
	path, text := filepath.Join(t.TempDir(), "audit.log"), &safeBuffer{}
	audit, err := auditlog.Open(auditlog.Options{Path: path, Required: true, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	remover := leases.New(leases.Options{Store: data, Log: slog.New(slog.NewTextHandler(text, nil)), Audit: audit, Interval: 20 * time.Millisecond})
	registry := prometheus.NewRegistry()
	registry.MustRegister(remover.Collectors()...)
	remover.Start()
	await(t, data, 1)
	values := gather(t, registry)
	for deadline := time.Now().Add(20 * time.Second); values["berth_leases"]+values["berth_leases_expired_total"] != 2 && time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		values = gather(t, registry)
	}
	closeBounded(t, remover)
	if err := audit.Close(t.Context()); err != nil {
		t.Log(err)
	}
	for _, part := range []string{
		`msg="removed a consumer whose lease has expired"`, "consumer=" + consumer.String(), "project=p", "type=JOB", `allocations="2 VGPU on ` + host.String(),
	} {
		if !strings.Contains(text.String(), part) {
			t.Errorf("the log has no %s:\n%s", part, text)
		}
	}
	lines, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	found := strings.Split(strings.TrimSpace(string(lines)), "\n")
	if len(found) != 2 || !strings.Contains(found[0], `"phase":"begin","process":"lease"}`) ||
		!strings.Contains(found[1], `"phase":"end","process":"lease","outcome":"success","project_id":"p","user_id":"u","consumer_type":"JOB","expires_at":"`) ||
		!strings.Contains(found[1], `"consumers":[{"uuid":"`+consumer.String()+`","before":1,"removed":true}]`) {
		t.Errorf("audit lines:\n%s", lines)
	}
	if values["berth_leases_expired_total"] != 1 || values["berth_lease_removal_delay_seconds"] < 60 || values["berth_leases"] != 1 || values["berth_lease_overdue_seconds"] != 0 {
		t.Errorf("metrics = %v", values)
	}
}

// TestLease_RequiredAuditLogFails_NothingRemoved: the disk of the audit log is full.
func TestLease_RequiredAuditLogFails_NothingRemoved(t *testing.T) {
	t.Parallel()
	data, _ := opened(t)
	audit, err := auditlog.Open(auditlog.Options{Path: "/dev/full", Required: true, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Skip("this system has no /dev/full")
	}
	text := &safeBuffer{}
	remover := leases.New(leases.Options{Store: data, Log: slog.New(slog.NewTextHandler(text, nil)), Audit: audit, Interval: 10 * time.Millisecond})
	remover.Start()
	for deadline := time.Now().Add(20 * time.Second); !strings.Contains(text.String(), "cannot remove consumers"); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("no failure is logged:\n%s", text)
		}
	}
	closeBounded(t, remover)
	if err := audit.Close(t.Context()); err != nil {
		t.Log(err)
	}
	await(t, data, 2)
}

// TestLease_SeveralRemovers_ShareTheRemovals: three servers remove 300 consumers, each once.
func TestLease_SeveralRemovers_ShareTheRemovals(t *testing.T) {
	t.Parallel()
	data, db := opened(t)
	if _, err := db.Pool.Exec(t.Context(), `UPDATE inventories SET total = 1000, max_unit = 1000`); err != nil {
		t.Fatal(err)
	}
	for range 298 {
		if err := data.AllocationReplace(t.Context(), []store.Claim{{
			Consumer: uuid.New(), ProjectID: "p", UserID: "u", Type: "JOB", Lease: &store.LeaseTerms{Seconds: new(int32(3600))},
			Allocations: []store.Allocation{{Provider: host, Class: "VGPU", Amount: 1}},
		}}, true); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := db.Pool.Exec(t.Context(), `UPDATE leases SET expires_at = now() - interval '1 minute', due = now() - interval '1 minute'`); err != nil {
		t.Fatal(err)
	}
	text, removers := &safeBuffer{}, []*leases.Remover{}
	for range 3 {
		remover := leases.New(leases.Options{Store: data, Log: slog.New(slog.NewTextHandler(text, nil)), Interval: 20 * time.Millisecond})
		remover.Start()
		removers = append(removers, remover)
	}
	await(t, data, 0)
	for _, remover := range removers {
		closeBounded(t, remover)
	}
	if count := strings.Count(text.String(), "removed a consumer"); count != 300 {
		t.Errorf("%d removals are logged, want 300", count)
	}
}
