package history

import (
	"fmt"
	"net/http"
)

// removed is the amount of an allocation that a patch removes; 0 is one that it does not name.
const removed = -1

// patchAllocations is PATCH /allocations/{consumer}.
type patchAllocations struct {
	nothing
	who   int
	given int64 // 0: not in the request
	// has are the amounts by provider and class: 0 (not named), removed, or the amount.
	has [providers]Amounts
	// gone are the providers whose allocations are all removed.
	gone [providers]bool
}

func (w patchAllocations) request(d *Partition) request {
	allocations := map[string]any{}
	for p := range w.has {
		amounts := map[string]any{}
		for class, amount := range w.has[p] {
			switch {
			case amount > 0:
				amounts[classes[class]] = amount
			case amount == removed:
				amounts[classes[class]] = nil
			}
		}
		switch {
		case w.gone[p]:
			allocations[d.providers[p].String()] = nil
		case len(amounts) > 0:
			allocations[d.providers[p].String()] = map[string]any{"resources": amounts}
		}
	}
	document := map[string]any{"allocations": allocations}
	if w.given > 0 {
		document["consumer_generation"] = w.given
	}
	return request{method: http.MethodPatch, path: "/allocations/" + d.consumers[w.who].String(), body: document, extended: true}
}

func (w patchAllocations) read(d *Partition, raw []byte, seen *Observed) error {
	return getAllocations{who: w.who}.read(d, raw, seen)
}

// patched returns the amounts of the consumer on a provider after the patch.
func (w patchAllocations) patched(p int, had Amounts) Amounts {
	if w.gone[p] {
		return Amounts{}
	}
	for class, amount := range w.has[p] {
		switch {
		case amount > 0:
			had[class] = amount
		case amount == removed:
			had[class] = 0
		}
	}
	return had
}

func (w patchAllocations) concerns(p int, been [consumers]bool) bool {
	return been[w.who] || w.gone[p] || w.has[p] != (Amounts{})
}

func (w patchAllocations) of(c int) bool { return c == w.who }

// changes returns a claim of the amounts that the patch changes, since it checks no others.
func (w patchAllocations) changes(p int, now *Provider) takes {
	made := want{consumer: w.who}
	after := w.patched(p, now.ByConsumer[w.who])
	for class := range after {
		if after[class] != now.ByConsumer[w.who][class] {
			made.has[p][class] = after[class]
		}
	}
	return takes{wants: []want{made}}
}

func (w patchAllocations) place(p int, now Provider, a *Response) (Provider, bool) {
	changes, after := w.changes(p, &now), w.patched(p, now.ByConsumer[w.who])
	switch a.Reason {
	case "":
		for class := range classes {
			if changes.judge(p, class, &now) != "" {
				return now, false
			}
		}
		if after != now.ByConsumer[w.who] {
			now.ByConsumer[w.who] = after
			now.Generation++
		}
		told := a.Observed.PlaceGenerations[p]
		isSeen := a.Observed.Generation == none || a.Observed.ByProvider[p] == after && (told == none || told == now.Generation)
		return now, isSeen && (now.Exists || after == Amounts{})
	case ProviderNotFound:
		return now, p != a.Provider || !now.Exists
	case NoInventory, WrongUnits, CapacityExceeded:
		return now, p != a.Provider || changes.breaks(p, a.Class, &now, a.Reason)
	case NoConsumer:
		return now, now.ByConsumer[w.who] == Amounts{}
	}
	return now, a.Reason == RetriesExhausted || a.Reason == ConsumerGenerationConflict
}

func (w patchAllocations) consumer(_ int, now Consumer, a *Response) (Consumer, bool) {
	isKnown := now.Generation > 0 && (w.given == 0 || w.given == now.Generation)
	switch a.Reason {
	case "":
		after := now
		for p := range after.ByProvider {
			after.ByProvider[p] = w.patched(p, now.ByProvider[p])
		}
		switch {
		case after.ByProvider == [providers]Amounts{}:
			after = Consumer{}
		case after.ByProvider != now.ByProvider:
			after.Generation++
		}
		isSeen := a.Observed.Generation == none || after == Consumer{Generation: a.Observed.Generation, ByProvider: a.Observed.ByProvider}
		return after, isKnown && isSeen
	case NoConsumer:
		return now, now.Generation == 0
	case ConsumerGenerationConflict:
		return now, now.Generation > 0 && !isKnown && a.Expected == now.Generation
	case ProviderNotFound, NoInventory, WrongUnits, CapacityExceeded:
		return now, isKnown
	}
	return now, a.Reason == RetriesExhausted
}

// withoutUnlocked returns the response without the generations of the providers on which nothing changes. The request does
// not lock them, so these are generations of some moment during the request, not of its position in the order.
func (w patchAllocations) withoutUnlocked(now *State, a *Response) *Response {
	reduced := *a
	for p := range now.Places {
		if had := now.Places[p].ByConsumer[w.who]; w.patched(p, had) == had {
			reduced.Observed.PlaceGenerations[p] = none
		}
	}
	return &reduced
}

func (w patchAllocations) String() string {
	return fmt.Sprintf("patch the allocations of consumer %d at %d with %v, without %v", w.who, w.given, w.has, w.gone)
}
