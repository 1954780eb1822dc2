package history

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/berthd/berth/internal/test/model"
)

// request is an HTTP request.
type request struct {
	method, path string
	// parameters are those of the query string, as name=value.
	parameters []string
	// body is encoded as JSON; nil: none.
	body any
	// extended selects berth 1.6.
	extended bool
	// key is the Idempotency-Key; empty: none.
	key string
}

// comparing adds a generation to the query string, unless the request does not compare one.
func (r request) comparing(name string, generation, omitted int64) request {
	if generation != omitted {
		r.parameters = append(r.parameters, fmt.Sprintf("%s=%d", name, generation))
		r.extended = true
	}
	return r
}

// about returns a request on a provider.
func (d *Partition) about(p int, method, rest string, body any) request {
	return request{method: method, path: "/resource_providers/" + d.providers[p].String() + rest, body: body}
}

// request returns the HTTP request of an operation.
func (d *Partition) request(operation model.Operation) request {
	switch w := operation.(type) {
	case model.DryRun:
		made := d.request(w.Operation)
		made.extended = true
		made.parameters = append(made.parameters, "dry_run=true")
		return made
	case model.CreateProvider, model.UpdateProvider, model.DeleteProvider, model.ReplaceTraits, model.ReplaceTree:
		return d.requestProvider(operation)
	case model.ReplaceInventories:
		if w.IsDelete {
			return d.about(w.At, http.MethodDelete, "/inventories", nil).comparing(providerGeneration, w.Given, model.None)
		}
		return d.about(w.At, http.MethodPut, "/inventories", inventoriesDocument(w.Inventories, w.Given))
	case model.ChangeInventory:
		return d.requestInventory(w)
	case model.Read:
		return d.about(w.At, http.MethodGet, strings.TrimSuffix("/"+string(w.Part), "/"), nil)
	case model.ReadAllocations:
		return request{method: http.MethodGet, path: "/allocations/" + d.consumers[w.Consumer].String(), extended: true}
	case model.ReadTree:
		made := d.about(w.At, http.MethodGet, "/tree", nil)
		made.extended, made.parameters = true, []string{"include=inventories,usages,traits,consumers"}
		return made
	}
	return d.requestClaim(operation)
}

// providerGeneration is the member with the generation of a provider.
const providerGeneration = "resource_provider_generation"

func (d *Partition) requestProvider(operation model.Operation) request {
	switch w := operation.(type) {
	case model.CreateProvider:
		made := map[string]any{"uuid": d.providers[w.At].String(), "name": d.name(w.At)}
		if w.Parent != model.None {
			made["parent_provider_uuid"] = d.uuid(w.Parent)
		}
		return request{method: http.MethodPost, path: "/resource_providers", body: made}
	case model.UpdateProvider:
		return d.about(w.At, http.MethodPut, "", map[string]any{"name": d.name(w.At), "parent_provider_uuid": d.uuid(w.Parent)})
	case model.DeleteProvider:
		return d.about(w.At, http.MethodDelete, "", nil).comparing(providerGeneration, w.Given, model.None)
	case model.ReplaceTraits:
		return d.about(w.At, http.MethodPut, "/traits", map[string]any{providerGeneration: w.Given, "traits": traitNames(w.Traits)})
	case model.ReplaceTree:
		listed := []any{}
		for i := range w.Nodes {
			listed = append(listed, d.nodeDocument(&w.Nodes[i]))
		}
		made := d.about(w.At, http.MethodPut, "/tree", map[string]any{"resource_providers": listed})
		made.extended = true
		return made
	}
	panic(fmt.Sprintf("no request of %T", operation))
}

func (d *Partition) nodeDocument(one *model.Node) map[string]any {
	made := map[string]any{
		"uuid": d.uuid(one.At), "name": d.name(one.At), "parent_provider_uuid": d.uuid(one.Parent), "generation": nil,
	}
	if one.Given != model.None {
		made["generation"] = one.Given
	}
	if one.Inventories != nil {
		made["inventories"] = records(*one.Inventories)
	}
	if one.Traits != nil {
		made["traits"] = traitNames(*one.Traits)
	}
	return made
}

func (d *Partition) requestInventory(w model.ChangeInventory) request {
	fields := map[string]any{
		"total": w.Inventory.Total, "reserved": w.Inventory.Reserved, "min_unit": w.Inventory.MinUnit,
		"max_unit": w.Inventory.MaxUnit, "step_size": w.Inventory.StepSize, "allocation_ratio": w.Inventory.Ratio,
	}
	switch w.Method {
	case http.MethodPost:
		fields["resource_class"] = classes[w.Class]
		return d.about(w.At, w.Method, "/inventories", fields)
	case http.MethodPut:
		fields[providerGeneration] = w.Given
		return d.about(w.At, w.Method, "/inventories/"+classes[w.Class], fields)
	}
	return d.about(w.At, w.Method, "/inventories/"+classes[w.Class], nil).comparing(providerGeneration, w.Given, model.None)
}

