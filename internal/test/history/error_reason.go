package history

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strconv"
	"strings"
)

// Reason is why a request was refused.
type Reason string

// The reasons that the rules of the API give.
const (
	ProviderNotFound           Reason = "no such provider"
	NoShape                    Reason = "no such provider to reshape"
	ProviderGenerationConflict Reason = "another generation of the provider"
	ConsumerGenerationConflict Reason = "another generation of the consumer"
	NoInventory                Reason = "no inventory of the class"
	WrongUnits                 Reason = "against the units of the inventory"
	CapacityExceeded           Reason = "no room"
	InUse                      Reason = "inventory in use"
	InventoryExists            Reason = "inventory exists"
	NoConsumer                 Reason = "no such consumer"
	HasChildren                Reason = "providers below"
	HasAllocations             Reason = "provider in use"
	Exists                     Reason = "provider exists"
	NoParent                   Reason = "no such parent"
	Loop                       Reason = "below itself"
	// RetriesExhausted says nothing of the state: the service gave up after some attempts.
	RetriesExhausted Reason = "no moment for itself"
	// Unexplained is every other answer; no order explains it.
	Unexplained Reason = "unexplained"
)

// phrases are by what clients know the reasons, the more special ones first.
var phrases = []struct {
	status int
	text   string
	reason Reason
}{
	{http.StatusConflict, "conflicted with this request in every attempt", RetriesExhausted},
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

// namesPlace says whether a refusal for the reason is of use only if it says for
// which of several providers.
func (r Reason) namesPlace() bool {
	switch r {
	case ProviderNotFound, NoShape, NoInventory, WrongUnits, CapacityExceeded, InUse:
		return true
	}
	return false
}

var expected = regexp.MustCompile(`expected (\d+|null) but got`)

// refusal reads why a request was refused. One that is about several providers is to
// be told which.
func refusal(d *Partition, status int, body []byte, severalPlaces bool) Answer {
	var document struct {
		Errors []struct{ Detail string }
	}
	made := Answer{Status: status, Reason: Unexplained, Provider: none, Class: none, Expected: none, Detail: string(body)}
	if err := json.Unmarshal(body, &document); err != nil || len(document.Errors) != 1 {
		return made
	}
	made.Detail = strings.TrimSpace(document.Errors[0].Detail[strings.Index(document.Errors[0].Detail, "\n")+1:])
	for _, phrase := range phrases {
		if phrase.status == status && strings.Contains(made.Detail, phrase.text) {
			made.Reason = phrase.reason
			break
		}
	}
	for p := range d.providers {
		if strings.Contains(made.Detail, d.providers[p].String()) {
			made.Provider = p
		}
	}
	for class, name := range classes {
		if strings.Contains(made.Detail, "'"+name+"'") {
			made.Class = class
		}
	}
	if severalPlaces && made.Reason.namesPlace() && made.Provider == none {
		made.Reason = Unexplained
	}
	if found := expected.FindStringSubmatch(made.Detail); found != nil {
		made.Expected, _ = strconv.ParseInt(found[1], 10, 64) // null is 0, as in Consumer
	}
	return made
}
