package history

import (
	"fmt"
	"net/http"
)

// The minimum coverage of a history. RetriesExhausted is valid in every state, so an order may
// explain a server that rejects almost all writes, which proves little.
const (
	// enough is the minimum number of accepted requests of each kind.
	enough = 3
	// perBusy is the number of writes per RetriesExhausted, of which one is always permitted. A
	// correct server retries about four of a thousand writes, each up to three times, so that
	// almost none exhausts its retries.
	perBusy = 1000
)

// Coverage is the number of requests of one kind by result.
type Coverage struct {
	Kind                                   string
	Sent, Accepted, RetriesExhausted, Lost int

	writes bool
}

func (t Coverage) String() string {
	return fmt.Sprintf("%s: %d sent, %d accepted, %d exhausted their retries, %d lost",
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
	{"search and claim", true, claimFound{}},
	{"claim of a candidate", true, claimNamed{}},
	{"patch of allocations", true, patchAllocations{}},
	{"dry run", true, dryRun{}},
	{"release", true, deleteAllocations{}},
	{"replacement of all inventories", true, putInventories{}},
	{"new inventory", true, changeInventory{method: http.MethodPost}},
	{"change of an inventory", true, changeInventory{method: http.MethodPut}},
	{"deletion of an inventory", true, changeInventory{method: http.MethodDelete}},
	{"deletion of all inventories", true, deleteInventories{}},
	{"replacement of traits", true, replaceTraits{}},
	{"replacement of a tree", true, replaceTree{}},
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
	{"look at a tree", false, showTree{}},
}

// likeness returns the kind of an operation: its type, its method, and whether it has no, one or several consumers.
func likeness(of Operation) string {
	made := fmt.Sprintf("%T %d", of, min(len(wants(of)), 2))
	if one, ok := of.(changeInventory); ok {
		made += one.method
	}
	return made
}

// Tallies returns the coverage of each kind in tallied, including kinds without calls. A call of
// another kind is an error.
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
			return nil, fmt.Errorf("unknown kind of request: %s", call.Operation)
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

// Undercovered returns a sentence for each kind with too few accepted requests, and one if too many
// writes exhausted their retries.
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
		findings = append(findings, fmt.Sprintf("%s; at most %d may exhaust them", writes, most))
	}
	return findings
}