// requestClaim returns the request of an operation on consumers.
func (d *Partition) requestClaim(operation model.Operation) request {
	switch w := operation.(type) {
	case model.Claim:
		document := d.wantsDocument(w.Wants)
		if len(w.Wants) > 1 {
			return request{method: http.MethodPost, path: "/allocations", body: document, extended: givesLease(w.Wants)}
		}
		consumer := d.consumers[w.Wants[0].Consumer].String()
		return request{method: http.MethodPut, path: "/allocations/" + consumer, body: document[consumer], extended: givesLease(w.Wants)}
	case model.DeleteAllocations:
		made := request{method: http.MethodDelete, path: "/allocations/" + d.consumers[w.Consumer].String()}
		return made.comparing("consumer_generation", w.Given, 0)
	case model.PatchAllocations:
		return d.requestPatch(w)
	case model.ClaimFound:
		return d.requestFound(w)
	case model.ClaimNamed:
		var listed []any
		for _, has := range w.Candidates {
			listed = append(listed, map[string]any{"allocations": d.allocationsDocument(has)})
		}
		body := d.consumerDocument(w.Consumer, w.Given, w.Lease)
		body["candidates"] = listed
		return request{method: http.MethodPost, path: "/claims", body: body, extended: true}
	case model.Reshape:
		inventories := map[string]any{}
		for _, one := range w.Shapes {
			inventories[d.providers[one.At].String()] = inventoriesDocument(one.Inventories, one.Given)
		}
		return request{method: http.MethodPost, path: "/reshaper", extended: givesLease(w.Wants), body: map[string]any{
			"inventories": inventories, "allocations": d.wantsDocument(w.Wants),
		}}
	}
	panic(fmt.Sprintf("no request of %T", operation))
}

func (d *Partition) requestPatch(w model.PatchAllocations) request {
	allocations := map[string]any{}
	for p, provider := range d.providers {
		amounts := map[string]any{}
		for class, amount := range w.Allocations[p] {
			switch {
			case amount > 0:
				amounts[classes[class]] = amount
			case amount == model.Removed:
				amounts[classes[class]] = nil
			}
		}
		switch {
		case w.Gone[p]:
			allocations[provider.String()] = nil
		case len(amounts) > 0:
			allocations[provider.String()] = map[string]any{"resources": amounts}
		}
	}
	document := map[string]any{"allocations": allocations}
	addLease(document, w.Lease)
	if w.Given > 0 {
		document["consumer_generation"] = w.Given
	}
	return request{method: http.MethodPatch, path: "/allocations/" + d.consumers[w.Consumer].String(), body: document, extended: true}
}

// suffixes are the suffixes of the request groups.
var suffixes = [model.MaxGroups]string{"_A", "_B"}

func (d *Partition) requestFound(w model.ClaimFound) request {
	groups := map[string]any{}
	for i, one := range w.Groups {
		group := map[string]any{"resources": resources(one.Amounts), "in_tree": d.providers[w.Tree].String()}
		if one.Required != 0 {
			group["required"] = traitNames(one.Required)
		}
		groups[suffixes[i]] = group
	}
	query := map[string]any{"groups": groups}
	if len(groups) > 1 {
		query["group_policy"] = "none"
	}
	if w.Order != "" {
		query["order"] = w.Order
	}
	body := d.consumerDocument(w.Consumer, w.Given, w.Lease)
	body["queries"] = []any{query}
	return request{method: http.MethodPost, path: "/claims", body: body, extended: true}
}

// consumerDocument returns the members of POST /claims that describe the consumer.
func (d *Partition) consumerDocument(who int, given int64, lease model.GivenLease) map[string]any {
	consumer := map[string]any{
		"uuid": d.consumers[who].String(), "project_id": "project", "user_id": "user", "consumer_type": "INSTANCE",
		"consumer_generation": nil,
	}
	addLease(consumer, lease)
	made := map[string]any{"consumers": []any{consumer}}
	if given > 0 {
		consumer["consumer_generation"], made["existing"] = given, "replace"
	}
	return made
}

// givesLease reports whether claims give a lease.
func givesLease(wants []model.Want) bool {
	return slices.ContainsFunc(wants, func(one model.Want) bool { return one.Lease.IsGiven })
}

// wantsDocument returns a body by consumer.
func (d *Partition) wantsDocument(wants []model.Want) map[string]any {
	made := map[string]any{}
	for _, one := range wants {
		claim := map[string]any{
			"allocations": d.allocationsDocument(one.Allocations), "project_id": "project", "user_id": "user",
			"consumer_type": "INSTANCE", "consumer_generation": nil,
		}
		if one.Given > 0 {
			claim["consumer_generation"] = one.Given
		}
		addLease(claim, one.Lease)
		made[d.consumers[one.Consumer].String()] = claim
	}
	return made
}

// allocationsDocument returns allocations by provider.
func (d *Partition) allocationsDocument(has model.Allocations) map[string]any {
	made := map[string]any{}
	for p := range has {
		if has[p] != (model.Amounts{}) {
			made[d.providers[p].String()] = map[string]any{"resources": resources(has[p])}
		}
	}
	return made
}

// resources returns amounts by class.
func resources(of model.Amounts) map[string]int64 {
	made := map[string]int64{}
	for class, amount := range of {
		if amount > 0 {
			made[classes[class]] = amount
		}
	}
	return made
}

// record is the JSON of an inventory.
type record struct {
	Total    int32   `json:"total"`
	Reserved int32   `json:"reserved"`
	MinUnit  int32   `json:"min_unit"`
	MaxUnit  int32   `json:"max_unit"`
	StepSize int32   `json:"step_size"`
	Ratio    float64 `json:"allocation_ratio"`
}

// records returns inventories by class.
func records(of model.Inventories) map[string]record {
	made := map[string]record{}
	for class, one := range of {
		if one.Total > 0 {
			made[classes[class]] = record(one)
		}
	}
	return made
}

func inventoriesDocument(of model.Inventories, given int64) map[string]any {
	return map[string]any{providerGeneration: given, "inventories": records(of)}
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
