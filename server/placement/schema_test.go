package placement

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/berthd/berth/openapi"
)

// TestEverySchemaIsDescribed: generators of clients write what a type is for
// above the type.
func TestEverySchemaIsDescribed(t *testing.T) {
	t.Parallel()
	unused := Schemas()
	for _, version := range openapi.Placement.Versions() {
		raw, _ := openapi.Placement.Document(version)
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
				t.Errorf("%s: nothing says what %s is", version, name)
			}
			delete(unused, name)
		}
	}
	for name := range unused {
		t.Errorf("%s is described, and no document has it", name)
	}
}

// TestEveryErrorCodeOfAnOperationIsInTheListOfCodes: programs have constants of
// the list only.
func TestEveryErrorCodeOfAnOperationIsInTheListOfCodes(t *testing.T) {
	t.Parallel()
	for _, version := range openapi.Placement.Versions() {
		raw, _ := openapi.Placement.Document(version)
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
							t.Errorf("%s: %s answers %s with the code %s, which is not in the list", version, operation.OperationID, status, code)
						}
					}
				}
			}
		}
	}
}
