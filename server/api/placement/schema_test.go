package placement

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/wire/microversion"
)

// documentTable returns a table that builds documents and serves no requests.
func documentTable() *route.Table {
	return route.New(Operations(Options{}), route.Options{API: API(), Tags: Tags(), Schemas: Schemas()})
}

// TestOpenAPI_Schemas_HaveDescriptions checks the descriptions, which client generators write above each type.
func TestOpenAPI_Schemas_HaveDescriptions(t *testing.T) {
	t.Parallel()
	unused := Schemas()
	table := documentTable()
	for _, version := range slices.Concat(microversion.All(), microversion.Extended()) {
		raw, err := table.Document(version)
		if err != nil {
			t.Fatal(err)
		}
		var document struct {
			Components struct {
				Schemas map[string]struct {
					Description string `json:"description"`
				} `json:"schemas"`
			} `json:"components"`
		}
		if err := json.Unmarshal(raw, &document); err != nil {
			t.Fatal(err)
		}
		for name, schema := range document.Components.Schemas {
			if schema.Description == "" {
				t.Errorf("%s: %s has no description", version, name)
			}
			delete(unused, name)
		}
	}
	for name := range unused {
		t.Errorf("%s has a description but occurs in no document", name)
	}
}

// TestOpenAPI_ErrorCodes_AllListed checks the list of codes, because generated clients have constants only of it.
func TestOpenAPI_ErrorCodes_AllListed(t *testing.T) {
	t.Parallel()
	table := documentTable()
	for _, version := range slices.Concat(microversion.All(), microversion.Extended()) {
		raw, err := table.Document(version)
		if err != nil {
			t.Fatal(err)
		}
		var document struct {
			Paths map[string]map[string]struct {
				OperationID string `json:"operationId"`
				Responses   map[string]struct {
					Codes []string `json:"x-error-codes"`
				} `json:"responses"`
			} `json:"paths"`
			Components struct {
				Schemas struct{ ErrorCode struct{ Enum []string } }
			} `json:"components"`
		}
		if err := json.Unmarshal(raw, &document); err != nil {
			t.Fatal(err)
		}
		for _, methods := range document.Paths {
			for _, operation := range methods {
				for status, response := range operation.Responses {
					for _, code := range response.Codes {
						if !slices.Contains(document.Components.Schemas.ErrorCode.Enum, code) {
							t.Errorf("%s: %s returns %s with the code %s, which is not in the list", version, operation.OperationID, status, code)
						}
					}
				}
			}
		}
	}
}
