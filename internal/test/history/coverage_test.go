package history

import (
	"net/http"
	"slices"
	"testing"

	"github.com/berthd/berth/internal/test/model"
)

// busy is the response of a write that exhausted its retries.
func busy(a *model.Response) { a.Status, a.Reason = http.StatusConflict, model.RetriesExhausted }

// ofEachKind returns a history with a number of accepted calls of each kind.
func ofEachKind(times int) *told {
	h := &told{district: NewDistrict(0)}
	for _, one := range tallied {
		for range times {
			h.say(one.like, yes)
		}
	}
	return h
}

func (h *told) sayOften(times int, operation model.Operation, change func(*model.Response)) *told {
	for range times {
		h.say(operation, change)
	}
	return h
}

func TestHistory_Coverage_ReportsUndercoveredOperations(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		history *told
		thin    []string
	}{
		"sufficient coverage":             {history: ofEachKind(enough)},
		"one write exhausted its retries": {history: ofEachKind(enough).say(model.DeleteAllocations{}, busy)},
		"two of a thousand writes exhausted their retries": {
			history: ofEachKind(enough).sayOften(1000, taking(0, 0, 1), yes).sayOften(2, model.DeleteAllocations{}, busy)},
		"two of few writes exhausted their retries": {
			history: ofEachKind(enough).sayOften(2, model.DeleteAllocations{}, busy),
			thin:    []string{"all writes: 62 sent, 60 accepted, 2 exhausted their retries, 0 lost; at most 1 may exhaust them"},
		},
		"a kind without accepted requests": {
			history: ofEachKind(enough).without(model.UpdateProvider{}).say(model.UpdateProvider{}, busy).say(model.UpdateProvider{}, lost).say(model.UpdateProvider{}, no(model.Loop, 0, 0)),
			thin:    []string{"new parent: 3 sent, 0 accepted, 1 exhausted their retries, 1 lost; at least 3 must be accepted"},
		},
		"a kind without requests": {
			history: ofEachKind(enough).without(model.ChangeInventory{Method: http.MethodPut}),
			thin:    []string{"change of an inventory: 0 sent, 0 accepted, 0 exhausted their retries, 0 lost; at least 3 must be accepted"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tallies, err := Tallies(c.history.calls)
			if err != nil {
				t.Fatal(err)
			}
			if thin := Undercovered(tallies); !slices.Equal(thin, c.thin) {
				t.Errorf("got  %q\nwant %q", thin, c.thin)
			}
		})
	}
}

// without removes the calls of the same kind as an operation.
func (h *told) without(operation model.Operation) *told {
	h.calls = slices.DeleteFunc(h.calls, func(c *Call) bool { return likeness(c.Operation) == likeness(operation) })
	return h
}

func TestHistory_UncountedOperation_ReturnsError(t *testing.T) {
	t.Parallel()
	if _, err := Tallies((&told{}).say(model.ChangeInventory{Method: http.MethodHead}, yes).calls); err == nil {
		t.Error("Tallies accepted an unknown kind")
	}
}
