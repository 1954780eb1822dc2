package bruteforce_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	"github.com/berthd/berth/internal/test/bruteforce"
	"github.com/berthd/berth/internal/test/counts"
	"github.com/berthd/berth/server/search/explain"
)

// freedVersion selects explanations that say which consumers must go.
const freedVersion = "placement 1.39, berth 1.6"

// questionsPerFull is how many queries each full cloud gets.
const questionsPerFull = 3

// maxFreedChecked is the size of the largest sets that are compared with all smaller ones.
const maxFreedChecked = 3

// holdings are what consumers hold, by UUID and name of the provider.
type holdings map[string]map[string]map[string]int64

// drawHoldings fills most inventories of a deployment, and splits what is used among several consumers.
func drawHoldings(t *rapid.T, d *bruteforce.Deployment) holdings {
	made := holdings{}
	for _, provider := range d.Providers {
		for _, class := range slices.Sorted(maps.Keys(provider.Inventories)) {
			inventory := provider.Inventories[class]
			capacity := int64(float64(inventory.Total-inventory.Reserved) * inventory.Ratio)
			if capacity > 0 && capacity < 100_000 && rapid.IntRange(0, 4).Draw(t, "fills") > 0 {
				if provider.Used == nil {
					provider.Used = map[string]int64{}
				}
				provider.Used[class] = capacity
			}
		}
		for _, class := range slices.Sorted(maps.Keys(provider.Used)) {
			for left := provider.Used[class]; left > 0; {
				part := min(left, max(left/4, rapid.Int64Range(1, 3).Draw(t, "part")))
				consumer := fmt.Sprintf("%08d-0000-4000-8000-000000000000", rapid.IntRange(1, 9).Draw(t, "consumer"))
				if made[consumer] == nil {
					made[consumer] = map[string]map[string]int64{}
				}
				if made[consumer][provider.Name] == nil {
					made[consumer][provider.Name] = map[string]int64{}
				}
				made[consumer][provider.Name][class] += part
				left -= part
			}
		}
	}
	return made
}

// hold replaces the allocations in the database.
func (b *bundle) hold(d *bruteforce.Deployment, of holdings) error {
	batch := &pgx.Batch{}
	batch.Queue("DELETE FROM allocations")
	batch.Queue("DELETE FROM consumers")
	for consumer, byProvider := range of {
		batch.Queue("INSERT INTO consumers (uuid, generation, project_id, user_id) SELECT $1, 1, projects.id, users.id FROM projects, users", consumer)
		for name, amounts := range byProvider {
			for class, amount := range amounts {
				batch.Queue("INSERT INTO allocations (consumer_id, provider_id, class_id, used) SELECT consumer.id, provider.id, class.id, $4 "+
					"FROM consumers AS consumer, resource_providers AS provider, resource_classes AS class "+
					"WHERE consumer.uuid = $1 AND provider.uuid = $2 AND class.name = $3", consumer, d.Named(name).UUID, class, amount)
			}
		}
	}
	return pgx.BeginFunc(b.ctx, b.db.Pool, func(tx pgx.Tx) error { return tx.SendBatch(b.ctx, batch).Close() })
}

// fitsWithout reports whether a query has candidates in a tree after some consumers have gone.
func fitsWithout(d *bruteforce.Deployment, of holdings, gone []string, query string, root string) bool {
	return candidatesWithout(d, of, gone, query, root) > 0
}

// candidatesWithout returns how many candidates a query has in a tree after some consumers have gone.
func candidatesWithout(d *bruteforce.Deployment, of holdings, gone []string, query string, root string) int {
	made := &bruteforce.Deployment{Aggregates: d.Aggregates}
	var others []string
	for _, provider := range d.Providers {
		one := *provider
		one.Used = maps.Clone(provider.Used)
		for _, consumer := range gone {
			for class, amount := range of[consumer][one.Name] {
				one.Used[class] -= amount
			}
		}
		if one.Parent == "" && one.UUID != root {
			others = append(others, one.UUID)
		}
		made.Providers = append(made.Providers, &one)
	}
	if len(others) > 0 {
		query += "&not_in_tree=" + strings.Join(others, ",")
	}
	return len(made.Ask(query, bruteforce.Berth).Candidates)
}

