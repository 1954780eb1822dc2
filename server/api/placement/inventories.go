package placement

import (
	"context"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/identity/policy"
	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/jsonbody"
	"github.com/berthd/berth/server/wire/microversion"
)

// ratio is a number that is always encoded with a decimal point, as clients expect.
type ratio float64

// MarshalJSON implements json.Marshaler.
func (r ratio) MarshalJSON() ([]byte, error) {
	text := strconv.FormatFloat(float64(r), 'g', -1, 64)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return []byte(text), nil
}

// Schema implements huma.SchemaProvider.
func (ratio) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeNumber, Format: "double", Examples: []any{1.5}}
}

// Inventory is an inventory in a response.
type Inventory struct {
	Total           int32 `json:"total" doc:"Total amount of the resource class on this provider." example:"64"`
	Reserved        int32 `json:"reserved" doc:"Amount that consumers cannot allocate." example:"2"`
	MinUnit         int32 `json:"min_unit" doc:"Minimum amount of an allocation." example:"1"`
	MaxUnit         int32 `json:"max_unit" doc:"Maximum amount of an allocation." example:"32"`
	StepSize        int32 `json:"step_size" doc:"The amount of an allocation is a multiple of this value." example:"1"`
	AllocationRatio ratio `json:"allocation_ratio" doc:"Overcommit factor: capacity = (total − reserved) × allocation_ratio."`
}

// InventoryWithGeneration is the inventory of one class with its provider's generation.
type InventoryWithGeneration struct {
	// Generation is omitted if it is 0, as clients expect.
	Generation int64 `json:"resource_provider_generation,omitempty" doc:"The provider generation; omitted if it is 0." example:"5"`
	Inventory
}

// Inventories is the response with all inventories of a provider.
type Inventories struct {
	Generation  int64                       `json:"resource_provider_generation" doc:"The provider's generation." example:"5"`
	Inventories jsonbody.Ordered[Inventory] `json:"inventories" doc:"Inventories by resource class."`
}

// InventoryFields are the members of an inventory in all requests.
type InventoryFields struct {
	Total           jsonbody.Int  `json:"total" format:"int32" minimum:"1" maximum:"2147483647" doc:"Total amount of the resource class on this provider." example:"64"`
	Reserved        *jsonbody.Int `json:"reserved,omitempty" format:"int32" nullable:"false" minimum:"0" maximum:"2147483647" doc:"Amount that consumers cannot allocate. Default 0." example:"2"`
	MinUnit         *jsonbody.Int `json:"min_unit,omitempty" format:"int32" nullable:"false" minimum:"1" maximum:"2147483647" doc:"Minimum amount of an allocation. Default 1." example:"1"`
	MaxUnit         *jsonbody.Int `json:"max_unit,omitempty" format:"int32" nullable:"false" minimum:"1" maximum:"2147483647" doc:"Maximum amount of an allocation. Default: no limit." example:"32"`
	StepSize        *jsonbody.Int `json:"step_size,omitempty" format:"int32" nullable:"false" minimum:"1" maximum:"2147483647" doc:"The amount of an allocation is a multiple of this value. Default 1." example:"1"`
	AllocationRatio *float64      `json:"allocation_ratio,omitempty" nullable:"false" maximum:"3.40282e+38" doc:"Overcommit factor: capacity = (total − reserved) × allocation_ratio. Default 1.0." example:"1.5"`
}

// InventoryRecord is one of several inventories in a request. Clients send back what they read, so it can contain a
// generation, which is ignored.
type InventoryRecord struct {
	InventoryFields
	Generation *jsonbody.Int `json:"resource_provider_generation,omitempty" nullable:"false" doc:"Ignored."`
}

// recordsByClass maps resource classes to inventories.
type recordsByClass struct {
	jsonbody.Ordered[InventoryRecord]
}

// Schema implements huma.SchemaProvider.
func (recordsByClass) Schema(r huma.Registry) *huma.Schema {
	return jsonbody.MapSchema(schemaOf[InventoryRecord](r), classPattern, 0)
}

// InventoriesReplace is the request that replaces all inventories of a provider.
type InventoriesReplace struct {
	Generation  jsonbody.Int   `json:"resource_provider_generation" doc:"The provider generation that the client read." example:"4"`
	Inventories recordsByClass `json:"inventories" doc:"Inventories by resource class. Omitted classes are removed."`
}

// InventoryCreate is the request that adds the inventory of one class.
type InventoryCreate struct {
	Class string `json:"resource_class" pattern:"^[A-Z0-9_]+$" doc:"The resource class." example:"VCPU"`
	InventoryRecord
}

