package history

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berthd/berth/internal/test/model"
)

// told builds a history: one call after the other, unless atOnce makes them overlap.
type told struct {
	district *Partition
	calls    []*Call
	now      time.Duration
}

func (h *told) say(operation model.Operation, change func(*model.Response)) *told {
	answer := model.Accepted()
	change(&answer)
	end := h.now + 5
	if answer.Lost {
		end = never
	}
	h.calls = append(h.calls, &Call{Partition: h.district, Operation: operation, Answer: answer, Start: h.now, End: end})
	h.now += 10
	return h
}

// atOnce makes the last calls overlap.
func (h *told) atOnce(count int) *told {
	for _, call := range h.calls[len(h.calls)-count:] {
		call.Start = h.calls[len(h.calls)-count].Start
		call.End = h.now
	}
	return h
}

// during makes the last call overlap the two before it, which follow each other.
func (h *told) during() *told {
	h.calls[len(h.calls)-1].Start = h.calls[len(h.calls)-3].Start
	return h
}

func yes(*model.Response) {}

func lost(a *model.Response) { a.Lost = true }

func no(reason model.Reason, place, class int) func(*model.Response) {
	return func(a *model.Response) {
		a.Status, a.Reason, a.Provider, a.Class = http.StatusConflict, reason, place, class
	}
}

var eight = model.Inventory{Total: 8, MinUnit: 1, MaxUnit: 8, StepSize: 1, Ratio: 1}

// begin returns a history with two providers of 8 VCPUs.
func begin() *told {
	h := &told{district: NewDistrict(0)}
	for p := range 2 {
		h.say(model.CreateProvider{At: p, Parent: model.None, Name: int8(p)}, yes)
		h.say(model.ReplaceInventories{At: p, Inventories: model.Inventories{eight}}, yes)
	}
	return h
}

// taking returns a claim of VCPUs on the two providers.
func taking(consumer int, given int64, amounts ...int64) model.Operation {
	one := model.Want{Consumer: consumer, Given: given}
	for p, amount := range amounts {
		one.Allocations[p][0] = amount
	}
	return model.Claim{Wants: []model.Want{one}}
}

// seesConsumer returns a change of a response: the allocations of a consumer and its generation.
func seesConsumer(generation int64, amounts ...int64) func(*model.Response) {
	return func(a *model.Response) {
		a.Observed.Generation = generation
		for p, amount := range amounts {
			a.Observed.Allocations[p][0] = amount
		}
	}
}

func seesUsed(generation, amount int64) func(*model.Response) {
	return func(a *model.Response) { a.Observed.Generation, a.Observed.Used[0] = generation, amount }
}

// seesTree returns a change of a response: the tree of provider 0 with its child 1, of which consumers 0 and 1 have VCPUs on
// one each. A provider that has not been claimed on has generation 1.
func seesTree(onRoot, onChild int64) func(*model.Response) {
	return func(a *model.Response) {
		a.Observed.Root = 0
		for p, amount := range []int64{onRoot, onChild} {
			shown := model.ShownProvider{IsListed: true, Generation: 1, Parent: p - 1, Inventories: model.Inventories{eight}}
			shown.Used = model.Accepted().Observed.Used
			shown.Used[0] = amount
			if amount > 0 {
				shown.Generation = 2
				user := &a.Observed.Users[p]
				user.Generation, user.Allocations[p][0] = 1, amount
				user.ProviderGenerations = model.Accepted().Observed.ProviderGenerations
				user.ProviderGenerations[p] = 2
			}
			a.Observed.Shown[p] = shown
		}
	}
}

// seesLaterConsumers returns a change of a response: the providers before a claim, and the consumers after it.
func seesLaterConsumers(a *model.Response) {
	seesTree(5, 0)(a)
	a.Observed.Shown[0].Generation, a.Observed.Shown[0].Used[0] = 1, 0
}

// withChild returns a history in which provider 1 is the child of provider 0.
func withChild() *told { return begin().say(model.UpdateProvider{At: 1, Parent: 0, Name: 1}, yes) }

