package history

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strconv"
	"strings"
)

// Reason is the reason of an error response.
type Reason string

// The reasons that the rules of the API define.
const (
	ProviderNotFound           Reason = "provider not found"
	NoShape                    Reason = "provider to reshape not found"
	ProviderGenerationConflict Reason = "provider generation conflict"
	ConsumerGenerationConflict Reason = "consumer generation conflict"
	NoInventory                Reason = "no inventory of the class"
	WrongUnits                 Reason = "violates the units of the inventory"
	CapacityExceeded           Reason = "capacity exceeded"
	InUse                      Reason = "inventory in use"
	InventoryExists            Reason = "inventory exists"
	NoConsumer                 Reason = "consumer not found"
	HasChildren                Reason = "provider has children"
	HasAllocations             Reason = "provider in use"
	Exists                     Reason = "provider exists"
	NoParent                   Reason = "parent not found"
	Loop                       Reason = "parent cycle"
	// NotRoot, InOtherTree and NotInTree are errors of PUT /resource_providers/{provider}/tree only.
	NotRoot     Reason = "provider is not a root"
	InOtherTree Reason = "provider in another tree"
	NotInTree   Reason = "parent not in the tree"
	// NothingFits is an error of claims only.
	NothingFits Reason = "nothing fits"
	// Busy does not depend on the state: too many dry runs at once.
	Busy Reason = "busy"
	// RetriesExhausted does not depend on the state: the server gave up after its last attempt.
	RetriesExhausted Reason = "retries exhausted"
	// Unexplained is the reason of all other errors; they are wrong in every order.
	Unexplained Reason = "unexplained"
)

// phrases are the statuses and texts of the reasons, the most specific first.
var phrases = []struct {
	status int
	text   string
	reason Reason
}{
	{http.StatusConflict, "conflicted with this request in every attempt", RetriesExhausted},
	{http.StatusConflict, "Others were faster", RetriesExhausted},
	{http.StatusServiceUnavailable, "Too many dry runs at once", Busy},
	{http.StatusConflict, "Nothing fits.", NothingFits},
	{http.StatusConflict, "consumer generation conflict", ConsumerGenerationConflict},
	{http.StatusConflict, "provider generation conflict", ProviderGenerationConflict},
	{http.StatusConflict, "generation already changed", ProviderGenerationConflict},
	{http.StatusConflict, "would violate inventory constraints", WrongUnits},
	{http.StatusConflict, "would exceed the capacity", CapacityExceeded},
	{http.StatusConflict, "' in use.", InUse},
	{http.StatusConflict, "' invalid.", NoInventory},
	{http.StatusConflict, "has inventory of class", InventoryExists},
	{http.StatusConflict, "It has child resource providers", HasChildren},
	{http.StatusConflict, "Resource provider has allocations", HasAllocations},
	{http.StatusConflict, "already exists", Exists},
	{http.StatusConflict, "is in the tree of", InOtherTree},
	{http.StatusBadRequest, "is not a root. Its tree is", NotRoot},
	{http.StatusBadRequest, "which is not in the tree", NotInTree},
	{http.StatusBadRequest, " above each other", Loop},
	{http.StatusBadRequest, " is above itself", Loop},
	{http.StatusBadRequest, "in inventories not found", NoShape},
	{http.StatusBadRequest, "that does not exist", ProviderNotFound},
	{http.StatusBadRequest, "parent provider UUID does not exist", NoParent},
	{http.StatusBadRequest, "creating loop in the provider tree", Loop},
	{http.StatusBadRequest, "No inventory record with resource class", NoInventory},
	{http.StatusNotFound, "No inventory of class", NoInventory},
	{http.StatusNotFound, "No allocations for consumer", NoConsumer},
	{http.StatusNotFound, "No resource provider with uuid", ProviderNotFound},
	{http.StatusNotFound, "Resource provider '", ProviderNotFound},
}

// namesPlace reports whether an error with this reason must name one of several providers.
func (r Reason) namesPlace() bool {
	switch r {
	case ProviderNotFound, NoShape, NoInventory, WrongUnits, CapacityExceeded, InUse:
		return true
	}
	return false
}

// reasonOf parses the text of an error.
func reasonOf(d *Partition, status int, text string) Refusal {
	made := Refusal{Unexplained, none, none}
	for _, phrase := range phrases {
		if phrase.status == status && strings.Contains(text, phrase.text) {
			made.Reason = phrase.reason
			break
		}
	}
	for p := range d.providers {
		if strings.Contains(text, d.providers[p].String()) {
			made.Provider = p
		}
	}
	for class, name := range classes {
		if strings.Contains(text, "'"+name+"'") {
			made.Class = class
		}
	}
	return made
}

var expected = regexp.MustCompile(`expected (\d+|null) but got`)

// refusal parses an error response. If the request concerns several providers, the error must name
// the provider.
func refusal(d *Partition, status int, body []byte, severalPlaces bool) Response {
	var document struct {
		Errors []struct {
			Detail  string
			Refused []struct{ Detail string }
		}
	}
	made := Response{Status: status, Reason: Unexplained, Provider: none, Class: none, Expected: none, Detail: string(body)}
	if err := json.Unmarshal(body, &document); err != nil || len(document.Errors) != 1 {
		return made
	}
	made.Detail = strings.TrimSpace(document.Errors[0].Detail[strings.Index(document.Errors[0].Detail, "\n")+1:])
	one := reasonOf(d, status, made.Detail)
	made.Reason, made.Provider, made.Class = one.Reason, one.Provider, one.Class
	for _, candidate := range document.Errors[0].Refused {
		one := reasonOf(d, status, candidate.Detail)
		if !one.Reason.namesPlace() || one.Provider == none || one.Class == none {
			made.Reason = Unexplained
		}
		made.Refused = append(made.Refused, one)
	}
	if severalPlaces && made.Reason.namesPlace() && made.Provider == none {
		made.Reason = Unexplained
	}
	if found := expected.FindStringSubmatch(made.Detail); found != nil {
		made.Expected, _ = strconv.ParseInt(found[1], 10, 64) // null is 0, as in Consumer
	}
	return made
}