// InventoryUpdate is the request that updates the inventory of one class.
type InventoryUpdate struct {
	Generation jsonbody.Int `json:"resource_provider_generation" doc:"The provider generation that the client read." example:"4"`
	InventoryFields
}

// inventoryPath is the input of operations on one class of one provider. It does not embed providerPath: huma skips
// unexported fields, including embedded ones, so that the provider would be empty without an error.
type inventoryPath struct {
	UUID  string `path:"uuid" doc:"The provider." example:"c0ffee00-5ca1-4b1e-8000-000000000001"`
	Class string `path:"resource_class" doc:"The resource class." example:"VCPU"`
}

func (in *inventoryPath) provider() *providerPath { return &providerPath{UUID: in.UUID} }

func (in *inventoryPath) id() uuid.UUID { return in.provider().id() }

func (o *operations) existsForInventory(ctx context.Context, in *inventoryPath) error {
	return o.exists(ctx, in.provider())
}

func (o *operations) inventoryOperations() []*route.Operation {
	const all, single = "/resource_providers/{uuid}/inventories", "/resource_providers/{uuid}/inventories/{resource_class}"
	list := route.Example(showing(allShown(4, inventoryRows)))
	replaced := route.Example(showing(allShown(5, inventoryRows[:1])))
	shownOne := route.Example(showing(InventoryWithGeneration{Generation: 5, Inventory: toWire(inventoryRows[0])}))
	record := map[string]any{"total": 64, "reserved": 2, "max_unit": 64, "allocation_ratio": 4}
	replace := route.Body[providerPath]{LookFirst: o.exists, Example: map[string]any{
		"resource_provider_generation": 4, "inventories": map[string]any{"VCPU": record},
	}}
	create := route.Body[providerPath]{LookFirst: o.exists, Example: map[string]any{
		"resource_class": "VCPU", "total": 64, "reserved": 2, "max_unit": 64, "allocation_ratio": 4,
	}}
	update := route.Body[inventoryPath]{LookFirst: o.existsForInventory, Example: map[string]any{
		"resource_provider_generation": 4, "total": 64, "reserved": 2, "max_unit": 64, "allocation_ratio": 4,
	}}
	return []*route.Operation{{
		ID: "inventory-list", Method: http.MethodGet, Path: all, Tag: tagInventories, Rule: policy.InventoriesList,
		Summary: "List a provider's inventories", Checks: reads,
		Fails:    []route.Failure{providerNotFoundLeadingSpace},
		Variants: []route.Variant{route.From(v(0), o.inventoryList, list)},
	}, {
		ID: "inventory-create", Method: http.MethodPost, Path: all, Tag: tagInventories, Rule: policy.InventoriesCreate,
		Summary: "Add a class to a provider's inventories", Checks: writes, Fails: inventoryCreateFailures,
		Description: "A generation in the request is ignored.",
		Variants: []route.Variant{route.Write(v(0), create, o.inventoryCreate, route.Status(http.StatusCreated), shownOne,
			route.DescribedFrom(berth13, "A generation in the request is compared."))},
	}, {
		ID: "inventory-replace", Method: http.MethodPut, Path: all, Tag: tagInventories, Rule: policy.InventoriesUpdate,
		Summary: "Replace a provider's inventories", Checks: writes, Fails: inventoryReplaceFailures,
		Description: "A total can be reduced below the used amount. A class with allocations cannot be omitted.",
		Variants:    []route.Variant{route.Write(v(0), replace, o.inventoryReplace, replaced)},
	}, {
		ID: "inventory-clear", Method: http.MethodDelete, Path: all, Tag: tagInventories, Rule: policy.InventoriesDelete,
		Summary: "Delete a provider's inventories", Checks: only, MissingIsMethod: true,
		Fails: []route.Failure{providerNotFound, staleProviderNow, inventoryInUse}, Query: comparesProvider,
		Description: "The provider generation is incremented even if no inventory was deleted.",
		Variants:    []route.Variant{route.From(v(5), o.inventoryClear)},
	}, o.inventoryPatchOperation(all, replaced), {
		ID: "inventory-show", Method: http.MethodGet, Path: single, Tag: tagInventories, Rule: policy.InventoriesShow,
		Summary: "Show a provider's inventory of a class", Checks: reads, Fails: inventoryShowFailures,
		Variants: []route.Variant{route.From(v(0), o.inventoryShow, shownOne)},
	}, {
		ID: "inventory-update", Method: http.MethodPut, Path: single, Tag: tagInventories, Rule: policy.InventoriesUpdate,
		Summary: "Update a provider's inventory of a class", Checks: writes, Fails: inventoryUpdateFailures,
		Description: "Omitted members are reset to their defaults.",
		Variants:    []route.Variant{route.Write(v(0), update, o.inventoryUpdate, shownOne)},
	}, {
		ID: "inventory-delete", Method: http.MethodDelete, Path: single, Tag: tagInventories, Rule: policy.InventoriesDelete,
		Summary: "Delete a provider's inventory of a class", Fails: inventoryDeleteFailures, Query: comparesProvider,
		Variants: []route.Variant{route.From(v(0), o.inventoryDelete)},
	}}
}