// smallerSets calls a function for all sets of fewer consumers, until it returns true.
func smallerSets(consumers []string, size int, stop func([]string) bool) bool {
	var extend func(from int, set []string) bool
	extend = func(from int, set []string) bool {
		if len(set) >= size {
			return false
		}
		if stop(set) {
			return true
		}
		for i := from; i < len(consumers); i++ {
			if extend(i+1, append(slices.Clone(set), consumers[i])) {
				return true
			}
		}
		return false
	}
	return extend(0, nil)
}

// unlimited returns the query string of a question without limits.
func (q question) unlimited() string {
	return withoutParams(withoutParams(q.asked(), "limit"), "limit_per_tree")
}

// freedTally counts what the explanations contain.
type freedTally struct {
	sync.Mutex
	seen map[string]int
}

func (t *freedTally) count(name string) {
	t.Lock()
	defer t.Unlock()
	t.seen[name]++
}

// wrongFreed returns what is wrong with freed_by of a tree.
func wrongFreed(d *bruteforce.Deployment, of holdings, query string, tree explain.Tree, tally *freedTally) string {
	all, root := slices.Sorted(maps.Keys(of)), tree.Tree.UUID.String()
	if !tree.FreedBy.IsKnown {
		tally.count("unknown")
		return ""
	}
	if tree.FreedBy.FreedSet == nil {
		tally.count("never")
		if fitsWithout(d, of, all, query, root) {
			return "it fits when it is empty"
		}
		return ""
	}
	var gone []string
	for _, one := range tree.FreedBy.Consumers {
		gone = append(gone, one.Consumer.String())
		for _, held := range one.Allocations {
			if of[one.Consumer.String()][held.Provider.Name][held.Class] != held.Amount {
				return fmt.Sprintf("%s does not hold %d %s of %s", one.Consumer, held.Amount, held.Class, held.Provider.Name)
			}
		}
	}
	tally.count(fmt.Sprintf("%d consumers", min(len(gone), 4)))
	if !tree.FreedBy.Exact {
		tally.count("inexact")
	}
	if !fitsWithout(d, of, gone, query, root) {
		return fmt.Sprintf("it does not fit without %s", gone)
	}
	wrong := ""
	if len(gone) <= maxFreedChecked {
		smallerSets(all, len(gone), func(set []string) bool {
			if fitsWithout(d, of, set, query, root) {
				wrong = fmt.Sprintf("it fits without %s already, not only without %s", set, gone)
			}
			return wrong != ""
		})
	}
	return wrong
}

// TestCandidates_RandomFreedConsumers_FitWithoutThem removes the consumers that an explanation names, and asks again.
func TestCandidates_RandomFreedConsumers_FitWithoutThem(t *testing.T) {
	t.Parallel()
	server, tally := setup(t), &freedTally{seen: map[string]int{}}
	rapid.Check(t, func(t *rapid.T) {
		w := worlds.Draw(t, "deployment")
		of := drawHoldings(t, w.Deployment)
		if err := server.load(w.Deployment); err != nil {
			t.Fatalf("%#v\n%v", w, err)
		}
		if err := server.hold(w.Deployment, of); err != nil {
			t.Fatalf("%#v\n%v", w, err)
		}
		for range questionsPerFull {
			q := questions(w, []int{bruteforce.Berth}).Draw(t, "question")
			query := q.unlimited()
			if strings.Contains(query, "not_in_tree") {
				continue
			}
			response := server.request(0, http.MethodGet, "/allocation_candidates?"+strings.ReplaceAll(query, " ", "+")+"&explain=empty", freedVersion, "")
			var body struct {
				Explanation *explain.Explanation `json:"explanation"`
			}
			if err := json.Unmarshal(response.Body.Bytes(), &body); err != nil || body.Explanation == nil {
				continue
			}
			seenNever := false
			for _, tree := range body.Explanation.Nearest {
				if wrong := wrongFreed(w.Deployment, of, query, tree, tally); wrong != "" {
					t.Fatalf("%s\n%v\n%s\n%s: %s\n%s", w, of, query, tree.Tree.Name, wrong, response.Body)
				}
				isNever := tree.FreedBy.IsKnown && tree.FreedBy.FreedSet == nil
				if seenNever && !isNever {
					t.Fatalf("%s is behind a tree that never fits\n%s", tree.Tree.Name, response.Body)
				}
				seenNever = isNever
			}
		}
	})
	t.Logf("%v", tally.seen)
	if !counts.All() {
		return // so few explanations may well be of one kind
	}
	for _, name := range []string{"never", "1 consumers"} {
		if tally.seen[name] == 0 {
			t.Errorf("no explanation with %s", name)
		}
	}
}
