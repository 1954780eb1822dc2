package bruteforce_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	"github.com/berthd/berth/internal/test/bruteforce"
	"github.com/berthd/berth/internal/test/counts"
	"github.com/berthd/berth/server/search/explain"
)

// firstEnd is the first time at which a consumer of a test can end.
var firstEnd = time.Date(2035, 1, 1, 12, 0, 0, 0, time.UTC)

// lease is that of a consumer: until is zero for none.
type lease struct {
	until     time.Time
	isRenewed bool
}

// leases are those of consumers, by UUID.
type leases map[string]lease

// drawLeases gives most consumers an end. Some of these are renewed, too, as are some without an end; some end together.
func drawLeases(t *rapid.T, of holdings) leases {
	made := leases{}
	for _, consumer := range slices.Sorted(maps.Keys(of)) {
		one := lease{isRenewed: rapid.IntRange(0, 3).Draw(t, "renewed") == 0}
		if rapid.IntRange(0, 9).Draw(t, "ends") > 0 {
			one.until = firstEnd.Add(time.Duration(rapid.IntRange(0, 6).Draw(t, "end")) * time.Microsecond)
		}
		if one.isRenewed || !one.until.IsZero() {
			made[consumer] = one
		}
	}
	return made
}

// lease replaces the leases in the database.
func (b *bundle) lease(of leases) error {
	batch := &pgx.Batch{}
	batch.Queue("DELETE FROM leases")
	batch.Queue("UPDATE consumers SET leased = true, generation = generation + 1 WHERE uuid = ANY ($1::uuid[])", slices.Collect(maps.Keys(of)))
	for consumer, one := range of {
		var until *time.Time
		var seconds *int
		if !one.until.IsZero() {
			until = &one.until
		}
		if one.isRenewed {
			seconds = new(int)
			*seconds = 3600
		}
		batch.Queue("INSERT INTO leases (consumer_id, seconds, until, expires_at, due) SELECT id, $2::int, $3::timestamptz, "+
			"least($3, now() + make_interval(secs => $2)), least($3, now() + make_interval(secs => $2)) FROM consumers WHERE uuid = $1",
			consumer, seconds, until)
	}
	return pgx.BeginFunc(b.ctx, b.db.Pool, func(tx pgx.Tx) error { return tx.SendBatch(b.ctx, batch).Close() })
}

// reset replaces the contents of the database, of which removals have changed a part.
func (b *bundle) reset(d *bruteforce.Deployment, of holdings, ends leases) error {
	if err := b.load(d); err != nil {
		return err
	}
	if err := b.hold(d, of); err != nil {
		return err
	}
	return b.lease(ends)
}

// reach lets the clock reach a time: the leases with an until up to it move into the past, and the server removes their consumers.
func (b *bundle) reach(at time.Time) error {
	if _, err := b.db.Pool.Exec(b.ctx, "UPDATE leases SET until = past, expires_at = past, due = past "+
		"FROM (SELECT now() - interval '1 second' AS past) AS moved WHERE until <= $1", at); err != nil {
		return err
	}
	for {
		var lookedAt int
		if err := b.db.Pool.QueryRow(b.ctx, "SELECT looked_at FROM lease_expire(50)").Scan(&lookedAt); err != nil || lookedAt == 0 {
			return err
		}
	}
}

// fitsAt reports whether a query has candidates after the consumers that end by a time have gone.
func fitsAt(d *bruteforce.Deployment, of holdings, ends leases, at time.Time, query string) bool {
	made := &bruteforce.Deployment{Aggregates: d.Aggregates}
	gone := ends.until(at)
	for _, provider := range d.Providers {
		one := *provider
		one.Used = maps.Clone(provider.Used)
		for _, consumer := range gone {
			for class, amount := range of[consumer][one.Name] {
				one.Used[class] -= amount
			}
		}
		made.Providers = append(made.Providers, &one)
	}
	return len(made.Ask(query, bruteforce.Berth).Candidates) > 0
}

// times returns the times at which consumers end, in order, each once.
func (l leases) times() (all []time.Time) {
	for _, one := range l {
		if !one.until.IsZero() {
			all = append(all, one.until)
		}
	}
	slices.SortFunc(all, time.Time.Compare)
	return slices.CompactFunc(all, time.Time.Equal)
}

