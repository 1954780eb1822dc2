package history

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/berthd/berth/internal/test/model"
)

// phrases are the statuses and texts of the reasons, the most specific first.
var phrases = []struct {
	status int
	text   string
	reason model.Reason
}{
	{http.StatusConflict, "conflicted with this request in every attempt", model.RetriesExhausted},
	{http.StatusConflict, "Others were faster", model.RetriesExhausted},
	{http.StatusServiceUnavailable, "Too many dry runs at once", model.Busy},
	{http.StatusConflict, "Nothing fits.", model.NothingFits},
	{http.StatusConflict, "consumer generation conflict", model.ConsumerGenerationConflict},
	{http.StatusConflict, "provider generation conflict", model.ProviderGenerationConflict},
	{http.StatusConflict, "generation already changed", model.ProviderGenerationConflict},
	{http.StatusConflict, "would violate inventory constraints", model.WrongUnits},
	{http.StatusConflict, "would exceed the capacity", model.CapacityExceeded},
	{http.StatusConflict, "' in use.", model.InUse},
	{http.StatusConflict, "' invalid.", model.NoClaimedInventory},
	{http.StatusConflict, "has inventory of class", model.InventoryExists},
	{http.StatusConflict, "It has child resource providers", model.HasChildren},
	{http.StatusConflict, "Resource provider has allocations", model.HasAllocations},
	{http.StatusConflict, "already exists", model.Exists},
	{http.StatusConflict, "is in the tree of", model.InOtherTree},
	{http.StatusBadRequest, "is not a root. Its tree is", model.NotRoot},
	{http.StatusBadRequest, "which is not in the tree", model.NotInTree},
	{http.StatusBadRequest, " above each other", model.Loop},
	{http.StatusBadRequest, " is above itself", model.Loop},
	{http.StatusBadRequest, "in inventories not found", model.NoShape},
	{http.StatusBadRequest, "that does not exist", model.NoClaimedProvider},
	{http.StatusBadRequest, "parent provider UUID does not exist", model.NoParent},
	{http.StatusBadRequest, "creating loop in the provider tree", model.Loop},
	{http.StatusBadRequest, "No inventory record with resource class", model.NoInventory},
	{http.StatusNotFound, "No inventory of class", model.NoInventory},
	{http.StatusNotFound, "No allocations for consumer", model.NoConsumer},
	{http.StatusNotFound, "No resource provider with uuid", model.ProviderNotFound},
	{http.StatusNotFound, "Resource provider '", model.ProviderNotFound},
}

// reasonOf parses the text of an error.
func reasonOf(d *Partition, status int, text string) model.Refusal {
	made := model.Refusal{Reason: model.Unexplained, Provider: model.None, Class: model.None}
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
func refusal(d *Partition, status int, body []byte, severalPlaces bool) model.Response {
	var document struct {
		Errors []struct {
			Detail  string
			Refused []struct{ Detail string }
		}
	}
	made := model.Accepted()
	made.Status, made.Reason, made.Detail = status, model.Unexplained, string(body)
	if err := json.Unmarshal(body, &document); err != nil || len(document.Errors) != 1 {
		return made
	}
	made.Detail = strings.TrimSpace(document.Errors[0].Detail[strings.Index(document.Errors[0].Detail, "\n")+1:])
	one := reasonOf(d, status, made.Detail)
	made.Reason, made.Provider, made.Class = one.Reason, one.Provider, one.Class
	for _, candidate := range document.Errors[0].Refused {
		one := reasonOf(d, status, candidate.Detail)
		if !one.Reason.NamesProvider() || one.Provider == model.None || one.Class == model.None {
			made.Reason = model.Unexplained
		}
		made.Refused = append(made.Refused, one)
	}
	if severalPlaces && made.Reason.NamesProvider() && made.Provider == model.None {
		made.Reason = model.Unexplained
	}
	if found := expected.FindStringSubmatch(made.Detail); found != nil {
		made.Expected, _ = strconv.ParseInt(found[1], 10, 64) // null is 0, as in Consumer
	}
	return made
}

// claimsAllocations reports whether an operation sets allocations. Its errors must name the provider.
func claimsAllocations(of model.Operation) bool {
	switch w := of.(type) {
	case model.DryRun:
		return claimsAllocations(w.Operation)
	case model.PatchAllocations:
		return true
	}
	return wants(of) != nil
}
