package history

import (
	"fmt"
	"strings"
)

// want is the requested allocations of one consumer.
type want struct {
	consumer int
	// given is the consumer generation in the request; 0: a new consumer.
	given int64
	has   [providers]Amounts
}

// takes is the part of a request that sets the allocations of consumers.
type takes struct {
	nothing
	wants []want
}

// claimsAllocations reports whether an operation sets allocations. Its errors must name the provider.
func claimsAllocations(of Operation) bool {
	switch operation := of.(type) {
	case dryRun:
		return claimsAllocations(operation.Operation)
	case patchAllocations:
		return true
	}
	return wants(of) != nil
}

// wanted returns the allocations that a call has set or would have set.
func (c *Call) wanted() []want {
	switch operation := c.Operation.(type) {
	case claimFound:
		return operation.takes(&c.Answer).wants
	case claimNamed:
		return operation.takes(&c.Answer).wants
	case patchAllocations:
		return []want{{consumer: operation.who, has: operation.has}}
	}
	return wants(c.Operation)
}

// wants returns the allocations that an operation sets; nil for an operation without allocations.
func wants(of Operation) []want {
	switch operation := of.(type) {
	case claim:
		return operation.wants
	case reshape:
		return append([]want{}, operation.wants...)
	}
	return nil
}

func (w takes) concerns(p int, been [consumers]bool) bool {
	for _, one := range w.wants {
		if been[one.consumer] || one.has[p] != (Amounts{}) {
			return true
		}
	}
	return false
}

func (w takes) of(c int) bool {
	for _, one := range w.wants {
		if one.consumer == c {
			return true
		}
	}
	return false
}

// resources returns amounts as JSON, by class.
func resources(of Amounts) map[string]int64 {
	made := map[string]int64{}
	for class, amount := range of {
		if amount > 0 {
			made[classes[class]] = amount
		}
	}
	return made
}

// allocationsDocument returns allocations as JSON, by provider.
func allocationsDocument(d *Partition, has [providers]Amounts) map[string]any {
	made := map[string]any{}
	for p := range has {
		if has[p] != (Amounts{}) {
			made[d.providers[p].String()] = map[string]any{"resources": resources(has[p])}
		}
	}
	return made
}

// document returns the body, by consumer.
func (w takes) document(d *Partition) map[string]any {
	made := map[string]any{}
	for _, one := range w.wants {
		claim := map[string]any{
			"allocations": allocationsDocument(d, one.has), "project_id": "project", "user_id": "user",
			"consumer_type": "INSTANCE", "consumer_generation": nil,
		}
		if one.given > 0 {
			claim["consumer_generation"] = one.given
		}
		made[d.consumers[one.consumer].String()] = claim
	}
	return made
}

// judge returns the rule that the requested amounts of a class on a provider violate; empty: none.
func (w takes) judge(p, class int, now *Provider) Reason {
	var had, wanted int64
	offer := now.Inventories[class]
	wrong := false
	for _, one := range w.wants {
		amount := one.has[p][class]
		had += now.ByConsumer[one.consumer][class]
		wanted += amount
		wrong = wrong || amount > 0 && !offer.permits(amount)
	}
	switch {
	case wanted == 0:
		return ""
	case offer.Total == 0:
		return NoInventory
	case wrong:
		return WrongUnits
	case wanted > had && float64(now.used(class)-had+wanted) > offer.capacity():
		return CapacityExceeded
	}
	return ""
}

// breaks reports whether the requested amounts violate a rule. If they violate two, the server may
// report either, because it reports the first in the order of the request.
func (w takes) breaks(p, class int, now *Provider, reason Reason) bool {
	if !now.Exists || class < 0 {
		return false
	}
	found := w.judge(p, class, now)
	if reason == CapacityExceeded && found == WrongUnits {
		plain := *now
		plain.Inventories[class].MinUnit, plain.Inventories[class].MaxUnit, plain.Inventories[class].StepSize = 1, 1<<30, 1
		found = w.judge(p, class, &plain)
	}
	return found == reason
}

