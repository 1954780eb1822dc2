package history

import "fmt"

// shape is the new inventories of a provider.
type shape struct {
	at     int
	given  int64
	offers [len(classes)]Inventory
}

// reshape is POST /reshaper.
type reshape struct {
	takes
	shapes []shape
}

func (w reshape) request(d *Partition) request {
	inventories := map[string]any{}
	for _, one := range w.shapes {
		inventories[d.providers[one.at].String()] = map[string]any{
			"resource_provider_generation": one.given, "inventories": records(one.offers),
		}
	}
	return request{method: "POST", path: "/reshaper", body: map[string]any{"inventories": inventories, "allocations": w.document(d)}}
}

func (w reshape) of(c int) bool { return w.takes.of(c) }

// shape returns the shape of a provider; nil without new inventories.
func (w reshape) shape(p int) *shape {
	for i := range w.shapes {
		if w.shapes[i].at == p {
			return &w.shapes[i]
		}
	}
	return nil
}

func (w reshape) concerns(p int, been [consumers]bool) bool {
	return w.shape(p) != nil || w.takes.concerns(p, been)
}

// union returns a provider with its old and its new inventories, which is its state between the
// first and the last step. Its generation is incremented if there are new ones.
func (s *shape) union(now Provider) Provider {
	rises := false
	for class, offer := range s.offers {
		if offer.Total > 0 {
			now.Inventories[class] = offer
			rises = true
		}
	}
	if rises {
		now.Generation++
	}
	return now
}

func (w reshape) place(p int, now Provider, a *Response) (Provider, bool) {
	of := w.shape(p)
	if of == nil {
		if a.Reason == NoShape || a.Reason == ProviderGenerationConflict || a.Reason == InUse {
			return now, p != a.Provider
		}
		return w.takes.place(p, now, a)
	}
	switch a.Reason {
	case NoShape:
		return now, p != a.Provider || !now.Exists
	case ProviderGenerationConflict:
		return now, p != a.Provider || now.Exists && now.Generation != of.given
	case RetriesExhausted:
		return now, true
	}
	// The server checks the generations before all other rules.
	if !now.Exists || now.Generation != of.given {
		return now, false
	}
	if a.Reason != "" && a.Reason != InUse {
		_, holds := w.takes.place(p, of.union(now), a)
		return now, holds
	}
	after, fits := w.take(p, of.union(now))
	if a.Reason == InUse {
		return now, p != a.Provider || fits && after.inUseBut(of.offers)
	}
	after.Generation++
	after.Inventories = of.offers
	return after, fits && !after.inUseBut(of.offers)
}

func (w reshape) consumer(c int, now Consumer, a *Response) (Consumer, bool) {
	switch a.Reason {
	case NoShape, ProviderGenerationConflict:
		return now, true // the server checks them before
	case InUse:
		_, isKnown := w.takes.consumer(c, now, &Response{})
		return now, isKnown
	}
	return w.takes.consumer(c, now, a)
}

func (w reshape) String() string {
	return fmt.Sprintf("reshape %v and %s", w.shapes, w.takes)
}
