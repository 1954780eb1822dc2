package placementdb

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"
)

// SourceSummary is the result of one pass over the source: whether it has changed since the last import,
// and what Berth's tables should contain afterwards. It uses neither the staging tables nor Berth's SQL.
type SourceSummary struct {
	// Fingerprint is a hash of all rows of the source.
	Fingerprint string
	expected    digests
	// used is the sum of the source's allocations, including those that the import skips.
	used int64
	// traits and classes are the names in the source, since Berth has more.
	traits, classes map[string]bool
}

// summarizer collects values that later tables refer to.
type summarizer struct {
	owners    Owners
	raw       digests
	expected  digests
	classes   map[int64]string
	traits    map[int64]string
	projects  map[int64]string
	users     map[int64]string
	types     map[int64]string
	groups    map[int64]uuid.UUID
	providers map[int64]*provider
	// used is the sum of all allocations, including skipped ones.
	used  int64
	stock map[[2]int64]bool
	// links contains the hashes of rows that must not be counted twice: memberships, and UUIDs of
	// aggregates.
	links map[rowHash]bool
	// holders lists the consumers with allocations, sorted once all are known, and whether each has a row
	// of its own.
	holders     []uuid.UUID
	owned       []bool
	allocations distinct
	ownersMade  bool
}

// Owners are the project and user of consumers without owner.
type Owners struct{ Project, User string }

type provider struct {
	id                int64
	uuid              uuid.UUID
	name              *string
	generation        int64
	parent            *int64
	above             *provider
	created, modified *time.Time
}

