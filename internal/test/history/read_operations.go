package history

import "fmt"

// getAllocations is GET /allocations/{consumer}.
type getAllocations struct {
	nothing
	who int
}

func (w getAllocations) request(d *Partition) request {
	return request{method: "GET", path: "/allocations/" + d.consumers[w.who].String()}
}

func (w getAllocations) read(d *Partition, raw []byte, seen *Observed) error {
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
		if p == none {
			return fmt.Errorf("unknown provider %s", id)
		}
		seen.PlaceGenerations[p] = of.Generation
		if err == nil {
			err = readAmounts(of.Resources, (*[len(classes)]int64)(&seen.ByProvider[p]))
		}
	}
	return err
}

func (w getAllocations) concerns(_ int, been [consumers]bool) bool { return been[w.who] }

func (w getAllocations) of(c int) bool { return c == w.who }

func (w getAllocations) place(p int, now Provider, a *Response) (Provider, bool) {
	told := a.Observed.PlaceGenerations[p]
	return now, a.Reason == "" && now.ByConsumer[w.who] == a.Observed.ByProvider[p] && (told == none || now.Exists && told == now.Generation)
}

func (w getAllocations) consumer(_ int, now Consumer, a *Response) (Consumer, bool) {
	return now, a.Reason == "" && now == Consumer{Generation: a.Observed.Generation, ByProvider: a.Observed.ByProvider}
}

func (w getAllocations) String() string {
	return fmt.Sprintf("read the allocations of consumer %d", w.who)
}

// getProviderAllocations is GET /resource_providers/{provider}/allocations.
type getProviderAllocations struct{ onPlace }

func (w getProviderAllocations) request(d *Partition) request {
	return request{method: "GET", path: w.path(d, "/allocations")}
}

func (w getProviderAllocations) read(d *Partition, raw []byte, seen *Observed) error {
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
		if c == none {
			return fmt.Errorf("unknown consumer %s", id)
		}
		seen.Generations[c] = of.Generation
		if err == nil {
			err = readAmounts(of.Resources, (*[len(classes)]int64)(&seen.ByConsumer[c]))
		}
	}
	return err
}

// of returns true, because the response contains the generations of the consumers with allocations.
func (w getProviderAllocations) of(int) bool { return true }

func (w getProviderAllocations) place(_ int, now Provider, a *Response) (Provider, bool) {
	if holds, known := w.refused(&now, none, a); known {
		return now, holds
	}
	return now, a.Reason == "" && now.Exists && now.Generation == a.Observed.Generation && now.ByConsumer == a.Observed.ByConsumer
}

func (w getProviderAllocations) consumer(c int, now Consumer, a *Response) (Consumer, bool) {
	if a.Reason != "" {
		return now, true
	}
	told := a.Observed.Generations[c]
	return now, now.ByProvider[w.at] == a.Observed.ByConsumer[c] && (told == 0 || told == now.Generation)
}

func (w getProviderAllocations) String() string {
	return fmt.Sprintf("read the allocations on provider %d", w.at)
}

// getInventories is GET /resource_providers/{provider}/inventories.
type getInventories struct{ onPlace }

func (w getInventories) request(d *Partition) request {
	return request{method: "GET", path: w.path(d, "/inventories")}
}

func (w getInventories) read(_ *Partition, raw []byte, seen *Observed) error {
	return readOffers(raw, seen)
}

func (w getInventories) place(_ int, now Provider, a *Response) (Provider, bool) {
	if holds, known := w.refused(&now, none, a); known {
		return now, holds
	}
	return now, a.Reason == "" && now.Exists && now.Generation == a.Observed.Generation && now.Inventories == a.Observed.Inventories
}

func (w getInventories) String() string {
	return fmt.Sprintf("read the inventories of provider %d", w.at)
}

// getUsages is GET /resource_providers/{provider}/usages.
type getUsages struct{ onPlace }

func (w getUsages) request(d *Partition) request {
	return request{method: "GET", path: w.path(d, "/usages")}
}

func (w getUsages) read(_ *Partition, raw []byte, seen *Observed) error {
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

func (w getUsages) place(_ int, now Provider, a *Response) (Provider, bool) {
	if holds, known := w.refused(&now, none, a); known {
		return now, holds
	}
	for class, told := range a.Observed.Used {
		if told == none && now.Inventories[class].Total > 0 || told != none && told != now.used(class) {
			return now, false
		}
	}
	return now, a.Reason == "" && now.Exists && now.Generation == a.Observed.Generation
}

func (w getUsages) String() string { return fmt.Sprintf("read the usages of provider %d", w.at) }

// getTraits is GET /resource_providers/{provider}/traits.
type getTraits struct{ onPlace }

func (w getTraits) request(d *Partition) request {
	return request{method: "GET", path: w.path(d, "/traits")}
}

func (w getTraits) read(_ *Partition, raw []byte, seen *Observed) error { return readTraits(raw, seen) }

func (w getTraits) place(_ int, now Provider, a *Response) (Provider, bool) {
	if holds, known := w.refused(&now, none, a); known {
		return now, holds
	}
	return now, a.Reason == "" && now.Exists && now.Generation == a.Observed.Generation && now.Traits == a.Observed.Traits
}

func (w getTraits) String() string { return fmt.Sprintf("read the traits of provider %d", w.at) }