func TestHistory_Calls_LinearizableOrNot(t *testing.T) {
	t.Parallel()
	usages := func(p int) model.Operation { return model.Read{At: p, Part: model.PartUsages} }
	tree := model.ReadTree{At: 1}
	for name, c := range map[string]struct {
		history *told
		// against are the views without a valid order.
		against []string
	}{
		"one claim after the other": {history: begin().
			say(taking(0, 0, 5), yes).say(taking(1, 0, 4), no(model.CapacityExceeded, 0, 0)).say(taking(1, 0, 3), yes).
			say(taking(0, 0, 1), func(a *model.Response) {
				no(model.ConsumerGenerationConflict, model.None, model.None)(a)
				a.Expected = 1
			}).
			say(usages(0), seesUsed(3, 8)).say(model.ReadAllocations{}, seesConsumer(1, 5))},
		"a tree after each of two claims": {history: withChild().
			say(tree, seesTree(0, 0)).say(taking(0, 0, 5), yes).say(tree, seesTree(5, 0)).say(taking(1, 0, 0, 3), yes).say(tree, seesTree(5, 3))},
		"a tree during two claims": {history: withChild().
			say(taking(0, 0, 5), yes).say(taking(1, 0, 0, 3), yes).say(tree, seesTree(0, 3)).atOnce(3)},
		"a tree with the second of two claims": {
			history: withChild().say(taking(0, 0, 5), yes).say(taking(1, 0, 0, 3), yes).say(tree, seesTree(0, 3)).during(),
			against: []string{"district-0"},
		},
		"a tree with the consumers of a later moment": {
			history: withChild().say(tree, seesLaterConsumers).say(taking(0, 0, 5), yes).atOnce(2),
			against: []string{"district-0-place-0", "district-0"},
		},
		"a tree without its child": {
			history: withChild().say(tree, func(a *model.Response) { seesTree(0, 0)(a); a.Observed.Shown[1] = model.ShownProvider{} }),
			against: []string{"district-0"},
		},
		"two claims with the same consumer generation": {
			history: begin().say(taking(0, 0, 5), yes).say(taking(0, 1, 3), yes).say(taking(0, 1, 4), yes),
			against: []string{"district-0-consumer-0", "district-0"},
		},
		"exceeded capacity with enough free capacity": {
			history: begin().say(taking(0, 0, 5), yes).say(taking(1, 0, 3), no(model.CapacityExceeded, 0, 0)),
			against: []string{"district-0-place-0", "district-0"},
		},
		"exceeded capacity during another claim": {history: begin().
			say(taking(0, 0, 5), yes).say(taking(1, 0, 4), no(model.CapacityExceeded, 0, 0)).say(model.DeleteAllocations{}, yes).atOnce(3)},
		"a claim beyond the capacity": {
			history: begin().say(taking(0, 0, 5), yes).say(taking(1, 0, 4), yes),
			against: []string{"district-0-place-0", "district-0"},
		},
		"a generation that did not increase": {
			history: begin().say(taking(0, 0, 5), yes).say(usages(0), seesUsed(1, 5)),
			against: []string{"district-0-place-0", "district-0"},
		},
		"a generation conflict with the current generation": {
			history: begin().say(taking(0, 0, 5), func(a *model.Response) {
				no(model.ConsumerGenerationConflict, model.None, model.None)(a)
				a.Expected = 0
			}),
			against: []string{"district-0-consumer-0", "district-0"},
		},
		"a stale read": {
			history: begin().say(taking(0, 0, 5), yes).say(usages(0), seesUsed(2, 5)).say(usages(0), seesUsed(1, 0)),
			against: []string{"district-0-place-0", "district-0"},
		},
		"a partially visible claim": {
			history: begin().say(taking(0, 0, 5, 5), yes).say(usages(0), seesUsed(2, 5)).say(usages(1), seesUsed(1, 0)).
				say(model.ReadAllocations{}, seesConsumer(1, 5, 5)).atOnce(4).reading(),
			against: []string{"district-0"},
		},
		"a lost claim that was executed":     {history: begin().say(taking(0, 0, 5), lost).say(usages(0), seesUsed(2, 5))},
		"a lost claim that was not executed": {history: begin().say(taking(0, 0, 5), lost).say(usages(0), seesUsed(1, 0))},
		"a lost claim that was executed later": {history: begin().say(taking(0, 0, 5), lost).
			say(usages(0), seesUsed(1, 0)).say(usages(0), seesUsed(2, 5))},
		"a lost claim that was executed twice": {
			history: begin().say(taking(0, 0, 5), lost).say(usages(0), seesUsed(3, 5)),
			against: []string{"district-0-place-0", "district-0"},
		},
		"an unexpected status": {
			history: begin().say(model.DeleteAllocations{}, func(a *model.Response) { a.Status, a.Reason = http.StatusInternalServerError, model.Unexplained }),
			against: []string{"district 0: DeleteAllocations{Consumer:0 Given:0}: 500 ", "district-0-consumer-0", "district-0"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.history.check(t, c.against)
		})
	}
}

// check compares the views without a valid order with the expected ones.
func (h *told) check(t *testing.T, against []string) {
	t.Helper()
	findings, err := Views{Timeout: time.Minute, Directory: t.TempDir()}.Check(h.calls)
	if err != nil {
		t.Fatal(err)
	}
	for i, finding := range findings.Unexplained {
		findings.Unexplained[i], _, _ = strings.Cut(finding, ": no order explains")
	}
	if !slices.Equal(findings.Unexplained, against) || findings.Undecided != nil {
		t.Errorf("got  %q\nwant %q", findings, against)
	}
}

// reading makes the last three calls, which read, follow one another during the claim before them.
func (h *told) reading() *told {
	last := h.calls[len(h.calls)-4:]
	for i, call := range last[1:] {
		call.Start, call.End = last[0].Start+time.Duration(2*i)+1, last[0].Start+time.Duration(2*i)+2
	}
	last[0].End = h.now
	return h
}

func TestHistory_Unexplained_WritesVisualization(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	h := begin().say(taking(0, 0, 5), yes).say(taking(1, 0, 4), yes)
	findings, err := Views{Timeout: time.Minute, Directory: directory}.Check(h.calls)
	if err != nil {
		t.Fatal(err)
	}
	const says = "district-0-place-0: no order explains the 4 calls; "
	path := filepath.Join(directory, "district-0-place-0.html")
	if len(findings.Unexplained) != 2 || findings.Unexplained[0] != says+path+" shows them" {
		t.Errorf("got %q", findings)
	}
	picture, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, call := range h.calls {
		if model.TouchesProvider(call.Operation, &call.Answer, 0, [model.ConsumerCount]bool{}) && !strings.Contains(string(picture), call.describe()) {
			t.Errorf("the visualization of %d bytes lacks %q", len(picture), call.describe())
		}
	}
}

func TestHistory_CheckTimeout_ReportsUndecided(t *testing.T) {
	t.Parallel()
	findings, err := Views{Timeout: time.Nanosecond, Directory: t.TempDir()}.Check(begin().calls)
	if err != nil {
		t.Fatal(err)
	}
	if findings.Unexplained != nil || len(findings.Undecided) == 0 ||
		!strings.Contains(findings.Undecided[0], "did not end in 1ns") {
		t.Errorf("got %q", findings)
	}
}