// leastRatio replaces all lower ratios. The API has no lower bound, and none of these ratios leaves any capacity, but
// products of the lowest numbers overflow.
const leastRatio = -3.40282e+38

// toStore converts the record and fills in its defaults.
func (r *InventoryFields) toStore(class string) store.Inventory {
	or := func(given *jsonbody.Int, otherwise int32) int32 {
		if given == nil {
			return otherwise
		}
		return int32(*given) // the schema limits it to 32 bits
	}
	inventory := store.Inventory{
		Class: class, Total: int32(r.Total), Reserved: or(r.Reserved, 0), MinUnit: or(r.MinUnit, 1),
		MaxUnit: or(r.MaxUnit, math.MaxInt32), StepSize: or(r.StepSize, 1), AllocationRatio: 1,
	}
	if r.AllocationRatio != nil {
		inventory.AllocationRatio = max(*r.AllocationRatio, leastRatio)
	}
	return inventory
}

func (r recordsByClass) toStore() []store.Inventory {
	records := make([]store.Inventory, 0, len(r.Ordered))
	for _, entry := range r.Ordered {
		records = append(records, entry.Value.toStore(entry.Key))
	}
	return records
}

func toWire(record store.Inventory) Inventory {
	return Inventory{
		Total: record.Total, Reserved: record.Reserved, MinUnit: record.MinUnit, MaxUnit: record.MaxUnit,
		StepSize: record.StepSize, AllocationRatio: ratio(record.AllocationRatio),
	}
}

func allShown(generation int64, records []store.Inventory) Inventories {
	inventories := Inventories{Generation: generation}
	for _, record := range records {
		inventories.Inventories = append(inventories.Inventories, jsonbody.Entry[Inventory]{Key: record.Class, Value: toWire(record)})
	}
	return inventories
}

// minCapacity returns the minimum capacity of an inventory after its reserved amount.
func minCapacity(ctx context.Context) int32 {
	if microversion.From(ctx).AllowsFullReservation() {
		return 0
	}
	return 1
}

// inventoryFaults returns the errors of all operations that write inventories. action is the name of the operation in
// the texts.
func inventoryFaults(ctx context.Context, sent, action string) route.RuleFaults {
	reserved := &capacityBelowOne
	if microversion.From(ctx).AllowsFullReservation() {
		reserved = &capacityNegative
	}
	return route.RuleFaults{
		store.ProviderNotFound:           providerNotFound.Fixed(sent),
		store.ProviderGenerationConflict: staleInventory.Fixed(),
		store.InventoryOverReserved: func(values store.Values) *fault.Error {
			return reserved.Of(action, sent, values.Class)
		},
	}
}

func (o *operations) inventoryList(ctx context.Context, in *providerPath) (*cached[Inventories], error) {
	found, err := o.store.InventoryList(ctx, in.id())
	if err != nil {
		return nil, route.RuleFaults{store.ProviderNotFound: providerNotFoundLeadingSpace.Fixed(in.UUID)}.Translate(err)
	}
	return answer(ctx, allShown(found.Generation, found.Records), newestRecord(found.Records)), nil
}

// newestRecord returns the time of the newest inventory, or nil without inventories; then the header is omitted.
func newestRecord(records []store.Inventory) *time.Time {
	var latest *time.Time
	for i := range records {
		if latest == nil || records[i].ModifiedAt.After(*latest) {
			latest = &records[i].ModifiedAt
		}
	}
	return latest
}

func (o *operations) inventoryShow(ctx context.Context, in *inventoryPath) (*cached[InventoryWithGeneration], error) {
	found, err := o.store.InventoryList(ctx, in.id())
	if err != nil {
		return nil, route.RuleFaults{store.ProviderNotFound: providerNotFoundLeadingSpace.Fixed(in.UUID)}.Translate(err)
	}
	for _, record := range found.Records {
		if record.Class == in.Class {
			return answer(ctx, InventoryWithGeneration{Generation: found.Generation, Inventory: toWire(record)}, &record.ModifiedAt), nil
		}
	}
	return nil, inventoryNotFound.Of(in.Class, in.UUID)
}