// wrongFit returns what is wrong with fits_at of an explanation, by the brute force.
func wrongFit(d *bruteforce.Deployment, of holdings, ends leases, query string, shown *explain.FitsAt, tally *freedTally) string {
	for i, at := range ends.times() {
		isFit := fitsAt(d, of, ends, at, query)
		switch {
		case !isFit && shown.Fit != nil && !shown.At.After(at):
			return fmt.Sprintf("it does not fit at %s", at)
		case isFit && shown.Fit == nil:
			return fmt.Sprintf("it fits at %s", at)
		case isFit && shown.At.After(at):
			return fmt.Sprintf("it fits at %s already", at)
		case isFit && !shown.At.Equal(at):
			return fmt.Sprintf("no consumer ends at %s", shown.At)
		case isFit:
			tally.count(fmt.Sprintf("end %d", i))
			return wrongWaiting(d, of, ends, query, shown.Fit)
		}
	}
	tally.count("never")
	return ""
}

// wrongWaiting returns what is wrong with the consumers of fits_at.
func wrongWaiting(d *bruteforce.Deployment, of holdings, ends leases, query string, shown *explain.Fit) string {
	var gone []string
	isLast := false
	for _, one := range shown.Consumers {
		consumer := one.Consumer.String()
		gone = append(gone, consumer)
		if !one.Until.Equal(ends[consumer].until) || one.Until.After(shown.At) {
			return fmt.Sprintf("%s does not end at %s", consumer, one.Until)
		}
		isLast = isLast || one.Until.Equal(shown.At)
		for _, held := range one.Allocations {
			if of[consumer][held.Provider.Name][held.Class] != held.Amount {
				return fmt.Sprintf("%s does not hold %d %s of %s", consumer, held.Amount, held.Class, held.Provider.Name)
			}
		}
	}
	root := shown.Tree.UUID.String()
	switch {
	case !shown.Exact:
		return "it is not exact"
	case !isLast:
		return "it waits for no consumer that ends then"
	case !fitsWithout(d, of, gone, query, root):
		return fmt.Sprintf("it does not fit in %s without %s", shown.Tree.Name, gone)
	case strings.Contains(query, "can_split") || candidatesWithout(d, of, ends.until(shown.At), query, root) > maxComparedCandidates:
		return "" // another candidate may need fewer consumers to go
	}
	for i := range gone {
		if fewer := slices.Delete(slices.Clone(gone), i, i+1); fitsWithout(d, of, fewer, query, root) {
			return fmt.Sprintf("it fits in %s without %s already, not only without %s", shown.Tree.Name, fewer, gone)
		}
	}
	return ""
}

// maxComparedCandidates is how many candidates the server compares for the consumers that they wait for.
const maxComparedCandidates = 64

// until returns the consumers that end until a time.
func (l leases) until(at time.Time) (all []string) {
	for consumer, one := range l {
		if !one.until.IsZero() && !one.until.After(at) {
			all = append(all, consumer)
		}
	}
	return all
}

// wrongClock returns what is wrong with fits_at by the server itself, when the clock reaches the last time before it, and then
// fits_at; the last time of all if the query never fits. Removals change what the database has.
func (b *bundle) wrongClock(ends leases, query string, shown *explain.FitsAt) (string, error) {
	times := ends.times()
	if shown.Fit != nil {
		at := slices.IndexFunc(times, shown.At.Equal)
		times = times[max(0, at-1) : at+1]
	} else {
		times = times[max(0, len(times)-1):]
	}
	for _, at := range times {
		if err := b.reach(at); err != nil {
			return "", err
		}
		response := b.request(0, http.MethodGet, "/allocation_candidates?"+strings.ReplaceAll(query, " ", "+"), freedVersion, "")
		isFit := response.Code == http.StatusOK && !strings.Contains(response.Body.String(), `"allocation_requests":[]`)
		if isFit != (shown.Fit != nil && shown.At.Equal(at)) {
			return fmt.Sprintf("the server finds at %s: %s", at, response.Body), nil
		}
	}
	return "", nil
}

