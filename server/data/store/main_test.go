package store_test

import (
	"flag"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/internal/test/storetest"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/data/store"
)

func TestMain(m *testing.M) {
	// A failure needs few steps. Flags on the command line take precedence, because they are parsed later.
	if err := flag.Set("rapid.steps", "12"); err != nil {
		slog.Error("rapid's flags", "error", err)
		os.Exit(1)
	}
	storetest.Main(m)
}

// bundle is a store on its own database, which is audited at the end of the test.
type bundle struct {
	*store.Store
	t  testing.TB
	db *dbtest.DB
}

// setup opens a store with this many connections.
func setup(t testing.TB, connections int32) *bundle {
	t.Helper()
	db := dbtest.NewWithInvariantTriggers(t)
	opened, err := store.Open(t.Context(), postgres.Options{URL: db.URL, MaxConns: connections})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(opened.Close)
	return &bundle{Store: opened, t: t, db: db}
}

// recorded turns on the record of changes, which at the end of the test must lead to the database.
func recorded(t testing.TB, b *bundle) *bundle {
	t.Helper()
	dbtest.Record(t, b.db)
	_, err := b.HistoryState(t.Context())
	b.must(err)
	return b
}

// must fails the test for an unexpected error.
func (b *bundle) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// named returns a UUID derived from a name. The UUIDs have the order of the first letters of the names: a name begins
// with a hexadecimal digit.
func named(name string) uuid.UUID {
	sum := uuid.NewSHA1(uuid.NameSpaceOID, []byte(name))
	digit := strings.IndexByte("0123456789abcdef", name[0])
	sum[0] = byte(digit<<4) | sum[0]&0xf
	return sum
}

// provider creates a provider with these totals of each class.
func (b *bundle) provider(name string, parent *uuid.UUID, totals map[string]int32) uuid.UUID {
	b.t.Helper()
	id := named(name)
	_, err := b.ProviderCreate(b.t.Context(), id, name, parent)
	b.must(err)
	if totals != nil {
		_, err = b.InventoryReplace(b.t.Context(), id, 0, inventories(totals), 1)
		b.must(err)
	}
	return id
}

// inventory returns an inventory with default values.
func inventory(class string, total int32) store.Inventory {
	return store.Inventory{
		Class: class, Total: total, MinUnit: 1, MaxUnit: 1<<31 - 1, StepSize: 1, AllocationRatio: 1,
	}
}

func inventories(totals map[string]int32) []store.Inventory {
	var records []store.Inventory
	for class, total := range totals {
		records = append(records, inventory(class, total))
	}
	slices.SortFunc(records, func(a, b store.Inventory) int { return strings.Compare(a.Class, b.Class) })
	return records
}

// at returns a generation as a client sends it.
func at(generation int64) *int64 { return &generation }

// claim is a claim of one consumer for VCPU of one provider.
func claim(consumer string, generation *int64, provider uuid.UUID, amount int64) store.Claim {
	made := store.Claim{
		Consumer: named(consumer), ProjectID: "project", UserID: "user", Type: "INSTANCE", Generation: generation,
	}
	if amount > 0 {
		made.Allocations = []store.Allocation{{Provider: provider, Class: "VCPU", Amount: amount}}
	}
	return made
}

// generation returns a provider's generation.
func (b *bundle) generation(provider uuid.UUID) int64 {
	b.t.Helper()
	shown, err := b.ProviderShow(b.t.Context(), provider)
	b.must(err)
	return shown.Generation
}

// used returns the used amount of a provider's VCPU.
func (b *bundle) used(provider uuid.UUID) int64 {
	b.t.Helper()
	found, err := b.InventoryList(b.t.Context(), provider)
	b.must(err)
	for _, record := range found.Records {
		if record.Class == "VCPU" {
			return record.Used
		}
	}
	return 0
}

// outcome returns the rule that an error violates; empty for success. It returns the text of any other error, which no
// test expects.
func outcome(err error) store.Rule {
	if err == nil {
		return ""
	}
	if refused := store.AsRuleViolation(err); refused != nil {
		return refused.Rule
	}
	return store.Rule(err.Error())
}
