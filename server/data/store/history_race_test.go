package store_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/internal/test/counts"
	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/data/store"
	berthsql "github.com/berthd/berth/sql"
)

// writeCrowd is many clients that write the same providers and consumers in all ways, while two servers put what they write in order.
type writeCrowd struct {
	*leaseCrowd
	// claims counts accepted claims of consumers that no other client writes: each of them is an event.
	claims []uuid.UUID
}

func newWriteCrowd(t *testing.T, db *dbtest.DB) *writeCrowd {
	t.Helper()
	opened, err := store.Open(t.Context(), postgres.Options{URL: db.URL, MaxConns: 24})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(opened.Close)
	dbtest.TurnRecordOn(t, db)
	opened.RecordCallers(func(context.Context) store.Caller { return store.Caller{RequestID: "req-1", Operation: "test"} })
	if _, err := opened.HistoryState(t.Context()); err != nil {
		t.Fatal(err)
	}
	return &writeCrowd{leaseCrowd: newLeaseCrowd(t, &bundle{Store: opened, t: t, db: db})}
}

// write makes a random write.
func (c *writeCrowd) write(ctx context.Context, dice *rand.Rand) error {
	host := c.hosts[dice.IntN(len(c.hosts))]
	switch dice.IntN(11) {
	case 0:
		_, err := c.InventoryReplace(ctx, host, c.generation(host), inventories(map[string]int32{"VCPU": 25, "MEMORY_MB": 1 + dice.Int32N(9)}), 1)
		return err
	case 1:
		_, _, err := c.ProviderTraitReplace(ctx, host, c.generation(host), []string{"HW_CPU_X86_VMX", "HW_CPU_X86_AVX2"}[dice.IntN(3)*2/3:])
		return err
	case 2, 3, 4:
		claim := store.Claim{Consumer: uuid.New(), ProjectID: "project", UserID: "user", Type: "JOB", Allocations: []store.Allocation{
			{Provider: host, Class: "VCPU", Amount: 1},
		}}
		if other := c.hosts[dice.IntN(len(c.hosts))]; other != host {
			claim.Allocations = append(claim.Allocations, store.Allocation{Provider: other, Class: "VCPU", Amount: 1})
		}
		if err := c.AllocationReplace(ctx, []store.Claim{claim}, true); err != nil {
			return err
		}
		return c.release(ctx, claim.Consumer)
	case 5, 6, 7:
		return c.claim(ctx, dice)
	default:
		return c.leaseCrowd.write(ctx, dice)
	}
}

// release deletes the allocations of claimed consumers.
func (c *writeCrowd) release(ctx context.Context, consumers ...uuid.UUID) error {
	c.mutex.Lock()
	c.claims = append(c.claims, consumers...)
	c.mutex.Unlock()
	for _, consumer := range consumers {
		if _, err := c.AllocationDelete(ctx, consumer, nil); err != nil {
			return err
		}
	}
	return nil
}

// claim claims for new consumers as POST /claims: for one, which then replaces its allocations or hands them over, or for two.
func (c *writeCrowd) claim(ctx context.Context, dice *rand.Rand) error {
	listed := vcpu(c.hosts[dice.IntN(len(c.hosts))], c.hosts[0], c.hosts[1])
	candidates := [][]store.Allocation{{listed[0]}, listed[1:]}
	consumers := []store.Claim{
		{Consumer: uuid.New(), ProjectID: "project", UserID: "user", Type: "JOB"}, {Consumer: uuid.New(), ProjectID: "another", UserID: "user"},
	}
	if dice.IntN(2) == 0 {
		consumers[0].Lease = &store.LeaseTerms{Seconds: new(int32(crowdSeconds))}
	}
	if dice.IntN(3) == 0 {
		placement := []store.ClaimCandidate{c.candidate(c.hosts[0], c.hosts[1]), c.candidate(listed[0].Provider)}
		for i := range placement {
			placement[i].Guards = nil
		}
		if _, err := c.ClaimCreateMany(ctx, consumers, placement); err != nil {
			return err
		}
		return c.release(ctx, consumers[0].Consumer, consumers[1].Consumer)
	}
	made, err := c.ClaimCreateNamed(ctx, consumers[0], nil, candidates)
	if err != nil {
		return err
	}
	var heir *store.Claim
	if dice.IntN(2) == 0 {
		heir = &consumers[1]
	}
	consumers[0].Generation = &made.Consumers[0].Generation
	_, err = c.ClaimCreate(ctx, consumers[0], heir, []store.ClaimCandidate{c.candidate(c.hosts[1]), c.candidate(c.hosts[2])})
	if released := c.release(ctx, consumers[0].Consumer); released != nil || heir == nil || err != nil {
		return errors.Join(err, released)
	}
	return c.release(ctx, heir.Consumer)
}

// run lets 32 clients write while two servers put in order, and a transaction that has written something else is open.
func (c *writeCrowd) run() {
	ctx := c.t.Context()
	open, err := c.db.Pool.Begin(ctx)
	c.must(err)
	_, err = open.Exec(ctx, "INSERT INTO aggregates (uuid) VALUES (gen_random_uuid())")
	c.must(err)
	defer func() { _ = open.Rollback(ctx) }()
	var writers, steppers sync.WaitGroup
	ended := make(chan struct{})
	for range 2 {
		steppers.Go(func() {
			for {
				if _, err := c.HistoryStep(ctx, false); err != nil {
					c.fail("step: " + err.Error())
				}
				select {
				case <-ended:
					return
				case <-time.After(time.Millisecond):
				}
			}
		})
	}
	for number := range uint64(32) {
		writers.Go(func() {
			dice := rand.New(rand.NewPCG(number, uint64(time.Now().UnixNano())))
			for range 30 {
				if rule := outcome(c.write(ctx, dice)); len(rule) > len("PL012") {
					c.fail("unexpected error: " + string(rule))
				}
			}
		})
	}
	writers.Wait()
	close(ended)
	steppers.Wait()
}