// fullCloud is a cloud whose consumers end, and queries for it. Equal devices need several consumers to end, in many combinations.
type fullCloud struct {
	world
	holds     holdings
	ends      leases
	questions []question
}

// splitQuestions draws queries for an amount that several devices can share, beside a group for one of them.
var splitQuestions = rapid.Custom(func(t *rapid.T) question {
	query := fmt.Sprintf("resources=VGPU:%d&can_split=VGPU", rapid.IntRange(4, 24).Draw(t, "split"))
	if rapid.Bool().Draw(t, "with a group") {
		query += fmt.Sprintf("&resources_A=VGPU:%d", rapid.IntRange(1, 6).Draw(t, "amount"))
	}
	return question{query: query, minor: bruteforce.Berth, setting: rapid.IntRange(0, len(settings)-1).Draw(t, "setting")}
})

var fullClouds = rapid.Custom(func(t *rapid.T) fullCloud {
	drawn := fullCloud{}
	of, asked := worlds, deviceQuestions
	if rapid.Bool().Draw(t, "devices") {
		of = deviceWorlds
	}
	drawn.world = of.Draw(t, "deployment")
	if of == worlds {
		asked = questions(drawn.world, []int{bruteforce.Berth})
	}
	drawn.holds = drawHoldings(t, drawn.Deployment)
	drawn.ends = drawLeases(t, drawn.holds)
	if of == deviceWorlds {
		asked = rapid.OneOf(asked, splitQuestions)
		for _, provider := range drawn.Providers { // some are used over capacity
			if inventory, isDevice := provider.Inventories["VGPU"]; isDevice && rapid.IntRange(0, 3).Draw(t, "shrinks") == 0 {
				inventory.Total -= rapid.Int64Range(1, 4).Draw(t, "less")
				provider.Inventories["VGPU"] = inventory
			}
		}
	}
	drawn.questions = rapid.SliceOfN(asked, questionsPerFull, questionsPerFull).Draw(t, "questions")
	return drawn
})

// wrongFitsAt returns what is wrong with fits_at of the explanation of a query, if it has one.
func (b *bundle) wrongFitsAt(in *fullCloud, q question, tally *freedTally) (string, error) {
	query := q.unlimited()
	if err := b.reset(in.Deployment, in.holds, in.ends); err != nil {
		return "", err
	}
	response := b.request(q.setting, http.MethodGet, "/allocation_candidates?"+strings.ReplaceAll(query, " ", "+")+"&explain=empty", freedVersion, "")
	var body struct {
		Explanation *explain.Explanation `json:"explanation"`
	}
	if err := json.Unmarshal(response.Body.Bytes(), &body); err != nil || body.Explanation == nil {
		return "", nil
	}
	shown := &body.Explanation.FitsAt
	wrong, err := "it is missing", error(nil)
	if shown.IsKnown {
		wrong = wrongFit(in.Deployment, in.holds, in.ends, query, shown, tally)
	}
	if wrong == "" {
		wrong, err = b.wrongClock(in.ends, query, shown)
	}
	if wrong != "" {
		wrong += "\n" + response.Body.String()
	}
	return wrong, err
}

// TestCandidates_RandomLeases_FitAtTheTimeOfTheExplanation lets the clock reach the time that an explanation names, and asks again.
func TestCandidates_RandomLeases_FitAtTheTimeOfTheExplanation(t *testing.T) {
	t.Parallel()
	server, tally := setup(t), &freedTally{seen: map[string]int{}}
	rapid.Check(t, func(t *rapid.T) {
		drawn := fullClouds.Draw(t, "cloud")
		for _, q := range drawn.questions {
			if wrong, err := server.wrongFitsAt(&drawn, q, tally); wrong != "" || err != nil {
				t.Fatalf("%s\n%v\n%v\n%s\n%s %v", drawn.world, drawn.holds, drawn.ends, q.unlimited(), wrong, err)
			}
		}
	})
	t.Logf("%v", tally.seen)
	if !counts.All() {
		return // so few explanations may well be of one kind
	}
	for _, name := range []string{"never", "end 0", "end 2"} {
		if tally.seen[name] == 0 {
			t.Errorf("no explanation with %s", name)
		}
	}
}
