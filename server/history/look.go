package history

import "fmt"

// lookConsumer is GET /allocations/{consumer}.
type lookConsumer struct {
	nothing
	who int
}

func (w lookConsumer) request(d *District) request {
	return request{"GET", "/allocations/" + d.consumers[w.who].String(), nil}
}

func (w lookConsumer) read(d *District, raw []byte, seen *Seen) error {
	read, err := body[struct {
		Allocations map[string]struct {
			Resources  map[string]int64
			Generation int64
		}
		Generation int64 `json:"consumer_generation"`
	}](raw)
	seen.Generation = read.Generation
	for id, of := range read.Allocations {
		p := d.number(id)
		if p == nobody {
			return fmt.Errorf("provider %s was never made", id)
		}
		seen.PlaceGenerations[p] = of.Generation
		if err == nil {
			err = readAmounts(of.Resources, (*[len(classes)]int64)(&seen.Has[p]))
		}
	}
	return err
}

func (w lookConsumer) concerns(_ int, been [consumers]bool) bool { return been[w.who] }

func (w lookConsumer) of(c int) bool { return c == w.who }

func (w lookConsumer) place(p int, now Place, a *Answer) (Place, bool) {
	told := a.Seen.PlaceGenerations[p]
	return now, a.Reason == "" && now.Taken[w.who] == a.Seen.Has[p] && (told == nobody || now.Exists && told == now.Generation)
}

func (w lookConsumer) consumer(_ int, now Consumer, a *Answer) (Consumer, bool) {
	return now, a.Reason == "" && now == Consumer{Generation: a.Seen.Generation, Has: a.Seen.Has}
}

func (w lookConsumer) String() string { return fmt.Sprintf("look at consumer %d", w.who) }

// lookTaken is GET /resource_providers/{provider}/allocations.
type lookTaken struct{ onPlace }

func (w lookTaken) request(d *District) request {
	return request{"GET", w.path(d, "/allocations"), nil}
}

func (w lookTaken) read(d *District, raw []byte, seen *Seen) error {
	read, err := body[struct {
		Generation  int64 `json:"resource_provider_generation"`
		Allocations map[string]struct {
			Resources  map[string]int64
			Generation int64 `json:"consumer_generation"`
		}
	}](raw)
	seen.Generation = read.Generation
	for id, of := range read.Allocations {
		c := d.number(id)
		if c == nobody {
			return fmt.Errorf("consumer %s was never made", id)
		}
		seen.Generations[c] = of.Generation
		if err == nil {
			err = readAmounts(of.Resources, (*[len(classes)]int64)(&seen.Taken[c]))
		}
	}
	return err
}

// of: the generations of consumers are told as well, but only of those who are there.
func (w lookTaken) of(int) bool { return true }

func (w lookTaken) place(_ int, now Place, a *Answer) (Place, bool) {
	if holds, known := w.refused(&now, nobody, a); known {
		return now, holds
	}
	return now, a.Reason == "" && now.Exists && now.Generation == a.Seen.Generation && now.Taken == a.Seen.Taken
}

func (w lookTaken) consumer(c int, now Consumer, a *Answer) (Consumer, bool) {
	if a.Reason != "" {
		return now, true
	}
	told := a.Seen.Generations[c]
	return now, now.Has[w.at] == a.Seen.Taken[c] && (told == 0 || told == now.Generation)
}

func (w lookTaken) String() string { return fmt.Sprintf("look who is on place %d", w.at) }

// lookOffers is GET /resource_providers/{provider}/inventories.
type lookOffers struct{ onPlace }

func (w lookOffers) request(d *District) request {
	return request{"GET", w.path(d, "/inventories"), nil}
}

func (w lookOffers) read(_ *District, raw []byte, seen *Seen) error { return readOffers(raw, seen) }

func (w lookOffers) place(_ int, now Place, a *Answer) (Place, bool) {
	if holds, known := w.refused(&now, nobody, a); known {
		return now, holds
	}
	return now, a.Reason == "" && now.Exists && now.Generation == a.Seen.Generation && now.Offers == a.Seen.Offers
}

func (w lookOffers) String() string { return fmt.Sprintf("look what place %d offers", w.at) }

// lookUsages is GET /resource_providers/{provider}/usages.
type lookUsages struct{ onPlace }

func (w lookUsages) request(d *District) request { return request{"GET", w.path(d, "/usages"), nil} }

func (w lookUsages) read(_ *District, raw []byte, seen *Seen) error {
	read, err := body[struct {
		Generation int64 `json:"resource_provider_generation"`
		Usages     map[string]int64
	}](raw)
	seen.Generation = read.Generation
	if err == nil {
		err = readAmounts(read.Usages, &seen.Used)
	}
	return err
}

func (w lookUsages) place(_ int, now Place, a *Answer) (Place, bool) {
	if holds, known := w.refused(&now, nobody, a); known {
		return now, holds
	}
	for class, told := range a.Seen.Used {
		if told == nobody && now.Offers[class].Total > 0 || told != nobody && told != now.used(class) {
			return now, false
		}
	}
	return now, a.Reason == "" && now.Exists && now.Generation == a.Seen.Generation
}

func (w lookUsages) String() string { return fmt.Sprintf("look how much of place %d is used", w.at) }

// lookTraits is GET /resource_providers/{provider}/traits.
type lookTraits struct{ onPlace }

func (w lookTraits) request(d *District) request { return request{"GET", w.path(d, "/traits"), nil} }

func (w lookTraits) read(_ *District, raw []byte, seen *Seen) error { return readTraits(raw, seen) }

func (w lookTraits) place(_ int, now Place, a *Answer) (Place, bool) {
	if holds, known := w.refused(&now, nobody, a); known {
		return now, holds
	}
	return now, a.Reason == "" && now.Exists && now.Generation == a.Seen.Generation && now.Traits == a.Seen.Traits
}

func (w lookTraits) String() string { return fmt.Sprintf("look which traits place %d has", w.at) }
