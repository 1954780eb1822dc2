package history

import (
	"fmt"
	"slices"
)

// record is an inventory on the wire.
type record struct {
	Total    int32   `json:"total"`
	Reserved int32   `json:"reserved"`
	Least    int32   `json:"min_unit"`
	Most     int32   `json:"max_unit"`
	Step     int32   `json:"step_size"`
	Ratio    float64 `json:"allocation_ratio"`
}

// records are the offers by class.
func records(offers [len(classes)]Offer) map[string]record {
	made := map[string]record{}
	for class, offer := range offers {
		if offer.Total > 0 {
			made[classes[class]] = record(offer)
		}
	}
	return made
}

func readOffers(raw []byte, seen *Seen) error {
	read, err := body[struct {
		Generation  int64 `json:"resource_provider_generation"`
		Inventories map[string]record
	}](raw)
	seen.Generation = read.Generation
	for name, of := range read.Inventories {
		class, err := classNumber(name)
		if err != nil {
			return err
		}
		seen.Offers[class] = Offer(of)
	}
	return err
}

// offerAll is PUT /resource_providers/{provider}/inventories.
type offerAll struct {
	onPlace
	given  int64
	offers [len(classes)]Offer
}

func (w offerAll) request(d *District) request {
	return request{"PUT", w.path(d, "/inventories"), map[string]any{
		"resource_provider_generation": w.given, "inventories": records(w.offers),
	}}
}

func (w offerAll) read(_ *District, raw []byte, seen *Seen) error { return readOffers(raw, seen) }

func (w offerAll) place(_ int, now Place, a *Answer) (Place, bool) {
	if holds, known := w.refused(&now, w.given, a); known {
		return now, holds
	}
	if !now.Exists || now.Generation != w.given || now.inUseBut(w.offers) != (a.Reason == InUse) {
		return now, false
	}
	if a.Reason != "" {
		return now, a.Reason == InUse
	}
	now.Generation++
	now.Offers = w.offers
	return now, a.Seen.fits(now.Generation) && (a.Seen.Generation == nobody || a.Seen.Offers == w.offers)
}

func (w offerAll) String() string {
	return fmt.Sprintf("place %d at %d offers %v", w.at, w.given, w.offers)
}

// withdrawAll is DELETE /resource_providers/{provider}/inventories.
type withdrawAll struct{ onPlace }

func (w withdrawAll) request(d *District) request {
	return request{"DELETE", w.path(d, "/inventories"), nil}
}

func (w withdrawAll) place(_ int, now Place, a *Answer) (Place, bool) {
	if holds, known := w.refused(&now, nobody, a); known {
		return now, holds
	}
	if !now.Exists || now.inUse() != (a.Reason == InUse) || a.Reason != "" && a.Reason != InUse {
		return now, false
	}
	if a.Reason == "" {
		now.Generation++
		now.Offers = [len(classes)]Offer{}
	}
	return now, true
}

func (w withdrawAll) String() string { return fmt.Sprintf("place %d offers nothing", w.at) }

// offerOne is POST /resource_providers/{provider}/inventories, PUT …/{class}, and
// DELETE …/{class}, by its method.
type offerOne struct {
	onPlace
	method string
	class  int
	given  int64 // of PUT; else nobody
	offer  Offer // not of DELETE
}

func (w offerOne) request(d *District) request {
	made := request{method: w.method, path: w.path(d, "/inventories/"+classes[w.class])}
	fields := map[string]any{
		"total": w.offer.Total, "reserved": w.offer.Reserved, "min_unit": w.offer.Least,
		"max_unit": w.offer.Most, "step_size": w.offer.Step, "allocation_ratio": w.offer.Ratio,
	}
	switch w.method {
	case "POST":
		made.path = w.path(d, "/inventories")
		fields["resource_class"] = classes[w.class]
		made.body = fields
	case "PUT":
		fields["resource_provider_generation"] = w.given
		made.body = fields
	}
	return made
}

func (w offerOne) read(_ *District, raw []byte, seen *Seen) error {
	if w.method == "DELETE" {
		return nil
	}
	read, err := body[struct {
		Generation int64 `json:"resource_provider_generation"`
		record
	}](raw)
	seen.Generation, seen.Offers[w.class] = read.Generation, Offer(read.record)
	return err
}

func (w offerOne) place(_ int, now Place, a *Answer) (Place, bool) {
	if holds, known := w.refused(&now, w.given, a); known {
		return now, holds
	}
	isOffered := now.Offers[w.class].Total > 0
	reason := Reason("")
	switch {
	case w.method == "POST" && isOffered:
		reason = HasOffer
	case w.method != "POST" && !isOffered:
		reason = NoOffer
	case w.method == "DELETE" && now.used(w.class) > 0:
		reason = InUse
	}
	if !now.Exists || w.given != nobody && now.Generation != w.given || a.Reason != reason {
		return now, false
	}
	if reason == "" {
		now.Generation++
		now.Offers[w.class] = w.offer
	}
	return now, reason != "" || a.Seen.fits(now.Generation) && (a.Seen.Generation == nobody || a.Seen.Offers[w.class] == w.offer)
}

func (w offerOne) String() string {
	return fmt.Sprintf("%s offer of place %d at %d: %s %v", w.method, w.at, w.given, classes[w.class], w.offer)
}

// describeTraits is PUT /resource_providers/{provider}/traits.
type describeTraits struct {
	onPlace
	given  int64
	traits uint8
}

func (w describeTraits) request(d *District) request {
	names := []string{}
	for bit, name := range traits {
		if w.traits&(1<<bit) != 0 {
			names = append(names, name)
		}
	}
	return request{"PUT", w.path(d, "/traits"), map[string]any{"resource_provider_generation": w.given, "traits": names}}
}

// readTraits reads names into bits.
func readTraits(raw []byte, seen *Seen) error {
	read, err := body[struct {
		Generation int64 `json:"resource_provider_generation"`
		Traits     []string
	}](raw)
	seen.Generation = read.Generation
	for _, name := range read.Traits {
		bit := slices.Index(traits[:], name)
		if bit < 0 {
			return fmt.Errorf("trait %q was never used", name)
		}
		seen.Traits |= 1 << bit
	}
	return err
}

func (w describeTraits) read(_ *District, raw []byte, seen *Seen) error { return readTraits(raw, seen) }

func (w describeTraits) place(_ int, now Place, a *Answer) (Place, bool) {
	if holds, known := w.refused(&now, w.given, a); known {
		return now, holds
	}
	if !now.Exists || now.Generation != w.given || a.Reason != "" {
		return now, false
	}
	if now.Traits != w.traits {
		now.Generation++
		now.Traits = w.traits
	}
	return now, a.Seen.fits(now.Generation) && (a.Seen.Generation == nobody || a.Seen.Traits == w.traits)
}

func (w describeTraits) String() string {
	return fmt.Sprintf("place %d at %d has traits %03b", w.at, w.given, w.traits)
}
