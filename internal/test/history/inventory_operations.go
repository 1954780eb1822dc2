package history

import (
	"fmt"
	"slices"
)

// record is the JSON of an inventory.
type record struct {
	Total    int32   `json:"total"`
	Reserved int32   `json:"reserved"`
	MinUnit  int32   `json:"min_unit"`
	MaxUnit  int32   `json:"max_unit"`
	StepSize int32   `json:"step_size"`
	Ratio    float64 `json:"allocation_ratio"`
}

// records returns the inventories as JSON, by class.
func records(offers [len(classes)]Inventory) map[string]record {
	made := map[string]record{}
	for class, offer := range offers {
		if offer.Total > 0 {
			made[classes[class]] = record(offer)
		}
	}
	return made
}

func readOffers(raw []byte, seen *Observed) error {
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
		seen.Inventories[class] = Inventory(of)
	}
	return err
}

// putInventories is PUT /resource_providers/{provider}/inventories.
type putInventories struct {
	onPlace
	given  int64
	offers [len(classes)]Inventory
}

func (w putInventories) request(d *Partition) request {
	return request{method: "PUT", path: w.path(d, "/inventories"), body: map[string]any{
		"resource_provider_generation": w.given, "inventories": records(w.offers),
	}}
}

func (w putInventories) read(_ *Partition, raw []byte, seen *Observed) error {
	return readOffers(raw, seen)
}

func (w putInventories) place(_ int, now Provider, a *Response) (Provider, bool) {
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
	now.Inventories = w.offers
	return now, a.Observed.fits(now.Generation) && (a.Observed.Generation == none || a.Observed.Inventories == w.offers)
}

func (w putInventories) String() string {
	return fmt.Sprintf("place %d at %d offers %v", w.at, w.given, w.offers)
}

// deleteInventories is DELETE /resource_providers/{provider}/inventories.
type deleteInventories struct {
	onPlace
	given int64 // none: not in the request
}

func (w deleteInventories) request(d *Partition) request {
	return request{method: "DELETE", path: w.path(d, "/inventories")}.comparingProvider(w.given)
}

func (w deleteInventories) place(_ int, now Provider, a *Response) (Provider, bool) {
	if holds, known := w.refused(&now, w.given, a); known {
		return now, holds
	}
	if !now.Exists || w.given != none && now.Generation != w.given || now.inUse() != (a.Reason == InUse) || a.Reason != "" && a.Reason != InUse {
		return now, false
	}
	if a.Reason == "" {
		now.Generation++
		now.Inventories = [len(classes)]Inventory{}
	}
	return now, true
}

func (w deleteInventories) String() string {
	return fmt.Sprintf("delete the inventories of provider %d at %d", w.at, w.given)
}

// changeInventory is POST /resource_providers/{provider}/inventories, PUT …/{class} or DELETE
// …/{class}, depending on its method.
type changeInventory struct {
	onPlace
	method string
	class  int
	given  int64     // of PUT; of DELETE, none: not in the request; of POST none
	offer  Inventory // not of DELETE
}

func (w changeInventory) request(d *Partition) request {
	made := request{method: w.method, path: w.path(d, "/inventories/"+classes[w.class])}
	fields := map[string]any{
		"total": w.offer.Total, "reserved": w.offer.Reserved, "min_unit": w.offer.MinUnit,
		"max_unit": w.offer.MaxUnit, "step_size": w.offer.StepSize, "allocation_ratio": w.offer.Ratio,
	}
	switch w.method {
	case "POST":
		made.path = w.path(d, "/inventories")
		fields["resource_class"] = classes[w.class]
		made.body = fields
	case "PUT":
		fields["resource_provider_generation"] = w.given
		made.body = fields
	case "DELETE":
		return made.comparingProvider(w.given)
	}
	return made
}

func (w changeInventory) read(_ *Partition, raw []byte, seen *Observed) error {
	if w.method == "DELETE" {
		return nil
	}
	read, err := body[struct {
		Generation int64 `json:"resource_provider_generation"`
		record
	}](raw)
	seen.Generation, seen.Inventories[w.class] = read.Generation, Inventory(read.record)
	return err
}

func (w changeInventory) place(_ int, now Provider, a *Response) (Provider, bool) {
	if holds, known := w.refused(&now, w.given, a); known {
		return now, holds
	}
	isOffered := now.Inventories[w.class].Total > 0
	reason := Reason("")
	switch {
	case w.method == "POST" && isOffered:
		reason = InventoryExists
	case w.method != "POST" && !isOffered:
		reason = NoInventory
	case w.method == "DELETE" && now.used(w.class) > 0:
		reason = InUse
	}
	// A deletion checks its generation after the inventory.
	isStale := w.given != none && now.Generation != w.given && (w.method != "DELETE" || reason != NoInventory)
	if !now.Exists || isStale || a.Reason != reason {
		return now, false
	}
	if reason == "" {
		now.Generation++
		now.Inventories[w.class] = w.offer
	}
	return now, reason != "" || a.Observed.fits(now.Generation) && (a.Observed.Generation == none || a.Observed.Inventories[w.class] == w.offer)
}

func (w changeInventory) String() string {
	return fmt.Sprintf("%s offer of place %d at %d: %s %v", w.method, w.at, w.given, classes[w.class], w.offer)
}

// replaceTraits is PUT /resource_providers/{provider}/traits.
type replaceTraits struct {
	onPlace
	given  int64
	traits uint8
}

func (w replaceTraits) request(d *Partition) request {
	return request{method: "PUT", path: w.path(d, "/traits"), body: map[string]any{
		"resource_provider_generation": w.given, "traits": traitNames(w.traits),
	}}
}

// traitNames converts bits to names.
func traitNames(bits uint8) []string {
	names := []string{}
	for bit, name := range traits {
		if bits&(1<<bit) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// readTraits converts names to bits.
func readTraits(raw []byte, seen *Observed) error {
	read, err := body[struct {
		Generation int64 `json:"resource_provider_generation"`
		Traits     []string
	}](raw)
	seen.Generation = read.Generation
	for _, name := range read.Traits {
		bit := slices.Index(traits[:], name)
		if bit < 0 {
			return fmt.Errorf("unknown trait %q", name)
		}
		seen.Traits |= 1 << bit
	}
	return err
}

func (w replaceTraits) read(_ *Partition, raw []byte, seen *Observed) error {
	return readTraits(raw, seen)
}

func (w replaceTraits) place(_ int, now Provider, a *Response) (Provider, bool) {
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
	return now, a.Observed.fits(now.Generation) && (a.Observed.Generation == none || a.Observed.Traits == w.traits)
}

func (w replaceTraits) String() string {
	return fmt.Sprintf("place %d at %d has traits %03b", w.at, w.given, w.traits)
}
