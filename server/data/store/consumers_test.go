package store_test

import (
	"bytes"
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"pgregory.net/rapid"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/data/store"
)

// consumerWorld has 4 trees of 3 providers with random traits, and 80 consumers with random owners, types, times and
// allocations. The ids of some consumers and providers are missing.
const consumerWorld = `
SELECT setseed(0.42);
INSERT INTO resource_classes (id, name) VALUES (0, 'VCPU'), (1, 'MEMORY_MB'), (2, 'DISK_GB') ON CONFLICT DO NOTHING;
INSERT INTO traits (name) SELECT 'CUSTOM_T' || n FROM generate_series(1, 3) AS n;
INSERT INTO resource_providers (id, uuid, name, root_id, parent_id) OVERRIDING SYSTEM VALUE
SELECT n, ('aa000000-0000-4000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 'host-' || n,
    n - (n - 1) % 3, CASE WHEN (n - 1) % 3 > 0 THEN n - (n - 1) % 3 END
FROM generate_series(1, 12) AS n;
INSERT INTO provider_generations (provider_id, generation) SELECT id, id + 7 FROM resource_providers;
INSERT INTO inventories (provider_id, class_id, root_id, total, reserved, min_unit, max_unit, step_size, allocation_ratio)
SELECT provider.id, class.id, provider.root_id, 1000, 0, 1, 1000, 1, 1 FROM resource_providers AS provider, resource_classes AS class WHERE class.id < 3;
INSERT INTO provider_traits SELECT provider.id, trait.id FROM resource_providers AS provider, traits AS trait
WHERE trait.name LIKE 'CUSTOM_T_' AND random() < 0.4;
INSERT INTO projects (external_id) SELECT 'project-' || n FROM generate_series(1, 3) AS n;
INSERT INTO users (external_id) SELECT 'user-' || n FROM generate_series(1, 3) AS n;
INSERT INTO consumer_types (name) VALUES ('INSTANCE'), ('MIGRATION');
INSERT INTO consumers (id, uuid, generation, project_id, user_id, consumer_type_id, created_at, updated_at) OVERRIDING SYSTEM VALUE
SELECT n * 3, (to_hex((random() * 15)::int) || substr(md5(n::text), 2))::uuid, n, 1 + (random() * 2)::int, 1 + (random() * 2)::int,
    nullif((random() * 2)::int, 0), '2026-01-01Z'::timestamptz + n * interval '1 hour',
    CASE WHEN random() < 0.5 THEN '2026-01-03Z'::timestamptz + n * interval '1 hour' END
FROM generate_series(1, 80) AS n;
INSERT INTO allocations (consumer_id, provider_id, class_id, used)
SELECT DISTINCT ON (consumer.id, provider, class) consumer.id, provider, class, 1 + n
FROM consumers AS consumer, generate_series(1, 3) AS n,
    LATERAL (SELECT 1 + (random() * 11)::int AS provider, (random() * 2)::int AS class, consumer.id + n) AS drawn;
UPDATE inventories SET used = (SELECT coalesce(sum(used), 0) FROM allocations WHERE allocations.provider_id = inventories.provider_id
    AND allocations.class_id = inventories.class_id);
UPDATE consumers SET leased = true WHERE random() < 0.5;
INSERT INTO leases (consumer_id, seconds, until, expires_at, due)
SELECT consumer.id, 60, CASE WHEN random() < 0.5 THEN drawn.at END, drawn.at, drawn.at - (random() * 3)::int * interval '1 hour'
FROM consumers AS consumer, LATERAL (SELECT '2040-01-01Z'::timestamptz + ((random() * 20)::int + 0 * consumer.id) * interval '1 hour' AS at) AS drawn
WHERE consumer.leased;
ANALYZE;`

// listedConsumer is a consumer as plain queries read it.
type listedConsumer struct {
	id          int64
	record      store.ConsumerRecord
	allocations []listedAllocation
}

type listedAllocation struct {
	provider, root uuid.UUID
	class          string
	traits         []string
}