func (c *writeCrowd) fail(text string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.failures = append(c.failures, text)
}

// findings returns what the record contradicts, and claims that are not in it.
func (c *writeCrowd) findings() []string {
	found, err := dbtest.RecordFindings(c.t.Context(), c.db)
	c.must(err)
	for _, consumer := range c.texts("SELECT consumer::text FROM unnest($1::uuid[]) AS consumer EXCEPT SELECT consumer::text FROM history", c.claims) {
		found = append(found, fmt.Sprintf("the claim of %s is missing", consumer))
	}
	if left := c.texts("SELECT count(*)::text FROM outbox"); left[0] != "0" {
		found = append(found, left[0]+" notes are left")
	}
	return append(found, c.failures...)
}

// TestHistory_CrowdOfWriters_ReplaysToTheDatabase: 32 clients write while two servers put in order. Replaying the record gives the
// database; no change is missing, and none comes before one that it depends on.
func TestHistory_CrowdOfWriters_ReplaysToTheDatabase(t *testing.T) {
	t.Parallel()
	c := newWriteCrowd(t, dbtest.NewWithInvariantTriggers(t))
	c.run()
	for _, finding := range c.findings() {
		t.Error(finding)
	}
	if callers := c.texts("SELECT count(*)::text FROM history WHERE caller IS NULL AND topic <> 'history'"); callers[0] != "0" {
		t.Errorf("changes without a caller = %s, want 0", callers[0])
	}
	if events := c.texts("SELECT max(index)::text FROM history"); len(events[0]) < 3 {
		t.Errorf("events = %s, want hundreds", events[0])
	}
}

// recordFaults are changes of functions and tables, by what is wrong with them then. Those that need several crowds are planted with
// RAPID_CHECKS=100.
var recordFaults = map[string]struct {
	function string
	edits    []string // old and new, in turns
	isSlow   bool
}{
	"a plain sequence is the order": {
		"history_step", []string{"row_number() OVER (ORDER BY written.last)", "row_number() OVER (ORDER BY written.xid)"}, false,
	},
	"a step skips what is not committed": {"history_step", []string{"IF v_writers = '{}' THEN", "IF true THEN"}, false},
	"a claim draws its number before it has its locks": {"allocation_claim", []string{
		"v_written int;", "v_written int; v_seq bigint := nextval('outbox_seq_seq');",
		"outbox (topic,", "outbox (seq, topic,", "VALUES ('claim',", "OVERRIDING SYSTEM VALUE VALUES (v_seq, 'claim',",
	}, true},
	"a change loses its first state": {"history_changes", []string{
		"(array_agg(note.before ORDER BY note.seq))[1] AS before", "(array_agg(note.before ORDER BY note.seq DESC))[1] AS before",
	}, true},
	"a claim is not noted":      {"allocation_claim", []string{"IF v_noted <> '' THEN\n        INSERT", "IF false THEN\n        INSERT"}, false},
	"POST /claims is not noted": {"claim_create", []string{"FROM shown\n", "FROM shown HAVING false\n"}, false},
	"POST /claims for several notes only the first": {"claim_create_many", []string{
		"GROUP BY shown.shown_place", "WHERE shown.shown_place = 1 GROUP BY shown.shown_place",
	}, true},
	"POST /claims of an existing consumer is noted as new": {"claim_create", []string{
		"IF p_generation IS NULL AND cardinality(p_consumers) = 1 AND", "IF",
	}, true},
	"what was gone at the commit is not found": {"history_changes", []string{"taken.before IS NOT NULL AND taken.after IS NULL", "false"}, true},
}

// TestHistory_PlantedFaults_Found changes a function, and lets crowds work until one of them shows it.
func TestHistory_PlantedFaults_Found(t *testing.T) {
	t.Parallel()
	for name, fault := range recordFaults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if fault.isSlow && !counts.All() {
				t.Skip("planted with RAPID_CHECKS=100")
			}
			text, err := fs.ReadFile(berthsql.Files, "functions/"+fault.function+".sql")
			if err != nil {
				t.Fatal(err)
			}
			whole := regexp.MustCompile(` /\* \w+ \d+/\d+ \*/`).ReplaceAllString(string(text), "")
			for i := 0; i < len(fault.edits); i += 2 {
				if strings.Count(whole, fault.edits[i]) == 0 {
					t.Fatalf("%s does not contain %q", fault.function, fault.edits[i])
				}
				whole = strings.Replace(whole, fault.edits[i], fault.edits[i+1], 1)
			}
			for round := range 20 {
				db := dbtest.New(t)
				if _, err := db.Pool.Exec(t.Context(), whole); err != nil {
					t.Fatal(err)
				}
				crowd := newWriteCrowd(t, db)
				crowd.run()
				found := crowd.findings()
				crowd.Close()
				if len(found) > 0 {
					t.Logf("round %d: %d findings, %s", round, len(found), found[0])
					return
				}
			}
			t.Error("not found")
		})
	}
}
