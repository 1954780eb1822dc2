package history

import (
	"fmt"
	"net/http"
)

// The floor under a history. No moment for itself is right in every state, so an order
// may well explain a service that accepts hardly anything; but that shows little.
const (
	// enough is how often each kind of request must have been accepted.
	enough = 3
	// perBusy is for how many writes one may find no moment for itself, and one at all.
	// A service that is right begins about four of a thousand writes again, each up to
	// three times, so that next to none gets so far.
	perBusy = 1000
)

// Tally is what came of all requests of one kind.
type Tally struct {
	Kind                       string
	Sent, Accepted, Busy, Lost int

	writes bool
}

func (t Tally) String() string {
	return fmt.Sprintf("%s: %d sent, %d accepted, %d found no moment for themselves, %d lost",
		t.Kind, t.Sent, t.Accepted, t.Busy, t.Lost)
}

// tallied are the kinds of requests that clients draw, with an example of each.
var tallied = []struct {
	kind   string
	writes bool
	like   Wish
}{
	{"claim for one consumer", true, claim{takes{wants: make([]want, 1)}}},
	{"claim for several consumers", true, claim{takes{wants: make([]want, 2)}}},
	{"release", true, leave{}},
	{"replacement of all inventories", true, offerAll{}},
	{"new inventory", true, offerOne{method: http.MethodPost}},
	{"change of an inventory", true, offerOne{method: http.MethodPut}},
	{"deletion of an inventory", true, offerOne{method: http.MethodDelete}},
	{"deletion of all inventories", true, withdrawAll{}},
	{"replacement of traits", true, describeTraits{}},
	{"reshape of providers only", true, reshape{}},
	{"reshape with consumers", true, reshape{takes: takes{wants: make([]want, 2)}}},
	{"new parent", true, move{}},
	{"new provider", true, found{}},
	{"deletion of a provider", true, remove{}},
	{"look at a consumer", false, lookConsumer{}},
	{"look at allocations", false, lookTaken{}},
	{"look at inventories", false, lookOffers{}},
	{"look at usages", false, lookUsages{}},
	{"look at a provider", false, lookPlace{}},
	{"look at traits", false, lookTraits{}},
}

// likeness is the same for wishes of one kind: their type, their method, and whether
// they are about no, one or several consumers.
func likeness(of Wish) string {
	made := fmt.Sprintf("%T %d", of, min(len(wants(of)), 2))
	if one, ok := of.(offerOne); ok {
		made += one.method
	}
	return made
}

// Tallies counts the calls by kind, also those kinds of which there are none. A kind
// that is not listed above is an error.
func Tallies(calls []*Call) ([]Tally, error) {
	made := make([]Tally, len(tallied))
	numbers := map[string]int{}
	for i, one := range tallied {
		made[i] = Tally{Kind: one.kind, writes: one.writes}
		numbers[likeness(one.like)] = i
	}
	for _, call := range calls {
		number, known := numbers[likeness(call.Wish)]
		if !known {
			return nil, fmt.Errorf("a kind of request that is not counted: %s", call.Wish)
		}
		count := &made[number]
		count.Sent++
		switch {
		case call.Answer.Lost:
			count.Lost++
		case call.Answer.Reason == Busy:
			count.Busy++
		case call.Answer.Reason == "":
			count.Accepted++
		}
	}
	return made, nil
}

// Thin returns a sentence for each kind of request that was accepted too seldom, and
// one if too many of all writes found no moment for themselves.
func Thin(tallies []Tally) (findings []string) {
	writes := Tally{Kind: "all writes"}
	for _, count := range tallies {
		if count.Accepted < enough {
			findings = append(findings, fmt.Sprintf("%s; at least %d must be accepted", count, enough))
		}
		if count.writes {
			writes.Sent += count.Sent
			writes.Accepted += count.Accepted
			writes.Busy += count.Busy
			writes.Lost += count.Lost
		}
	}
	if most := 1 + writes.Sent/perBusy; writes.Busy > most {
		findings = append(findings, fmt.Sprintf("%s; at most %d may find none", writes, most))
	}
	return findings
}