// passes is the model of the filter.
func (m *listedConsumer) passes(f *store.ConsumerFilter) bool {
	r := &m.record
	kind := "unknown"
	if r.Type != nil {
		kind = *r.Type
	}
	return (f.UUIDs == nil || slices.Contains(f.UUIDs, r.UUID)) &&
		(f.ProjectID == nil || *f.ProjectID == r.ProjectID) &&
		(f.UserID == nil || *f.UserID == r.UserID) &&
		(f.Type == nil || *f.Type == kind) &&
		(f.CreatedBefore == nil || r.CreatedAt.Before(*f.CreatedBefore)) &&
		(f.CreatedAfter == nil || !r.CreatedAt.Before(*f.CreatedAfter)) &&
		(f.UpdatedBefore == nil || r.UpdatedAt.Before(*f.UpdatedBefore)) &&
		(f.UpdatedAfter == nil || !r.UpdatedAt.Before(*f.UpdatedAfter)) &&
		(f.Leased == nil || *f.Leased == (r.Lease != nil)) &&
		(f.ExpiresBefore == nil || r.Lease != nil && r.Lease.ExpiresAt.Before(*f.ExpiresBefore)) &&
		(f.UntilBefore == nil || r.Lease != nil && r.Lease.Until != nil && r.Lease.Until.Before(*f.UntilBefore)) &&
		(f.Search == nil || bytes.Compare(r.UUID[:], f.Search.Low[:]) >= 0 && bytes.Compare(r.UUID[:], f.Search.High[:]) <= 0) &&
		(f.Providers == nil && f.InTree == nil && f.Classes == nil && f.Trait == nil ||
			slices.ContainsFunc(m.allocations, func(a listedAllocation) bool { return a.passes(f) }))
}

func (a *listedAllocation) passes(f *store.ConsumerFilter) bool {
	// Providers of the test have numbers; three of a tree follow its root.
	inTree := func() bool {
		return f.InTree[15] > 0 && f.InTree[15] <= 12 && a.root[15] == f.InTree[15]-(f.InTree[15]-1)%3
	}
	return (f.Providers == nil || slices.Contains(f.Providers, a.provider)) &&
		(f.InTree == nil || inTree()) &&
		(f.Classes == nil || slices.Contains(f.Classes, a.class)) &&
		(f.Trait == nil || slices.Contains(a.traits, *f.Trait))
}

