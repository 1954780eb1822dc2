package history

import (
	"fmt"
	"net/http"

	"github.com/berthd/berth/internal/test/model"
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
	like   model.Operation
}{
	{"claim for one consumer", true, model.Claim{Wants: make([]model.Want, 1)}},
	{"claim for several consumers", true, model.Claim{Wants: make([]model.Want, 2)}},
	{"search and claim", true, model.ClaimFound{}},
	{"claim of a candidate", true, model.ClaimNamed{}},
	{"patch of allocations", true, model.PatchAllocations{}},
	{"dry run", true, model.DryRun{}},
	{"release", true, model.DeleteAllocations{}},
	{"replacement of all inventories", true, model.ReplaceInventories{}},
	{"new inventory", true, model.ChangeInventory{Method: http.MethodPost}},
	{"change of an inventory", true, model.ChangeInventory{Method: http.MethodPut}},
	{"deletion of an inventory", true, model.ChangeInventory{Method: http.MethodDelete}},
	{"deletion of all inventories", true, model.ReplaceInventories{IsDelete: true}},
	{"replacement of traits", true, model.ReplaceTraits{}},
	{"replacement of a tree", true, model.ReplaceTree{}},
	{"reshape of providers only", true, model.Reshape{}},
	{"reshape with consumers", true, model.Reshape{Wants: make([]model.Want, 2)}},
	{"new parent", true, model.UpdateProvider{}},
	{"new provider", true, model.CreateProvider{}},
	{"deletion of a provider", true, model.DeleteProvider{}},
	{"renewal of a lease", true, model.RenewLease{}},
	{"end of a lease", false, model.ExpireLease{}},
	{"removal of a consumer", false, model.RemoveExpired{}},
	{"look at a consumer", false, model.ReadAllocations{}},
	{"look at allocations", false, model.Read{Part: model.PartAllocations}},
	{"look at inventories", false, model.Read{Part: model.PartInventories}},
	{"look at usages", false, model.Read{Part: model.PartUsages}},
	{"look at a provider", false, model.Read{}},
	{"look at traits", false, model.Read{Part: model.PartTraits}},
	{"look at a tree", false, model.ReadTree{}},
}

// likeness returns the kind of an operation: its type, its method or part, and whether it has no, one or several consumers.
func likeness(of model.Operation) string {
	made := fmt.Sprintf("%T %d", of, min(len(wants(of)), 2))
	switch w := of.(type) {
	case model.ChangeInventory:
		made += w.Method
	case model.ReplaceInventories:
		made += fmt.Sprint(w.IsDelete)
	case model.Read:
		made += string(w.Part)
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
			return nil, fmt.Errorf("unknown kind of request: %s", model.Describe(call.Operation))
		}
		count := &made[number]
		count.Sent++
		switch {
		case call.Answer.Lost:
			count.Lost++
		case call.Answer.Reason == model.RetriesExhausted:
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
