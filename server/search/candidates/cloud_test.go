package candidates_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/search/candidates"
)

// cloud is a database with trees of one provider, each with 100 units of CUSTOM_SLOT (class 20000). UUIDs of hosts are
// hostUUID.
type cloud struct {
	*dbtest.DB
	t *testing.T
}

// newCloud creates hosts with the ids from 1 on.
func newCloud(t *testing.T, hosts int) *cloud {
	t.Helper()
	made := &cloud{DB: dbtest.New(t), t: t}
	made.exec("INSERT INTO resource_classes (id, name) VALUES (20000, 'CUSTOM_SLOT')")
	made.addHosts(1, hosts)
	return made
}

func (c *cloud) exec(sql string, args ...any) {
	c.t.Helper()
	if _, err := c.Pool.Exec(c.t.Context(), sql, args...); err != nil {
		c.t.Fatalf("%s: %v", sql, err)
	}
}

// addHosts adds hosts with the ids from first to last.
func (c *cloud) addHosts(first, last int) {
	c.t.Helper()
	c.exec(`INSERT INTO resource_providers (id, uuid, name, root_id) OVERRIDING SYSTEM VALUE
		SELECT n, ('ba000000-0000-4000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 'host-' || n, n FROM generate_series($1::int, $2::int) AS n`, first, last)
	c.exec("INSERT INTO provider_generations (provider_id) SELECT n FROM generate_series($1::int, $2::int) AS n", first, last)
	c.addInventory(20000, first, last)
}

// addInventory adds 100 units of a class to hosts.
func (c *cloud) addInventory(class, first, last int) {
	c.t.Helper()
	c.exec(`INSERT INTO inventories (provider_id, class_id, root_id, total, reserved, min_unit, max_unit, step_size, allocation_ratio)
		SELECT n, $1, n, 100, 0, 1, 100, 1, 1 FROM generate_series($2::int, $3::int) AS n`, class, first, last)
}

// fill sets the used units of CUSTOM_SLOT of the hosts from first to last.
func (c *cloud) fill(used, first, last int) {
	c.t.Helper()
	c.exec("UPDATE inventories SET used = $1 WHERE class_id = 20000 AND provider_id BETWEEN $2 AND $3", used, first, last)
}

// open returns a search with a pool of its own.
func (c *cloud) open(change ...func(*postgres.Options)) *candidates.Search {
	c.t.Helper()
	options := postgres.Options{URL: c.URL, MaxConns: 4}
	for _, each := range change {
		each(&options)
	}
	opened, err := postgres.Open(c.t.Context(), options)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(opened.Close)
	return candidates.New(opened)
}

// throughPooler opens a pool as behind a transaction pooler.
func throughPooler(options *postgres.Options) { options.Pooler = true }

func hostUUID(n int) uuid.UUID { return dbtest.NumberedUUID("ba", n) }

// slots is a query for some units of CUSTOM_SLOT.
func slots(amount, limit int) candidates.Query {
	return candidates.Query{Limit: limit, Groups: []candidates.Group{wants("", "CUSTOM_SLOT", amount)}}
}

// outcome is a complete result as text.
type outcome struct {
	candidates, summaries []string
	onePage               bool
}

// read reads a complete result.
func read(ctx context.Context, s *candidates.Search, query candidates.Query) (made outcome, err error) {
	result, err := s.List(ctx, query)
	if err != nil {
		return made, err
	}
	defer func() { err = errors.Join(err, result.Close()) }()
	made.onePage = result.UsesOnePage()
	for one, err := range result.All() {
		if err != nil {
			return made, err
		}
		made.candidates = append(made.candidates, fmt.Sprint(*one))
	}
	for one, err := range result.Summaries() {
		if err != nil {
			return made, err
		}
		parent := "none"
		if one.Parent != nil {
			parent = one.Parent.String()
		}
		made.summaries = append(made.summaries, fmt.Sprintf("%s %s %s %v %v", one.UUID, parent, one.Root, one.Traits, one.Resources))
	}
	return made, nil
}

// mustRead reads a complete result, and fails the test on an error.
func mustRead(t *testing.T, s *candidates.Search, query candidates.Query) outcome {
	t.Helper()
	made, err := read(t.Context(), s, query)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// warm repeats a query until one page suffices.
func warm(t *testing.T, s *candidates.Search, query candidates.Query) outcome {
	t.Helper()
	for range 5 {
		if made := mustRead(t, s, query); made.onePage {
			return made
		}
	}
	t.Fatal("five equal queries never took the path of one page")
	return outcome{}
}

// sorted returns an outcome without the order of candidates and summaries, and without the path that found it.
func (o outcome) sorted() outcome {
	made := outcome{candidates: slices.Clone(o.candidates), summaries: slices.Clone(o.summaries)}
	slices.Sort(made.candidates)
	slices.Sort(made.summaries)
	return made
}

// slotOutcome is the outcome of a query for one class of CUSTOM_SLOT, sorted, if the hosts satisfy it.
func slotOutcome(class string, amount int, used int, traits []string, hosts ...int) (made outcome) {
	for _, n := range hosts {
		id := hostUUID(n)
		made.candidates = append(made.candidates, fmt.Sprintf("{[{%s [{%s %d}]}] [[%s]]}", id, class, amount, id))
		made.summaries = append(made.summaries, fmt.Sprintf("%s none %s %v [{%s 100 %d}]", id, id, traits, class, used))
	}
	return made.sorted()
}
