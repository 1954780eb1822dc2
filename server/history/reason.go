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
	NoPlace        Reason = "no such provider"
	NoShape        Reason = "no such provider to reshape"
	StalePlace     Reason = "another generation of the provider"
	StaleConsumer  Reason = "another generation of the consumer"
	NoOffer        Reason = "no inventory of the class"
	WrongUnits     Reason = "against the units of the inventory"
	Full           Reason = "no room"
	InUse          Reason = "inventory in use"
	HasOffer       Reason = "inventory exists"
	NoConsumer     Reason = "no such consumer"
	HasChildren    Reason = "providers below"
	HasAllocations Reason = "provider in use"
	Exists         Reason = "provider exists"
	NoParent       Reason = "no such parent"
	Loop           Reason = "below itself"
	// Busy says nothing of the state: the service gave up after some attempts.
	Busy Reason = "no moment for itself"
	// Unexplained is every other answer; no order explains it.
	Unexplained Reason = "unexplained"
)

// phrases are by what clients know the reasons, the more special ones first.
var phrases = []struct {
	status int
	text   string
	reason Reason
}{
	{http.StatusConflict, "found no moment for itself", Busy},
	{http.StatusConflict, "consumer generation conflict", StaleConsumer},
	{http.StatusConflict, "provider generation conflict", StalePlace},
	{http.StatusConflict, "generation already changed", StalePlace},
	{http.StatusConflict, "would violate inventory constraints", WrongUnits},
	{http.StatusConflict, "would exceed the capacity", Full},
	{http.StatusConflict, "' in use.", InUse},
	{http.StatusConflict, "' invalid.", NoOffer},
	{http.StatusConflict, "has inventory of class", HasOffer},
	{http.StatusConflict, "It has child resource providers", HasChildren},
	{http.StatusConflict, "Resource provider has allocations", HasAllocations},
	{http.StatusConflict, "already exists", Exists},
	{http.StatusBadRequest, "in inventories not found", NoShape},
	{http.StatusBadRequest, "that does not exist", NoPlace},
	{http.StatusBadRequest, "parent provider UUID does not exist", NoParent},
	{http.StatusBadRequest, "creating loop in the provider tree", Loop},
	{http.StatusBadRequest, "No inventory record with resource class", NoOffer},
	{http.StatusNotFound, "No inventory of class", NoOffer},
	{http.StatusNotFound, "No allocations for consumer", NoConsumer},
	{http.StatusNotFound, "No resource provider with uuid", NoPlace},
	{http.StatusNotFound, "Resource provider '", NoPlace},
}

// namesPlace says whether a refusal for the reason is of use only if it says for
// which of several providers.
func (r Reason) namesPlace() bool {
	switch r {
	case NoPlace, NoShape, NoOffer, WrongUnits, Full, InUse:
		return true
	}
	return false
}

var expected = regexp.MustCompile(`expected (\d+|null) but got`)

// refusal reads why a request was refused. One that is about several providers is to
// be told which.
func refusal(d *District, status int, body []byte, severalPlaces bool) Answer {
	var document struct {
		Errors []struct{ Detail string }
	}
	made := Answer{Status: status, Reason: Unexplained, Place: nobody, Class: nobody, Expected: nobody, Detail: string(body)}
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
	for p := range d.places {
		if strings.Contains(made.Detail, d.places[p].String()) {
			made.Place = p
		}
	}
	for class, name := range classes {
		if strings.Contains(made.Detail, "'"+name+"'") {
			made.Class = class
		}
	}
	if severalPlaces && made.Reason.namesPlace() && made.Place == nobody {
		made.Reason = Unexplained
	}
	if found := expected.FindStringSubmatch(made.Detail); found != nil {
		made.Expected, _ = strconv.ParseInt(found[1], 10, 64) // null is 0, as in Consumer
	}
	return made
}
