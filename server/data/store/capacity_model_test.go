package store_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/data/store"
)

// capacityRow is an inventory of the model, with what its provider and the root of its tree have together.
type capacityRow struct {
	provider, root                    int
	class                             string
	total, reserved, minUnit, maxUnit int64
	step, used                        int64
	ratio                             float64
	traits, aggregates                map[int]bool
}

var capacityClasses = []string{"VCPU", "MEMORY_MB", "DISK_GB"}

// capacityCloud fills a database with random trees: numbers of providers are their ids, and end their names.
func capacityCloud(t *testing.T, db *dbtest.DB, random *rand.Rand) (rows []capacityRow) {
	t.Helper()
	exec := func(sql string, arguments ...any) {
		t.Helper()
		if _, err := db.Pool.Exec(t.Context(), sql, arguments...); err != nil {
			t.Fatal(err)
		}
	}
	exec(`INSERT INTO resource_classes (id, name) VALUES (0, 'VCPU'), (1, 'MEMORY_MB'), (2, 'DISK_GB') ON CONFLICT DO NOTHING`)
	exec(`INSERT INTO traits (id, name) OVERRIDING SYSTEM VALUE SELECT 5000 + n, 'CUSTOM_T' || n FROM generate_series(1, 3) AS n`)
	exec(`INSERT INTO aggregates (id, uuid) OVERRIDING SYSTEM VALUE
		SELECT 5000 + n, ('a9000000-0000-4000-8000-' || lpad(to_hex(n), 12, '0'))::uuid FROM generate_series(1, 3) AS n`)
	root := 0
	var rootTraits, rootAggregates []int
	some := func() []int {
		var chosen []int
		for n := 1; n <= 3; n++ {
			if random.IntN(3) == 0 {
				chosen = append(chosen, n)
			}
		}
		return chosen
	}
	for provider := 1; provider <= 120; provider++ {
		traits, aggregates := some(), some()
		if provider == 1 || random.IntN(3) == 0 {
			root, rootTraits, rootAggregates = provider, traits, aggregates
		}
		exec(`INSERT INTO resource_providers (id, uuid, name, root_id, parent_id, trait_ids, aggregate_ids) OVERRIDING SYSTEM VALUE
			SELECT $1::bigint, $2, 'p-' || $1::bigint, $3::bigint, NULLIF($3::bigint, $1::bigint),
				ARRAY(SELECT 5000 + unnest($4::int[])), ARRAY(SELECT 5000 + unnest($5::int[]))`,
			provider, dbtest.NumberedUUID("aa", provider), root, traits, aggregates)
		exec(`INSERT INTO provider_generations (provider_id) VALUES ($1)`, provider)
		exec(`INSERT INTO provider_traits (provider_id, trait_id, root_id) SELECT $1, 5000 + unnest($2::int[]), $3`, provider, traits, root)
		exec(`INSERT INTO provider_aggregates (provider_id, aggregate_id, root_id) SELECT $1, 5000 + unnest($2::int[]), $3`, provider, aggregates, root)
		for id, class := range capacityClasses {
			if random.IntN(4) == 0 {
				continue
			}
			row := capacityRow{
				provider: provider, root: root, class: class, total: 1 + random.Int64N(1000), reserved: random.Int64N(200),
				minUnit: 1, maxUnit: math.MaxInt32, step: 1, used: random.Int64N(600), ratio: []float64{1, 1, 1.5, 0.7, 16}[random.IntN(5)],
				traits: map[int]bool{}, aggregates: map[int]bool{},
			}
			switch random.IntN(6) {
			case 0:
				row.maxUnit = 1
			case 1:
				row.minUnit, row.step = 1+random.Int64N(300), 1+random.Int64N(8)
			case 2:
				if class == "DISK_GB" { // sums of the others stay exact
					row.ratio = 1e38
				}
			case 3:
				row.reserved = row.total + random.Int64N(3)
			}
			for _, n := range slices.Concat(traits, rootTraits) {
				row.traits[n] = true
			}
			for _, n := range slices.Concat(aggregates, rootAggregates) {
				row.aggregates[n] = true
			}
			exec(`INSERT INTO inventories (provider_id, class_id, root_id, total, reserved, min_unit, max_unit, step_size, allocation_ratio, used)
				VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
				provider, id, root, row.total, row.reserved, row.minUnit, row.maxUnit, row.step, row.ratio, row.used)
			rows = append(rows, row)
		}
	}
	return rows
}

// modelCapacity sums the rows of one group.
func modelCapacity(rows []capacityRow, units map[string]int64) (sums []store.ClassCapacity) {
	for _, class := range capacityClasses {
		made := store.ClassCapacity{Class: class}
		sizes := map[int]store.CapacitySize{}
		unit, hasUnit := units[class]
		for i := range rows {
			row := &rows[i]
			if row.class != class {
				continue
			}
			capacity := math.Trunc(float64(row.total-row.reserved) * row.ratio)
			free := max(capacity-float64(row.used), 0)
			made.Providers++
			made.Total += row.total
			made.Reserved += row.reserved
			made.Capacity += capacity
			made.Used += float64(row.used)
			made.Free += free
			made.OverCapacity += max(float64(row.used)-capacity, 0)
			if largest := int64(min(free, float64(row.maxUnit))); largest > made.Largest {
				made.Largest, made.LargestAt = largest, &store.ProviderName{UUID: dbtest.NumberedUUID("aa", row.provider), Name: fmt.Sprintf("p-%d", row.provider)}
			}
			if free < float64(row.minUnit) {
				made.Full++
			}
			if free > 0 {
				_, digits := math.Frexp(free)
				sizes[digits] = store.CapacitySize{Digits: digits, Providers: sizes[digits].Providers + 1, Free: sizes[digits].Free + free}
			}
			if hasUnit && unit >= row.minUnit && unit <= row.maxUnit && unit%row.step == 0 {
				made.Units += math.Floor(free / float64(unit))
			}
		}
		if made.Providers == 0 {
			continue
		}
		if hasUnit {
			made.Unit = &unit
		}
		for _, size := range sizes {
			made.Sizes = append(made.Sizes, size)
		}
		slices.SortFunc(made.Sizes, func(a, b store.CapacitySize) int { return cmp.Compare(a.Digits, b.Digits) })
		sums = append(sums, made)
	}
	return sums
}

// rounded returns sums with amounts above 1e15 rounded, because their last digits depend on the order of the terms.
func rounded(sums []store.ClassCapacity) []store.ClassCapacity {
	round := func(amount *float64) {
		if math.Abs(*amount) > 1e15 {
			_, _ = fmt.Sscan(fmt.Sprintf("%.9e", *amount), amount)
		}
	}
	sums = slices.Clone(sums)
	for i := range sums {
		sum := &sums[i]
		sum.Sizes = slices.Clone(sum.Sizes)
		for _, amount := range []*float64{&sum.Capacity, &sum.Used, &sum.Free, &sum.OverCapacity, &sum.Units} {
			round(amount)
		}
		for j := range sum.Sizes {
			round(&sum.Sizes[j].Free)
		}
	}
	return sums
}

// capacityCase is a filter, and the rows that it selects.
type capacityCase struct {
	filter store.CapacityFilter
	counts func(*capacityRow) bool
}

func capacityCases() map[string]capacityCase {
	a, tree := func(n int) uuid.UUID { return dbtest.NumberedUUID("a9", n) }, dbtest.NumberedUUID("aa", 60)
	all := func(*capacityRow) bool { return true }
	return map[string]capacityCase{
		"all":                  {store.CapacityFilter{}, all},
		"classes":              {store.CapacityFilter{Classes: []string{"MEMORY_MB", "VCPU"}}, func(r *capacityRow) bool { return r.class != "DISK_GB" }},
		"forbidden":            {store.CapacityFilter{Forbidden: []string{"CUSTOM_T1"}, NotMemberOf: []uuid.UUID{a(2)}}, func(r *capacityRow) bool { return !r.traits[1] && !r.aggregates[2] }},
		"forbidden of classes": {store.CapacityFilter{Classes: []string{"VCPU"}, Forbidden: []string{"CUSTOM_T1"}}, func(r *capacityRow) bool { return r.class == "VCPU" && !r.traits[1] }},
		"required":             {store.CapacityFilter{Required: [][]string{{"CUSTOM_T1", "CUSTOM_T2"}, {"CUSTOM_T3"}}}, func(r *capacityRow) bool { return (r.traits[1] || r.traits[2]) && r.traits[3] }},
		"member":               {store.CapacityFilter{MemberOf: [][]uuid.UUID{{a(1)}, {a(2), a(3)}}}, func(r *capacityRow) bool { return r.aggregates[1] && (r.aggregates[2] || r.aggregates[3]) }},
		"member and forbidden": {store.CapacityFilter{MemberOf: [][]uuid.UUID{{a(1)}}, Forbidden: []string{"CUSTOM_T2"}, NotMemberOf: []uuid.UUID{a(3)}}, func(r *capacityRow) bool { return r.aggregates[1] && !r.traits[2] && !r.aggregates[3] }},
		"tree and required":    {store.CapacityFilter{InTree: &tree, Required: [][]string{{"CUSTOM_T1"}}}, nil},
	}
}

// TestInventory_RandomCapacities_EqualModel compares every kind of filter with sums in Go.
func TestInventory_RandomCapacities_EqualModel(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			db := dbtest.New(t)
			rows := capacityCloud(t, db, rand.New(rand.NewPCG(seed, 7)))
			opened, err := store.Open(t.Context(), postgres.Options{URL: db.URL})
			if err != nil {
				t.Fatal(err)
			}
			defer opened.Close()
			compareCapacities(t, opened, rows)
			// With statistics PostgreSQL knows that these filters lead to a large part of the providers.
			if _, err := db.Pool.Exec(t.Context(), "ANALYZE"); err != nil {
				t.Fatal(err)
			}
			compareCapacities(t, opened, rows)
		})
	}
}

// compareCapacities compares the sums of every kind of filter.
func compareCapacities(t *testing.T, opened *store.Store, rows []capacityRow) {
	t.Helper()
	inTree := rows[slices.IndexFunc(rows, func(r capacityRow) bool { return r.provider >= 60 })]
	for i := range rows {
		if rows[i].provider == 60 {
			inTree = rows[i]
		}
	}
	units := map[string]int64{"VCPU": 8, "DISK_GB": 1}
	for name, c := range capacityCases() {
		if c.counts == nil {
			id := dbtest.NumberedUUID("aa", inTree.provider)
			c.filter.InTree, c.counts = &id, func(r *capacityRow) bool { return r.root == inTree.root && r.traits[1] }
		}
		c.filter.Units = []store.Amount{{Class: "VCPU", Amount: 8}, {Class: "DISK_GB", Amount: 1}}
		var counted []capacityRow
		for i := range rows {
			if c.counts(&rows[i]) {
				counted = append(counted, rows[i])
			}
		}
		compareCapacity(t, opened, name, c.filter, counted, units)
	}
}

// compareCapacity compares the sums of a filter without groups, by tree and by aggregate with the model.
func compareCapacity(t *testing.T, opened *store.Store, name string, filter store.CapacityFilter, counted []capacityRow, units map[string]int64) {
	t.Helper()
	check := func(kind string, got, want []store.ClassCapacity) {
		t.Helper()
		if !reflect.DeepEqual(rounded(got), rounded(want)) {
			t.Errorf("%s, %s:\n got %+v\nwant %+v", name, kind, rounded(got), rounded(want))
		}
		if slices.ContainsFunc(got, func(sum store.ClassCapacity) bool { return math.Signbit(sum.OverCapacity) }) {
			t.Errorf("%s, %s: an over_capacity is negative, or -0, which is another text in JSON", name, kind)
		}
	}
	show := func(filter store.CapacityFilter) store.CapacitySums {
		t.Helper()
		found, err := opened.CapacityShow(t.Context(), filter)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, sum := range found.Classes {
			free := 0.0
			for _, size := range sum.Sizes {
				free += size.Free
			}
			if free != sum.Free {
				t.Errorf("%s: sum of sizes = %g, free = %g", name, free, sum.Free)
			}
		}
		return found
	}
	check("whole", show(filter).Classes, modelCapacity(counted, units))

	byRoot, roots := map[int][]capacityRow{}, []int{}
	for _, row := range counted {
		if byRoot[row.root] == nil {
			roots = append(roots, row.root)
		}
		byRoot[row.root] = append(byRoot[row.root], row)
	}
	var got, want []store.ClassCapacity
	paged := filter
	for paged.Trees = 7; ; {
		page := show(paged)
		got = append(got, page.Classes...)
		if page.LastRoot == nil {
			break
		}
		paged.AfterRoot = *page.LastRoot
	}
	for _, root := range roots {
		for _, sum := range modelCapacity(byRoot[root], units) {
			sum.Tree = &store.ProviderName{UUID: dbtest.NumberedUUID("aa", root), Name: fmt.Sprintf("p-%d", root)}
			want = append(want, sum)
		}
	}
	check("trees", got, want)

	grouped := filter
	want = nil
	for _, n := range []int{3, 9, 1} {
		id := dbtest.NumberedUUID("a9", n)
		grouped.Aggregates = append(grouped.Aggregates, id)
		var members []capacityRow
		for _, row := range counted {
			if row.aggregates[n] {
				members = append(members, row)
			}
		}
		for _, sum := range modelCapacity(members, units) {
			sum.Aggregate = &id
			want = append(want, sum)
		}
	}
	check("aggregates", show(grouped).Classes, want)
}