func (o *operations) inventoryReplace(
	ctx context.Context, in *providerPath, body *InventoriesReplace,
) (*cached[Inventories], error) {
	records := body.Inventories.toStore()
	sent := int64(body.Generation)
	generation, err := o.store.InventoryReplace(ctx, in.id(), sent, records, minCapacity(ctx))
	recordProvider(ctx, in.id(), &sent, &generation, err)
	if err != nil {
		return nil, inventoryFaults(ctx, in.UUID, "update").With(route.RuleFaults{
			store.ClassNotFound: func(values store.Values) *fault.Error {
				return inventoryClassUnknown.Of(in.UUID, values.Class)
			},
			store.InventoryInUse: func(values store.Values) *fault.Error {
				return inventoryInUseForUpdate.Of(values.Class, in.UUID)
			},
		}).Translate(err)
	}
	modified := now()
	if len(records) == 0 {
		modified = nil
	}
	return answer(ctx, allShown(generation, records), modified), nil
}

func (o *operations) inventoryClear(ctx context.Context, in *providerPath) (*empty, error) {
	sent := sentGeneration(ctx, providerGenerationParam)
	generation, err := o.store.InventoryClear(ctx, in.id(), sent)
	recordProvider(ctx, in.id(), sent, &generation, err)
	return nil, inventoryFaults(ctx, in.UUID, "delete").With(route.RuleFaults{
		store.ProviderGenerationConflict: providerConflict(in.UUID),
		store.InventoryInUse:             func(values store.Values) *fault.Error { return inventoryInUse.Of(values.Class, in.UUID) },
	}).Translate(err)
}

// inventoryCreated is the response to POST.
type inventoryCreated struct {
	Location     string `header:"Location" doc:"URL of the inventory." example:"http://placement.example.org/resource_providers/c0ffee00-5ca1-4b1e-8000-000000000001/inventories/VCPU"`
	LastModified string `header:"Last-Modified" doc:"Now."`
	CacheControl string `header:"Cache-Control" doc:"Always no-cache."`
	Body         InventoryWithGeneration
}

func (o *operations) inventoryCreate(
	ctx context.Context, in *providerPath, body *InventoryCreate,
) (*inventoryCreated, error) {
	record := body.toStore(body.Class)
	var sent *int64
	if microversion.From(ctx) >= berth13 {
		sent = generationOf(body.Generation)
	}
	generation, err := o.store.InventoryCreate(ctx, in.id(), sent, record, minCapacity(ctx))
	recordProvider(ctx, in.id(), sent, &generation, err)
	if err != nil {
		return nil, inventoryFaults(ctx, in.UUID, "create").With(route.RuleFaults{
			store.ProviderGenerationConflict: providerConflict(in.UUID),
			store.ClassNotFound:              newInventoryClassUnknown.Fixed(in.UUID, body.Class),
			store.InventoryExists:            inventoryExists.Fixed(in.UUID, body.Class),
		}).Translate(err)
	}
	result := &inventoryCreated{
		Location: location(ctx, "/resource_providers/"+in.id().String()+"/inventories/"+body.Class),
		Body:     InventoryWithGeneration{Generation: generation, Inventory: toWire(record)},
	}
	result.LastModified, result.CacheControl = cacheHeaders(ctx, now())
	return result, nil
}

func (o *operations) inventoryUpdate(
	ctx context.Context, in *inventoryPath, body *InventoryUpdate,
) (*cached[InventoryWithGeneration], error) {
	record := body.toStore(in.Class)
	sent := int64(body.Generation)
	generation, err := o.store.InventoryUpdate(ctx, in.id(), sent, record, minCapacity(ctx))
	recordProvider(ctx, in.id(), &sent, &generation, err)
	if err != nil {
		return nil, inventoryFaults(ctx, in.UUID, "update").With(route.RuleFaults{
			store.ClassNotFound:     pathClassUnknown.Fixed(in.Class),
			store.InventoryNotFound: inventoryMissing.Fixed(in.Class, in.UUID),
		}).Translate(err)
	}
	return answer(ctx, InventoryWithGeneration{Generation: generation, Inventory: toWire(record)}, now()), nil
}

func (o *operations) inventoryDelete(ctx context.Context, in *inventoryPath) (*empty, error) {
	sent := sentGeneration(ctx, providerGenerationParam)
	generation, err := o.store.InventoryDelete(ctx, in.id(), sent, in.Class)
	recordProvider(ctx, in.id(), sent, &generation, err)
	return nil, inventoryFaults(ctx, in.UUID, "delete").With(route.RuleFaults{
		store.ProviderGenerationConflict: providerConflict(in.UUID),
		store.InventoryNotFound:          inventoryNotFoundForDelete.Fixed(in.Class),
		store.InventoryInUse:             inventoryClassInUse.Fixed(in.Class, in.UUID),
	}).Translate(err)
}
