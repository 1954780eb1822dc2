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

// Coverage is what came of all requests of one kind.
type Coverage struct {
	Kind                                   string
	Sent, Accepted, RetriesExhausted, Lost int

	writes bool
}

func (t Coverage) String() string {
	return fmt.Sprintf("%s: %d sent, %d accepted, %d found no moment for themselves, %d lost",
		t.Kind, t.Sent, t.Accepted, t.RetriesExhausted, t.Lost)
}

// tallied are the kinds of requests that clients draw, with an example of each.
var tallied = []struct {
	kind   string
	writes bool
	like   Operation
}{
	{"claim for one consumer", true, claim{takes{wants: make([]want, 1)}}},
	{"claim for several consumers", true, claim{takes{wants: make([]want, 2)}}},
	{"release", true, deleteAllocations{}},
	{"replacement of all inventories", true, putInventories{}},
	{"new inventory", true, changeInventory{method: http.MethodPost}},
	{"change of an inventory", true, changeInventory{method: http.MethodPut}},
	{"deletion of an inventory", true, changeInventory{method: http.MethodDelete}},
	{"deletion of all inventories", true, deleteInventories{}},
	{"replacement of traits", true, replaceTraits{}},
	{"reshape of providers only", true, reshape{}},
	{"reshape with consumers", true, reshape{takes: takes{wants: make([]want, 2)}}},
	{"new parent", true, reparentProvider{}},
	{"new provider", true, createProvider{}},
	{"deletion of a provider", true, deleteProvider{}},
	{"look at a consumer", false, getAllocations{}},
	{"look at allocations", false, getProviderAllocations{}},
	{"look at inventories", false, getInventories{}},
	{"look at usages", false, getUsages{}},
	{"look at a provider", false, getProvider{}},
	{"look at traits", false, getTraits{}},
}

// likeness returns the kind of an operation: its type, its method, and whether it has no, one or several consumers.
func likeness(of Operation) string {
	made := fmt.Sprintf("%T %d", of, min(len(wants(of)), 2))
	if one, ok := of.(changeInventory); ok {
		made += one.method
	}
	return made
}

// Tallies counts the calls by kind, also those kinds of which there are none. A kind
// that is not listed above is an error.
func Tallies(calls []*Call) ([]Coverage, error) {
	made := make([]Coverage, len(tallied))
	numbers := map[string]int{}
	for i, one := range tallied {
		made[i] = Coverage{Kind: one.kind, writes: one.writes}
		numbers[likeness(one.like)] = i
	}
	for _, call := range calls {
		number, known := numbers[likeness(call.Operation)]
		if !known {
			return nil, fmt.Errorf("a kind of request that is not counted: %s", call.Operation)
		}
		count := &made[number]
		count.Sent++
		switch {
		case call.Answer.Lost:
			count.Lost++
		case call.Answer.Reason == RetriesExhausted:
			count.RetriesExhausted++
		case call.Answer.Reason == "":
			count.Accepted++
		}
	}
	return made, nil
}

// Undercovered returns a sentence for each kind of request that was accepted too seldom, and
// one if too many of all writes found no moment for themselves.
func Undercovered(tallies []Coverage) (findings []string) {
	writes := Coverage{Kind: "all writes"}
	for _, count := range tallies {
		if count.Accepted < enough {
			findings = append(findings, fmt.Sprintf("%s; at least %d must be accepted", count, enough))
		}
		if count.writes {
			writes.Sent += count.Sent
			writes.Accepted += count.Accepted
			writes.RetriesExhausted += count.RetriesExhausted
			writes.Lost += count.Lost
		}
	}
	if most := 1 + writes.Sent/perBusy; writes.RetriesExhausted > most {
		findings = append(findings, fmt.Sprintf("%s; at most %d may find none", writes, most))
	}
	return findings
}