// Summarize reads the whole source.
func (s *Source) Summarize(ctx context.Context, owners Owners, progress Progress) (*SourceSummary, error) {
	v := &summarizer{
		owners: owners, raw: digests{}, expected: digests{},
		classes: map[int64]string{}, traits: map[int64]string{}, projects: map[int64]string{}, users: map[int64]string{},
		types: map[int64]string{}, groups: map[int64]uuid.UUID{}, providers: map[int64]*provider{},
		stock: map[[2]int64]bool{}, links: map[rowHash]bool{},
	}
	steps := map[string]func(row){
		"resource_classes":             v.nameRow("resource_classes", v.classes, false),
		"traits":                       v.nameRow("traits", v.traits, false),
		"projects":                     v.nameRow("projects", v.projects, true),
		"users":                        v.nameRow("users", v.users, true),
		"consumer_types":               v.nameRow("consumer_types", v.types, true),
		"placement_aggregates":         v.aggregate,
		"resource_providers":           v.provider,
		"resource_provider_traits":     v.providerTrait,
		"resource_provider_aggregates": v.providerAggregate,
		"inventories":                  v.inventory,
		"allocations":                  v.allocation,
		"consumers":                    v.consumer,
	}
	done, total := int64(0), s.total()
	for _, t := range s.tables {
		raw, step := v.raw.of(t.name), steps[t.name]
		err := s.each(ctx, t, nil, func(read row) error {
			raw.rows++
			raw.add(hashOf(read...))
			step(read)
			if done++; done%10000 == 0 {
				progress("reading", done, total)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		v.after(t.name)
	}
	progress("reading", total, total)
	return &SourceSummary{
		Fingerprint: v.fingerprint(s.Revision), expected: v.expected, used: v.used,
		traits: namesOf(v.traits), classes: namesOf(v.classes),
	}, nil
}

func namesOf(byID map[int64]string) map[string]bool {
	names := map[string]bool{}
	for _, name := range byID {
		names[name] = true
	}
	return names
}

func (s *Source) total() int64 {
	total := int64(0)
	for _, count := range s.counts {
		total += count
	}
	return total
}

func (v *summarizer) fingerprint(revision string) string {
	text := revision
	for _, name := range slices.Sorted(maps.Keys(v.raw)) {
		text += fmt.Sprintf(" %s %d %s", name, v.raw[name].rows, v.raw[name])
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// after does the work that needs a whole table.
func (v *summarizer) after(table string) {
	switch table {
	case "resource_providers":
		v.treeRows()
	case "allocations":
		v.expected.of("allocations").rows = v.allocations.count()
		v.allocations.seen = nil
		slices.SortFunc(v.holders, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
		v.holders = slices.Compact(v.holders)
		v.owned = make([]bool, len(v.holders))
	case "consumers":
		v.missingConsumers()
	}
}

// put records a row that Berth's tables should contain.
func (v *summarizer) put(table string, cells ...any) {
	d := v.expected.of(table)
	d.rows++
	d.add(hashOf(cells...))
}

// first returns the first time that is not nil; nil means the time of the import.
func first(times ...*time.Time) *time.Time {
	for _, at := range times {
		if at != nil {
			return at
		}
	}
	return nil
}

func (v *summarizer) nameRow(table string, names map[int64]string, dated bool) func(row) {
	return func(read row) {
		names[read[0].(int64)] = read[1].(string)
		if dated {
			v.put(table, read[1], read[2])
		} else {
			v.put(table, read[1])
		}
	}
}

func (v *summarizer) aggregate(read row) {
	if is := read[1].(*id); is != nil {
		v.groups[read[0].(int64)] = is.uuid
		if hash := hashOf(is.uuid); !v.links[hash] {
			v.links[hash] = true
			v.put("aggregates", is.uuid, read[2])
		}
	}
}

func (v *summarizer) provider(read row) {
	item := &provider{
		id: read[0].(int64), uuid: read[1].(*id).uuid, name: read[2].(*string), parent: read[5].(*int64),
		created: read[6].(*time.Time), modified: read[7].(*time.Time),
	}
	if generation := read[3].(*int64); generation != nil {
		item.generation = *generation
	}
	v.providers[item.id] = item
}

// treeRows computes the parent and root of every provider: a parent that does not exist is dropped, and a
// cycle is cut at its lowest id.
func (v *summarizer) treeRows() {
	called := map[string]bool{}
	for _, provider := range v.providers {
		if provider.parent != nil {
			provider.above = v.providers[*provider.parent]
		}
		if provider.name != nil {
			called[*provider.name] = true
		}
	}
	for _, item := range slices.SortedFunc(maps.Values(v.providers), func(a, b *provider) int { return cmp.Compare(a.id, b.id) }) {
		// The provider with the lowest id of a cycle comes first; removing its parent breaks the cycle.
		for up, steps := item.above, 0; up != nil && steps <= len(v.providers); up, steps = up.above, steps+1 {
			if up == item {
				item.above = nil
				break
			}
		}
	}
	for _, provider := range v.providers {
		root := provider
		for root.above != nil {
			root = root.above
		}
		name := provider.uuid.String()
		switch {
		case provider.name != nil:
			name = *provider.name
		case called[name]:
			name = fmt.Sprintf("%s %d", name, provider.id)
		}
		var parent *uuid.UUID
		if provider.above != nil {
			parent = &provider.above.uuid
		}
		v.put("resource_providers", provider.uuid, name, provider.generation, root.uuid, parent, first(provider.created, provider.modified), provider.modified)
	}
}

func (v *summarizer) providerTrait(read row) {
	provider, name := v.providers[read[0].(int64)], v.traits[read[1].(int64)]
	if provider != nil && name != "" {
		v.put("provider_traits", provider.uuid, name)
	}
}

func (v *summarizer) providerAggregate(read row) {
	provider := v.providers[read[0].(int64)]
	group, known := v.groups[read[1].(int64)]
	if provider == nil || !known {
		return
	}
	hash := hashOf(provider.uuid, group)
	if !v.links[hash] {
		v.links[hash] = true
		v.put("provider_aggregates", provider.uuid, group)
	}
}

// maxRatio is the highest ratio that the API accepts (see package placement); with higher ones, sums of
// capacities overflow.
const maxRatio = 3.40282e+38

func (v *summarizer) inventory(read row) {
	provider, name := v.providers[read[1].(int64)], v.classes[read[2].(int64)]
	if provider == nil || name == "" {
		return
	}
	v.stock[[2]int64{provider.id, read[2].(int64)}] = true
	within := func(place int, least int64) int64 {
		return min(max(read[place].(int64), least), math.MaxInt32)
	}
	factor := read[8].(float64)
	total, reserved := within(3, 1), within(4, 0)
	if read[3].(int64) < 1 || read[6].(int64) < 1 || math.IsNaN(factor) {
		reserved = max(total, reserved) // no capacity before, none now
	}
	if math.IsNaN(factor) {
		factor = 1
	}
	factor = min(max(factor, -maxRatio), maxRatio)
	created, modified := read[9].(*time.Time), read[10].(*time.Time)
	v.put("inventories", provider.uuid, name, total, reserved, within(5, 1), within(6, 1), within(7, 1), factor,
		first(created, modified), modified)
}

func (v *summarizer) allocation(read row) {
	provider, used := v.providers[read[1].(int64)], read[4].(int64)
	v.used += used
	if used < 1 || !v.stock[[2]int64{read[1].(int64), read[3].(int64)}] {
		return
	}
	holder, class := read[2].(*id).uuid, v.classes[read[3].(int64)]
	hash := hashOf(holder, provider.uuid, class)
	v.allocations.add(hash)
	v.expected.of("allocations").addTimes(hash, used)
	v.expected.of(usageSums).amount(hashOf(provider.uuid, class), used)
	if last := len(v.holders) - 1; last < 0 || v.holders[last] != holder {
		v.holders = append(v.holders, holder)
	}
}

func (v *summarizer) consumer(read row) {
	place, holds := slices.BinarySearchFunc(v.holders, read[1].(*id).uuid, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	if !holds || v.owned[place] {
		return
	}
	v.owned[place] = true
	project, known := v.projects[read[2].(int64)]
	if !known {
		project = v.incompleteProject()
	}
	user, known := v.users[read[3].(int64)]
	if !known {
		user = v.incompleteUser()
	}
	kind := ""
	dates := read[len(read)-2:]
	if len(read) > 7 && read[5].(*int64) != nil {
		kind = v.types[*read[5].(*int64)]
	}
	created, modified := dates[0].(*time.Time), dates[1].(*time.Time)
	v.put("consumers", v.holders[place], max(read[4].(int64), 1), project, user, kind, first(created, modified), modified)
}

func (v *summarizer) missingConsumers() {
	for place, owned := range v.owned {
		if !owned {
			v.put("consumers", v.holders[place], 1, v.incompleteProject(), v.incompleteUser(), "", nil, nil)
		}
	}
}

// A consumer without owner gets both an incomplete project and an incomplete user.
func (v *summarizer) incompleteProject() string { v.incomplete(); return v.owners.Project }
func (v *summarizer) incompleteUser() string    { v.incomplete(); return v.owners.User }

func (v *summarizer) incomplete() {
	if v.ownersMade {
		return
	}
	v.ownersMade = true
	if !slices.Contains(slices.Collect(maps.Values(v.projects)), v.owners.Project) {
		v.put("projects", v.owners.Project, nil)
	}
	if !slices.Contains(slices.Collect(maps.Values(v.users)), v.owners.User) {
		v.put("users", v.owners.User, nil)
	}
}
