package history

import (
	"fmt"
	"net/http"
)

// requestGroup is a request group of a query: amounts on one provider that has a trait.
type requestGroup struct {
	amounts Amounts
	// required are the required traits, one bit each.
	required uint8
}

// maxGroups is the maximum number of request groups of a query.
const maxGroups = 2

// suffixes are the suffixes of the request groups.
var suffixes = [maxGroups]string{"_A", "_B"}

// claimFound is POST /claims with a query for one consumer, in the tree of a provider. The choice is the server's; the model
// takes it from the response.
type claimFound struct {
	who int
	// given is the consumer generation; 0: a new consumer. The allocations of another one are replaced.
	given  int64
	tree   int
	groups []requestGroup
	order  string // empty: the default
}

// consumerDocument returns the members of POST /claims that describe the consumer.
func consumerDocument(d *Partition, who int, given int64) map[string]any {
	consumer := map[string]any{
		"uuid": d.consumers[who].String(), "project_id": "project", "user_id": "user", "consumer_type": "INSTANCE",
		"consumer_generation": nil,
	}
	made := map[string]any{"consumers": []any{consumer}}
	if given > 0 {
		consumer["consumer_generation"], made["existing"] = given, "replace"
	}
	return made
}

func (w claimFound) request(d *Partition) request {
	groups := map[string]any{}
	for i, one := range w.groups {
		group := map[string]any{"resources": resources(one.amounts), "in_tree": d.providers[w.tree].String()}
		if one.required != 0 {
			group["required"] = traitNames(one.required)
		}
		groups[suffixes[i]] = group
	}
	query := map[string]any{"groups": groups}
	if len(groups) > 1 {
		query["group_policy"] = "none"
	}
	if w.order != "" {
		query["order"] = w.order
	}
	body := consumerDocument(d, w.who, w.given)
	body["queries"] = []any{query}
	return request{method: http.MethodPost, path: "/claims", body: body, extended: true}
}

// claimed is the response to POST /claims.
type claimed struct {
	Claims []struct {
		Generation  int64 `json:"consumer_generation"`
		Allocations map[string]struct {
			Resources  map[string]int64
			Generation int64
		}
		Mappings map[string][]string
		Root     string `json:"root_provider_uuid"`
	}
	Candidate *int
}

func readClaimed(d *Partition, raw []byte, seen *Observed) (claimed, error) {
	read, err := body[claimed](raw)
	if err != nil {
		return read, err
	}
	if len(read.Claims) != 1 {
		return read, fmt.Errorf("%d claims, want 1", len(read.Claims))
	}
	seen.Generation, seen.Root = read.Claims[0].Generation, d.number(read.Claims[0].Root)
	for id, of := range read.Claims[0].Allocations {
		p := d.number(id)
		if p == none {
			return read, fmt.Errorf("unknown provider %s", id)
		}
		seen.PlaceGenerations[p] = of.Generation
		if err := readAmounts(of.Resources, (*[len(classes)]int64)(&seen.ByProvider[p])); err != nil {
			return read, err
		}
	}
	return read, nil
}

func (w claimFound) read(d *Partition, raw []byte, seen *Observed) error {
	read, err := readClaimed(d, raw, seen)
	if err != nil {
		return err
	}
	var sum [providers]Amounts
	for i, group := range w.groups {
		served := read.Claims[0].Mappings[suffixes[i]]
		if len(served) != 1 || d.number(served[0]) == none {
			return fmt.Errorf("group %s is served by %v", suffixes[i], served)
		}
		seen.Served[i] = d.number(served[0])
		for class, amount := range group.amounts {
			sum[seen.Served[i]][class] += amount
		}
	}
	if sum != seen.ByProvider {
		return fmt.Errorf("the allocations %v are not those of the groups %v at %v", seen.ByProvider, w.groups, seen.Served)
	}
	return nil
}

func (w claimFound) concerns(int, [consumers]bool) bool { return true }

func (w claimFound) of(c int) bool { return c == w.who }

// takes returns the claim as the allocations that the server has chosen.
func (w claimFound) takes(a *Response) takes {
	return takes{wants: []want{{consumer: w.who, given: w.given, has: a.Observed.ByProvider}}}
}

// fits reports whether a provider can serve a group at the search. What the consumer has counts as free. The claim itself
// permits more, as PUT does: an amount that does not increase fits on a provider over capacity.
func (w claimFound) fits(group *requestGroup, now *Provider) bool {
	for class, amount := range group.amounts {
		if amount == 0 {
			continue
		}
		offer, had := now.Inventories[class], now.ByConsumer[w.who][class]
		if offer.Total == 0 || !offer.permits(amount) || float64(now.used(class)-had+amount) > offer.capacity() {
			return false
		}
	}
	return now.Exists && now.Traits&group.required == group.required
}

func (w claimFound) place(p int, now Provider, a *Response) (Provider, bool) {
	switch a.Reason {
	case "":
		for i, group := range w.groups {
			if a.Observed.Served[i] == p && now.Traits&group.required != group.required {
				return now, false
			}
		}
		return placeClaimed(p, now, a, w.takes(a))
	case NothingFits:
		isCandidate := p == w.tree
		for i := range w.groups {
			isCandidate = isCandidate && w.fits(&w.groups[i], &now)
		}
		return now, !isCandidate
	}
	return now, a.Reason == ConsumerGenerationConflict || a.Reason == RetriesExhausted
}

// placeClaimed returns a provider after a claim, and whether its generation is that of the response.
func placeClaimed(p int, now Provider, a *Response, of takes) (Provider, bool) {
	after, fits := of.take(p, now)
	told := a.Observed.PlaceGenerations[p]
	return after, fits && (told == none || told == after.Generation)
}

func (w claimFound) consumer(c int, now Consumer, a *Response) (Consumer, bool) {
	return consumerClaimed(c, now, a, w.takes(a))
}

// consumerClaimed returns a consumer after a claim. The server compares its generation before it reports that nothing fits.
func consumerClaimed(c int, now Consumer, a *Response, of takes) (Consumer, bool) {
	if a.Reason == NothingFits {
		return now, now.Generation == of.wants[0].given
	}
	after, holds := of.consumer(c, now, a)
	return after, holds && (a.Reason != "" || a.Observed.fits(after.Generation))
}

func (w claimFound) whole(now *State, a *Response) bool {
	root := now.root(w.tree)
	switch a.Reason {
	case "":
		for i := range w.groups {
			if served := a.Observed.Served[i]; served == none || now.root(served) != root {
				return false
			}
		}
		return root != none && root == a.Observed.Root
	case NothingFits:
		// No two groups have the same class, so each fits where it fits alone.
		for i := range w.groups {
			if !w.isServed(now, root, i) {
				return true
			}
		}
		return root == none
	}
	return true
}

// isServed reports whether a provider of a tree can serve a group.
func (w claimFound) isServed(now *State, root, group int) bool {
	for p := range now.Places {
		if now.Places[p].Exists && now.root(p) == root && w.fits(&w.groups[group], &now.Places[p]) {
			return true
		}
	}
	return false
}

func (w claimFound) String() string {
	return fmt.Sprintf("consumer %d at %d claims %v in the tree of place %d", w.who, w.given, w.groups, w.tree)
}
