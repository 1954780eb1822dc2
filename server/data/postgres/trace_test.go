package postgres

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/berthd/berth/gen/db"
)

func TestTracing_Statement_NamedAfterQuery(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		db.AllocationReplace:                              "AllocationReplace",
		db.CandidatePageGeneral:                           "CandidatePageGeneral",
		"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY": "BEGIN",
		"COMMIT":                        "COMMIT",
		"rollback;":                     "ROLLBACK",
		"-- ping":                       "PING",
		"-- name: ":                     "NAME",
		"LISTEN \"berth_node_pending\"": "LISTEN",
		"\n\tselect 1":                  "SELECT",
		"":                              "SQL",
		"'secret' is not a word":        "SQL",
		"aVeryLongWordThatIsSurelyNoneOfTheWordsOfSQLAndMayBeAValue": "SQL",
	} {
		if got := QueryName(text); got != want {
			t.Errorf("name of %q = %q, want %q", text, got, want)
		}
	}
}

func FuzzQueryName(f *testing.F) {
	for _, text := range []string{db.UsageList, "BEGIN", "-- name: X :one", "-- name: \x00", "ſelect"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if name := QueryName(text); name == "" {
			t.Errorf("%q has no name", text)
		}
	})
}

// TestTracing_StatementTracerOff_NoHeapAllocations: the driver calls these for every statement.
func TestTracing_StatementTracerOff_NoHeapAllocations(t *testing.T) {
	off := &tracer{watch: newStatementTracer(Options{})}
	ctx, _ := CountRoundTrips(context.Background())
	if allocations := testing.AllocsPerRun(100, func() { runTraced(ctx, off) }); allocations != 0 {
		t.Errorf("allocations = %v, want 0", allocations)
	}
}

func runTraced(ctx context.Context, t *tracer) {
	traced := t.TraceQueryStart(ctx, nil, pgx.TraceQueryStartData{SQL: db.ProviderShow})
	t.TraceQueryEnd(traced, nil, pgx.TraceQueryEndData{CommandTag: pgconn.CommandTag{}})
}

func BenchmarkTracer(b *testing.B) {
	ctx, _ := CountRoundTrips(context.Background())
	for name, options := range map[string]Options{"off": {}, "slow": {SlowQuery: 1 << 40}} {
		traced := &tracer{watch: newStatementTracer(options)}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				runTraced(ctx, traced)
			}
		})
	}
}
