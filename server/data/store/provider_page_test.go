package store_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/data/store"
)

// pagesOf follows a list to its end, and calls between before each page but the first.
func pagesOf(t *testing.T, s *store.Store, page store.ProviderPage, between func()) []store.ListedProvider {
	t.Helper()
	var all []store.ListedProvider
	for pages := 0; ; pages++ {
		rows, err := s.ProviderPage(t.Context(), &page)
		if err != nil {
			t.Fatal(err)
		}
		count := 0
		for provider, err := range rows.All() {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, provider)
			count++
		}
		if err := rows.Close(); err != nil {
			t.Fatal(err)
		}
		if page.Limit > 0 && count > page.Limit || pages > 2000 {
			t.Fatalf("page %d has %d providers, want at most %d", pages, count, page.Limit)
		}
		if rows.Next == nil {
			return all
		}
		page.After = rows.Next
		between()
	}
}

// withoutParts returns the providers alone: a list without pages has no parts, not even empty ones.
func withoutParts(listed []store.ListedProvider) []store.Provider {
	providers := make([]store.Provider, 0, len(listed))
	for i := range listed {
		providers = append(providers, listed[i].Provider)
	}
	return providers
}

// pageOrders are the orders and searches of the tests.
var pageOrders = map[string]store.ProviderPage{
	"created": {Sort: "created_at"}, "newest": {Sort: "-created_at"}, "name": {Sort: "name"},
	"a search": {Sort: "name", Search: "a"}, "a search for U+10FFFF": {Sort: "name", Search: "\U0010ffff"},
	"a wildcard": {Sort: "name", Search: "a%"}, "before the surrogates": {Sort: "name", Search: "a\ud7ff"},
	"a search for UUIDs": {Sort: "name", Search: "aa000000-0000-4000-8000-00000000000"},
}

func isFound(page store.ProviderPage, provider *store.Provider) bool {
	return page.Search == "" || strings.HasPrefix(provider.Name, page.Search) || strings.HasPrefix(provider.UUID.String(), strings.ToLower(page.Search))
}

func TestProvider_PagesBetweenWrites_ListEachOnce(t *testing.T) {
	t.Parallel()
	s := setup(t, 4)
	random := rand.New(rand.NewPCG(20, 45))
	beginnings := []string{"a", "b", "a%", "a_", "\U0010ffff", "a\ud7ff", "a\ue000", "aa000000-", "A"}
	var kept []store.Provider
	create := func(id uuid.UUID) store.Provider {
		name := beginnings[random.IntN(len(beginnings))] + fmt.Sprint(random.Int64())
		made, err := s.ProviderCreate(t.Context(), id, name, nil)
		s.must(err)
		return made
	}
	for i := range 60 {
		id := uuid.New()
		if i%2 == 0 {
			id = dbtest.NumberedUUID("aa", i)
		}
		kept = append(kept, create(id))
	}
	var extra []uuid.UUID
	write := func() {
		if len(extra) > 3 {
			s.must(s.ProviderDelete(t.Context(), extra[0], nil))
			extra = extra[1:]
		}
		extra = append(extra, create(uuid.New()).UUID)
	}
	for name, page := range pageOrders {
		for _, page.Limit = range []int{0, 1, 7, 1000} {
			seen := map[uuid.UUID]int{}
			writes := 0
			between := func() {
				if writes++; writes < 40 { // oldest first, a new provider follows each page
					write()
				}
			}
			for _, provider := range pagesOf(t, s.Store, page, between) {
				seen[provider.UUID]++
			}
			for i := range kept {
				want := 0
				if isFound(page, &kept[i]) {
					want = 1
				}
				if seen[kept[i].UUID] != want {
					t.Errorf("%s, limit %d: %q %s is listed %d times, want %d", name, page.Limit, kept[i].Name, kept[i].UUID, seen[kept[i].UUID], want)
				}
			}
		}
	}
}

