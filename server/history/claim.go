package history

import (
	"fmt"
	"strings"
)

// want is what one consumer is to have.
type want struct {
	consumer int
	// given is the generation that the client knows; 0: it knows of no consumer.
	given int64
	has   [places]Amounts
}

// takes is what requests have in common that say what consumers are to have.
type takes struct {
	nothing
	wants []want
}

// wants are what consumers are to have by a wish; nil for a wish that is about
// something else.
func wants(of Wish) []want {
	switch wish := of.(type) {
	case claim:
		return wish.wants
	case reshape:
		return append([]want{}, wish.wants...)
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

// document is the body by consumer.
func (w takes) document(d *District) map[string]any {
	made := map[string]any{}
	for _, one := range w.wants {
		allocations := map[string]any{}
		for p := range one.has {
			resources := map[string]int64{}
			for class, amount := range one.has[p] {
				if amount > 0 {
					resources[classes[class]] = amount
				}
			}
			if len(resources) > 0 {
				allocations[d.places[p].String()] = map[string]any{"resources": resources}
			}
		}
		claim := map[string]any{
			"allocations": allocations, "project_id": "project", "user_id": "user",
			"consumer_type": "INSTANCE", "consumer_generation": nil,
		}
		if one.given > 0 {
			claim["consumer_generation"] = one.given
		}
		made[d.consumers[one.consumer].String()] = claim
	}
	return made
}

// judge says what of a class of a provider the wants break; empty: nothing.
func (w takes) judge(p, class int, now *Place) Reason {
	var had, wanted int64
	offer := now.Offers[class]
	wrong := false
	for _, one := range w.wants {
		amount := one.has[p][class]
		had += now.Taken[one.consumer][class]
		wanted += amount
		wrong = wrong || amount > 0 && (amount < int64(offer.Least) || amount > int64(offer.Most) || amount%int64(offer.Step) != 0)
	}
	switch {
	case wanted == 0:
		return ""
	case offer.Total == 0:
		return NoOffer
	case wrong:
		return WrongUnits
	case wanted > had && float64(now.used(class)-had+wanted) > offer.capacity():
		return Full
	}
	return ""
}

// breaks says whether the wants break a certain rule. Of two that they break, the
// first in the order of the request is named, so that both can be right.
func (w takes) breaks(p, class int, now *Place, reason Reason) bool {
	if !now.Exists || class < 0 {
		return false
	}
	found := w.judge(p, class, now)
	if reason == Full && found == WrongUnits {
		plain := *now
		plain.Offers[class].Least, plain.Offers[class].Most, plain.Offers[class].Step = 1, 1<<30, 1
		found = w.judge(p, class, &plain)
	}
	return found == reason
}

// take is a provider after the wants; false: they do not fit. Its generation rises if
// it is named, or was used by a consumer that is gone now.
func (w takes) take(p int, now Place) (Place, bool) {
	rises := false
	for class := range classes {
		if w.judge(p, class, &now) != "" {
			return now, false
		}
	}
	for _, one := range w.wants {
		named, isGone := one.has[p] != (Amounts{}), one.has == ([places]Amounts{})
		rises = rises || named || isGone && now.Taken[one.consumer] != (Amounts{})
		now.Taken[one.consumer] = one.has[p]
	}
	if rises {
		now.Generation++
	}
	return now, now.Exists || !rises
}

func (w takes) place(p int, now Place, a *Answer) (Place, bool) {
	switch a.Reason {
	case "":
		return w.take(p, now)
	case NoPlace:
		return now, p != a.Place || !now.Exists
	case NoOffer, WrongUnits, Full:
		return now, p != a.Place || w.breaks(p, a.Class, &now, a.Reason)
	}
	return now, a.Reason == Busy || a.Reason == StaleConsumer
}

func (w takes) consumer(c int, now Consumer, a *Answer) (Consumer, bool) {
	for _, one := range w.wants {
		if one.consumer != c {
			continue
		}
		isKnown := now.Generation == one.given
		switch a.Reason {
		case "":
			if one.has == ([places]Amounts{}) {
				return Consumer{}, isKnown
			}
			return Consumer{Generation: now.Generation + 1, Has: one.has}, isKnown
		case StaleConsumer:
			// Which of several it was is not said.
			return now, len(w.wants) > 1 || !isKnown && a.Expected == now.Generation
		case NoPlace, NoOffer, WrongUnits, Full:
			return now, isKnown // which is looked at first
		}
		return now, a.Reason == Busy
	}
	return now, true
}

func (w takes) whole(now *State, a *Answer) bool {
	if a.Reason != StaleConsumer {
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
		parts = append(parts, fmt.Sprintf("consumer %d at %d takes %s", one.consumer, one.given, describeHas(one.has)))
	}
	return strings.Join(parts, ", ")
}

// claim is PUT /allocations/{consumer} for one consumer and POST for several.
type claim struct{ takes }

func (w claim) request(d *District) request {
	document := w.document(d)
	if len(w.wants) > 1 {
		return request{"POST", "/allocations", document}
	}
	consumer := d.consumers[w.wants[0].consumer].String()
	return request{"PUT", "/allocations/" + consumer, document[consumer]}
}

// leave is DELETE /allocations/{consumer}.
type leave struct {
	nothing
	who int
}

func (w leave) request(d *District) request {
	return request{"DELETE", "/allocations/" + d.consumers[w.who].String(), nil}
}

func (w leave) concerns(_ int, been [consumers]bool) bool { return been[w.who] }

func (w leave) of(c int) bool { return c == w.who }

func (w leave) place(_ int, now Place, a *Answer) (Place, bool) {
	switch a.Reason {
	case "":
		now.Taken[w.who] = Amounts{}
	case NoConsumer:
		return now, now.Taken[w.who] == Amounts{}
	}
	return now, a.Reason == "" || a.Reason == Busy
}

func (w leave) consumer(_ int, now Consumer, a *Answer) (Consumer, bool) {
	switch a.Reason {
	case "":
		return Consumer{}, now.Generation > 0
	case NoConsumer:
		return now, now.Generation == 0
	}
	return now, a.Reason == Busy
}

func (w leave) String() string { return fmt.Sprintf("consumer %d leaves", w.who) }