// take returns the provider after the claim, or false if a rule rejects it. The generation of a
// provider increases if the request contains it, or if it was used by a consumer without requested
// allocations.
func (w takes) take(p int, now Provider) (Provider, bool) {
	rises := false
	for class := range classes {
		if w.judge(p, class, &now) != "" {
			return now, false
		}
	}
	for _, one := range w.wants {
		named, isGone := one.has[p] != (Amounts{}), one.has == ([providers]Amounts{})
		rises = rises || named || isGone && now.ByConsumer[one.consumer] != (Amounts{})
		now.ByConsumer[one.consumer] = one.has[p]
	}
	if rises {
		now.Generation++
	}
	return now, now.Exists || !rises
}

func (w takes) place(p int, now Provider, a *Response) (Provider, bool) {
	switch a.Reason {
	case "":
		return w.take(p, now)
	case ProviderNotFound:
		return now, p != a.Provider || !now.Exists
	case NoInventory, WrongUnits, CapacityExceeded:
		return now, p != a.Provider || w.breaks(p, a.Class, &now, a.Reason)
	}
	return now, a.Reason == RetriesExhausted || a.Reason == ConsumerGenerationConflict
}

func (w takes) consumer(c int, now Consumer, a *Response) (Consumer, bool) {
	for _, one := range w.wants {
		if one.consumer != c {
			continue
		}
		isKnown := now.Generation == one.given
		switch a.Reason {
		case "":
			if one.has == ([providers]Amounts{}) {
				return Consumer{}, isKnown
			}
			return Consumer{Generation: now.Generation + 1, ByProvider: one.has}, isKnown
		case ConsumerGenerationConflict:
			// The error does not name the consumer, if there are several.
			return now, len(w.wants) > 1 || !isKnown && a.Expected == now.Generation
		case ProviderNotFound, NoInventory, WrongUnits, CapacityExceeded:
			return now, isKnown // the server checks the generation first
		}
		return now, a.Reason == RetriesExhausted
	}
	return now, true
}

func (w takes) whole(now *State, a *Response) bool {
	if a.Reason != ConsumerGenerationConflict {
		return true
	}
	for _, one := range w.wants {
		if actual := now.Consumers[one.consumer].Generation; actual != one.given && actual == a.Expected {
			return true
		}
	}
	return false
}

func (w takes) String() string {
	var parts []string
	for _, one := range w.wants {
		parts = append(parts, fmt.Sprintf("consumer %d at %d claims %s", one.consumer, one.given, describeHas(one.has)))
	}
	return strings.Join(parts, ", ")
}

// claim is PUT /allocations/{consumer} for one consumer and POST /allocations for several.
type claim struct{ takes }

func (w claim) request(d *Partition) request {
	document := w.document(d)
	if len(w.wants) > 1 {
		return request{method: "POST", path: "/allocations", body: document}
	}
	consumer := d.consumers[w.wants[0].consumer].String()
	return request{method: "PUT", path: "/allocations/" + consumer, body: document[consumer]}
}

// deleteAllocations is DELETE /allocations/{consumer}.
type deleteAllocations struct {
	nothing
	who   int
	given int64 // 0: not in the request
}

func (w deleteAllocations) request(d *Partition) request {
	made := request{method: "DELETE", path: "/allocations/" + d.consumers[w.who].String()}
	if w.given > 0 {
		return made.comparing("consumer_generation", w.given)
	}
	return made
}

func (w deleteAllocations) concerns(_ int, been [consumers]bool) bool { return been[w.who] }

func (w deleteAllocations) of(c int) bool { return c == w.who }

func (w deleteAllocations) place(_ int, now Provider, a *Response) (Provider, bool) {
	switch a.Reason {
	case "":
		now.ByConsumer[w.who] = Amounts{}
	case NoConsumer:
		return now, now.ByConsumer[w.who] == Amounts{}
	}
	return now, a.Reason == "" || a.Reason == RetriesExhausted || a.Reason == ConsumerGenerationConflict
}

func (w deleteAllocations) consumer(_ int, now Consumer, a *Response) (Consumer, bool) {
	switch a.Reason {
	case "":
		return Consumer{}, now.Generation > 0 && (w.given == 0 || w.given == now.Generation)
	case NoConsumer:
		return now, now.Generation == 0
	case ConsumerGenerationConflict:
		return now, now.Generation > 0 && w.given > 0 && w.given != now.Generation && a.Expected == now.Generation
	}
	return now, a.Reason == RetriesExhausted
}

func (w deleteAllocations) String() string {
	return fmt.Sprintf("delete the allocations of consumer %d at %d", w.who, w.given)
}
