package history

import (
	"net/http"
	"slices"
	"testing"
)

// busy is how a write ends that found no moment for itself.
func busy(a *Answer) { a.Status, a.Reason = http.StatusConflict, Busy }

// ofEachKind is a history in which each kind of request was accepted so often.
func ofEachKind(times int) *told {
	h := &told{district: NewDistrict(0)}
	for _, one := range tallied {
		for range times {
			h.say(one.like, yes)
		}
	}
	return h
}

func (h *told) sayOften(times int, wish Wish, change func(*Answer)) *told {
	for range times {
		h.say(wish, change)
	}
	return h
}

func TestAHistoryIsThinOrNot(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		history *told
		thin    []string
	}{
		"each kind accepted often enough": {history: ofEachKind(enough)},
		"one write too busy":              {history: ofEachKind(enough).say(leave{}, busy)},
		"two of a thousand writes too busy": {
			history: ofEachKind(enough).sayOften(1000, taking(0, 0, 1), yes).sayOften(2, leave{}, busy)},
		"two of few": {
			history: ofEachKind(enough).sayOften(2, leave{}, busy),
			thin:    []string{"all writes: 44 sent, 42 accepted, 2 found no moment for themselves, 0 lost; at most 1 may find none"},
		},
		"a kind that is always too busy, or lost": {
			history: ofEachKind(enough).without(move{}).say(move{}, busy).say(move{}, lost).say(move{}, no(Loop, 0, 0)),
			thin:    []string{"new parent: 3 sent, 0 accepted, 1 found no moment for themselves, 1 lost; at least 3 must be accepted"},
		},
		"a kind that was never sent": {
			history: ofEachKind(enough).without(offerOne{method: http.MethodPut}),
			thin:    []string{"change of an inventory: 0 sent, 0 accepted, 0 found no moment for themselves, 0 lost; at least 3 must be accepted"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tallies, err := Tallies(c.history.calls)
			if err != nil {
				t.Fatal(err)
			}
			if thin := Thin(tallies); !slices.Equal(thin, c.thin) {
				t.Errorf("got  %q\nwant %q", thin, c.thin)
			}
		})
	}
}

// without leaves out what is of the kind of a wish.
func (h *told) without(wish Wish) *told {
	h.calls = slices.DeleteFunc(h.calls, func(c *Call) bool { return likeness(c.Wish) == likeness(wish) })
	return h
}

func TestARequestOfAKindThatNobodyCountsIsAnError(t *testing.T) {
	t.Parallel()
	if _, err := Tallies((&told{}).say(offerOne{method: http.MethodHead}, yes).calls); err == nil {
		t.Error("it was counted")
	}
}