// readModel reads all consumers with plain queries.
func readModel(t *testing.T, pool *pgxpool.Pool) []listedConsumer {
	t.Helper()
	rows, err := pool.Query(t.Context(), `
		SELECT consumer.id, consumer.uuid, project.external_id, owner.external_id, type.name, consumer.created_at,
			coalesce(consumer.updated_at, consumer.created_at), provider.uuid, root.uuid, class.name, lease.expires_at, lease.until,
			ARRAY(SELECT trait.name FROM traits AS trait JOIN provider_traits AS had ON had.trait_id = trait.id WHERE had.provider_id = provider.id)
		FROM consumers AS consumer
		JOIN projects AS project ON project.id = project_id JOIN users AS owner ON owner.id = user_id
		LEFT JOIN consumer_types AS type ON type.id = consumer_type_id
		LEFT JOIN leases AS lease ON lease.consumer_id = consumer.id
		JOIN allocations AS allocation ON allocation.consumer_id = consumer.id
		JOIN resource_providers AS provider ON provider.id = allocation.provider_id
		JOIN resource_providers AS root ON root.id = provider.root_id
		JOIN resource_classes AS class ON class.id = class_id
		ORDER BY consumer.id`)
	if err != nil {
		t.Fatal(err)
	}
	var all []listedConsumer
	var one listedConsumer
	var held listedAllocation
	var expiresAt, until *time.Time
	_, err = pgx.ForEachRow(rows, []any{&one.id, &one.record.UUID, &one.record.ProjectID, &one.record.UserID, &one.record.Type,
		&one.record.CreatedAt, &one.record.UpdatedAt, &held.provider, &held.root, &held.class, &expiresAt, &until, &held.traits}, func() error {
		one.record.Lease = nil
		if expiresAt != nil {
			one.record.Lease = &store.Lease{ExpiresAt: *expiresAt, Until: until}
		}
		if len(all) == 0 || all[len(all)-1].id != one.id {
			all = append(all, one)
		}
		last := &all[len(all)-1]
		last.allocations = append(last.allocations, held)
		held.traits, one.record.Type, expiresAt, until = nil, nil, nil, nil
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// drawFilter draws a filter of which each part is often missing. It sometimes has an unknown name.
func drawFilter(t *rapid.T, all []listedConsumer) *store.ConsumerFilter {
	f := &store.ConsumerFilter{}
	one := func(label string, from ...string) *string {
		if rapid.IntRange(0, 3).Draw(t, label) > 0 {
			return nil
		}
		return new(rapid.SampledFrom(from).Draw(t, label))
	}
	f.ProjectID = one("project", "project-1", "project-2", "project-3", "none")
	f.UserID = one("user", "user-1", "user-2", "user-3", "none")
	f.Type = one("type", "INSTANCE", "MIGRATION", "unknown", "NONE")
	f.Trait = one("trait", "CUSTOM_T1", "CUSTOM_T2", "CUSTOM_T3", "CUSTOM_NONE")
	if class := one("class", "VCPU", "MEMORY_MB", "DISK_GB", "CUSTOM_NONE"); class != nil {
		f.Classes = []string{*class, rapid.SampledFrom([]string{"VCPU", "CUSTOM_NONE"}).Draw(t, "second class")}
	}
	number := func() uuid.UUID { return dbtest.NumberedUUID("aa", rapid.IntRange(1, 13).Draw(t, "provider")) }
	if one("providers", "") != nil {
		f.Providers = []uuid.UUID{number(), number()}
	}
	if one("tree", "") != nil {
		f.InTree = new(number())
	}
	if one("uuids", "") != nil {
		for range rapid.IntRange(1, 30).Draw(t, "uuids") {
			f.UUIDs = append(f.UUIDs, rapid.SampledFrom(all).Draw(t, "consumer").record.UUID)
		}
	}
	for _, at := range []**time.Time{&f.CreatedBefore, &f.CreatedAfter, &f.UpdatedBefore, &f.UpdatedAfter} {
		if rapid.IntRange(0, 7).Draw(t, "time") == 0 {
			*at = new(rapid.SampledFrom(all).Draw(t, "consumer").record.UpdatedAt)
		}
	}
	if leased := one("leased", "true", "false"); leased != nil {
		f.Leased = new(*leased == "true")
	}
	for _, at := range []**time.Time{&f.ExpiresBefore, &f.UntilBefore} {
		if rapid.IntRange(0, 7).Draw(t, "end of leases") == 0 {
			*at = new(time.Date(2040, 1, 1, rapid.IntRange(0, 21).Draw(t, "hour"), 0, 0, 0, time.UTC))
		}
	}
	if one("search", "") != nil {
		f.Search = &store.UUIDRange{Low: uuid.UUID{byte(rapid.IntRange(0, 200).Draw(t, "low"))}, High: uuid.UUID{byte(rapid.IntRange(0, 255).Draw(t, "high")), 255}}
	}
	return f
}

// TestUsage_ConsumerFilters_EqualModel compares random filters, in pages of random sizes and each order, with a model that
// filters in Go.
func TestUsage_ConsumerFilters_EqualModel(t *testing.T) {
	t.Parallel()
	b := setup(t, 2)
	if _, err := b.db.Pool.Exec(t.Context(), consumerWorld); err != nil {
		t.Fatal(err)
	}
	all := readModel(t, b.db.Pool)
	rapid.Check(t, func(t *rapid.T) {
		filter := drawFilter(t, all)
		page := store.ConsumerPage{Limit: rapid.IntRange(1, 90).Draw(t, "limit"), Descending: rapid.Bool().Draw(t, "descending")}
		if filter.Search == nil && rapid.IntRange(0, 2).Draw(t, "by expiry") == 0 {
			filter.Leased, page.Descending, page.ByExpiry = new(true), false, true
		}
		var want []uuid.UUID
		for i := range all {
			if all[i].passes(filter) {
				want = append(want, all[i].record.UUID)
			}
		}
		switch {
		case filter.Search != nil:
			slices.SortFunc(want, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
		case page.Descending:
			slices.Reverse(want)
		case page.ByExpiry:
			slices.SortStableFunc(want, func(a, b uuid.UUID) int { return expiry(all, a).Compare(expiry(all, b)) })
		}
		got, err := allPages(context.Background(), b.Store, filter, page, nil)
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("consumers = %v, %v, want %v", got, err, want)
		}
		count, exact, err := b.ConsumerCount(context.Background(), filter, 10_000)
		if err != nil || count != len(want) || !exact {
			t.Fatalf("count = %d, %t, %v, want %d", count, exact, err, len(want))
		}
	})
}

// expiry returns when a consumer expires.
func expiry(all []listedConsumer, id uuid.UUID) time.Time {
	found := slices.IndexFunc(all, func(one listedConsumer) bool { return one.record.UUID == id })
	return all[found].record.Lease.ExpiresAt
}

// allPages follows the places of pages. It calls between after each page.
func allPages(ctx context.Context, s *store.Store, filter *store.ConsumerFilter, page store.ConsumerPage, between func()) (ids []uuid.UUID, err error) {
	for {
		found, next, err := s.ConsumerList(ctx, filter, &page)
		if err != nil {
			return nil, err
		}
		for i := range found {
			ids = append(ids, found[i].UUID)
		}
		if next == nil {
			return ids, nil
		}
		page.From = next
		if between != nil {
			between()
		}
	}
}

// TestUsage_ConsumerPageWithRareFilter_EndsAfter5000 pages through a cloud of 10,000 consumers, of which one passes.
func TestUsage_ConsumerPageWithRareFilter_EndsAfter5000(t *testing.T) {
	t.Parallel()
	cloud := newCloud(t)
	if _, err := cloud.Pool.Exec(t.Context(), `INSERT INTO consumer_types (name) VALUES ('MIGRATION');
		UPDATE consumers SET consumer_type_id = (SELECT id FROM consumer_types WHERE name = 'MIGRATION') WHERE id = 7001`); err != nil {
		t.Fatal(err)
	}
	opened, err := store.Open(t.Context(), postgres.Options{URL: cloud.URL, MaxConns: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	kind := "MIGRATION"
	filter, page := store.ConsumerFilter{Type: &kind}, store.ConsumerPage{Limit: 100}
	found, next, err := opened.ConsumerList(t.Context(), &filter, &page)
	if err != nil || len(found) != 0 || next == nil || next.ID != 5001 {
		t.Fatalf("first page = %v, %v, %v", found, next, err)
	}
	page.From = next
	found, next, err = opened.ConsumerList(t.Context(), &filter, &page)
	if err != nil || len(found) != 1 || found[0].UUID != dbtest.NumberedUUID("cc", 7001) || next != nil {
		t.Fatalf("second page = %v, %v, %v", found, next, err)
	}
	for name, c := range map[string]struct {
		filter store.ConsumerFilter
		want   int
	}{"all": {store.ConsumerFilter{}, 10_000}, "of the type": {filter, 1}} {
		if count, exact, err := opened.ConsumerCount(t.Context(), &c.filter, 10_000); err != nil || count != c.want || !exact {
			t.Errorf("%s: count = %d, %t, %v, want %d", name, count, exact, err, c.want)
		}
	}
	if _, err := cloud.Pool.Exec(t.Context(), crowd); err != nil {
		t.Fatal(err)
	}
	anywhere := store.UUIDRange{High: uuid.Max}
	for name, c := range map[string]struct {
		filter store.ConsumerFilter
		want   int
	}{"all": {store.ConsumerFilter{}, 10_000}, "search": {store.ConsumerFilter{Search: &anywhere}, 10_000}, "of the type": {filter, 1}} {
		if count, exact, err := opened.ConsumerCount(t.Context(), &c.filter, 10_000); err != nil || count != c.want || exact {
			t.Errorf("of 20,500, %s: count = %d, %t, %v, want %d that are not exact", name, count, exact, err, c.want)
		}
	}
}