// TestProvider_PageWithParts_EqualsSingleReads compares the parts with those of the single requests, and the orders
// and filters of pages with the whole list.
func TestProvider_PageWithParts_EqualsSingleReads(t *testing.T) {
	t.Parallel()
	s, err := store.Open(t.Context(), postgres.Options{URL: newCloud(t).URL, MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	for name, filter := range map[string]store.ProviderFilter{
		"all": {}, "a trait": {Required: [][]string{{"CUSTOM_T7"}}}, "no trait": {Forbidden: []string{"CUSTOM_T7"}},
		"an aggregate": {MemberOf: [][]uuid.UUID{{dbtest.NumberedUUID("a9", 7)}}},
		"an amount":    {Resources: []store.Amount{{Class: "VCPU", Amount: 1000}}},
	} {
		whole := pagesOf(t, s, store.ProviderPage{Filter: filter, Sort: "created_at"}, nil)
		paged := pagesOf(t, s, store.ProviderPage{Filter: filter, Sort: "created_at", Limit: 900}, func() {})
		if len(whole) == 0 || !reflect.DeepEqual(withoutParts(whole), withoutParts(paged)) {
			t.Errorf("%s: pages list %d providers, want the %d of the whole list", name, len(paged), len(whole))
		}
		slices.Reverse(whole)
		newest := pagesOf(t, s, store.ProviderPage{Filter: filter, Sort: "-created_at", Limit: 1000}, func() {})
		if !reflect.DeepEqual(withoutParts(whole), withoutParts(newest)) {
			t.Errorf("%s: newest first differs", name)
		}
	}
	parts := store.ProviderPage{Sort: "name", Search: "host-77", HasInventories: true, HasTraits: true, HasAggregates: true}
	for _, provider := range pagesOf(t, s, parts, nil) {
		inventories, err := s.InventoryList(t.Context(), provider.UUID)
		if err != nil {
			t.Fatal(err)
		}
		for i := range inventories.Records {
			inventories.Records[i].ModifiedAt = provider.Inventories[i].ModifiedAt
		}
		if !reflect.DeepEqual(inventories.Records, provider.Inventories) {
			t.Errorf("inventories of %s = %v, want %v", provider.Name, provider.Inventories, inventories.Records)
		}
		_, aggregates, err := s.ProviderAggregateList(t.Context(), provider.UUID)
		if err != nil || !slices.Equal(aggregates, provider.Aggregates) {
			t.Errorf("aggregates of %s = %v, want %v (%v)", provider.Name, provider.Aggregates, aggregates, err)
		}
	}
}

func TestProvider_PageRanges_UseIndexes(t *testing.T) {
	t.Parallel()
	cloud := newCloud(t)
	if _, err := cloud.Pool.Exec(t.Context(), `INSERT INTO aggregates (uuid) SELECT gen_random_uuid() FROM generate_series(1, 20000); ANALYZE aggregates`); err != nil {
		t.Fatal(err)
	}
	// The order of the arguments is that of db.ProviderPageParams.
	const low, high = "'00000000-0000-0000-0000-000000000000'", "'ffffffff-ffff-ffff-ffff-ffffffffffff'"
	page := func(lead, sort, prefix string, changes map[int]string) []string {
		arguments := []string{"true", "true", "100", "false", "true", "10000", "'" + lead + "'", "NULL", "NULL", "NULL", "'{}'", "'{}'", "'[]'", "'[]'",
			"'" + sort + "'", "'host-5'", "'host-6'", "100", "0", "10000", "'" + prefix + "'", low, high, "'{}'", "'{}'"}
		for place, value := range changes {
			arguments[place] = value
		}
		return arguments
	}
	for name, c := range map[string]struct {
		arguments []string
		index     string
	}{
		"created":   {page("range", "created_at", "", nil), "resource_providers_pkey"},
		"newest":    {page("range", "-created_at", "", nil), "resource_providers_pkey"},
		"name":      {page("range", "name", "", nil), "resource_providers_name_key"},
		"search":    {page("range", "name", "a", map[int]string{16: "'host-5'"}), "resource_providers_uuid_key"},
		"uuid":      {page("uuid", "name", "", map[int]string{7: high}), "resource_providers_uuid_key"},
		"in_tree":   {page("in_tree", "name", "", map[int]string{9: high}), "resource_providers_root_id_idx"},
		"member_of": {page("member_of", "name", "", map[int]string{12: "'[[7]]'"}), "provider_aggregates_aggregate_id_idx"},
		"required":  {page("required", "name", "", map[int]string{13: "'[[7]]'"}), "provider_traits_trait_id_idx"},
		"resources": {page("resources", "name", "", map[int]string{10: "'{0}'", 11: "'{1005}'"}), "inventories_class_id_free_idx"},
	} {
		for _, mode := range []string{"force_generic_plan", "force_custom_plan"} {
			checkIndexes(t, cloud, name+" with "+mode, mode, db.ProviderPage, c.arguments, c.index)
		}
	}
	for lead, index := range map[string]string{
		"range": "aggregates_pkey", "uuid": "aggregates_uuid_key", "resource_provider": "resource_providers_uuid_key",
	} {
		for _, mode := range []string{"force_generic_plan", "force_custom_plan"} {
			for _, descending := range []string{"true", "false"} {
				checkIndexes(t, cloud, lead+" of aggregates with "+mode, mode, db.AggregateList,
					[]string{descending, "'" + lead + "'", "0", "1000", "100", "'{" + uuid.Nil.String() + "}'", low}, index)
			}
		}
	}
}

// checkIndexes reports an error unless a plan uses an index and scans no table but that of the resource classes.
func checkIndexes(t *testing.T, cloud *dbtest.DB, name, mode, query string, arguments []string, index string) {
	t.Helper()
	conn, err := cloud.Pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	indexes := map[string]bool{}
	dbtest.Explain(t, conn.Conn(), mode, query, arguments...).Walk(func(n *dbtest.PlanNode) {
		if n.Index != "" {
			indexes[n.Index] = true
		}
		if n.Type == "Seq Scan" && n.Relation != "resource_classes" {
			t.Errorf("%s: sequential scan of %s", name, n.Relation)
		}
	})
	if !indexes[index] {
		t.Errorf("%s: indexes = %v, want %s", name, slices.Sorted(maps.Keys(indexes)), index)
	}
}
