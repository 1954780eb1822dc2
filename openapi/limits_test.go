package openapi_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestOpenAPI_Operations_DocumentLimitResponses checks the responses to too many requests of one caller, an overloaded
// server, and a body that is too large.
func TestOpenAPI_Operations_DocumentLimitResponses(t *testing.T) {
	t.Parallel()
	type response struct {
		Ref     string                     `json:"$ref"`
		Headers map[string]json.RawMessage `json:"headers"`
	}
	everyDocument(t, func(t *testing.T, raw []byte) {
		var document struct {
			Paths map[string]map[string]struct {
				RequestBody any                 `json:"requestBody"`
				Responses   map[string]response `json:"responses"`
			} `json:"paths"`
			Components struct {
				Responses map[string]response `json:"responses"`
			} `json:"components"`
		}
		if err := json.Unmarshal(raw, &document); err != nil {
			t.Fatal(err)
		}
		for path, operations := range document.Paths {
			for method, operation := range operations {
				for _, status := range []string{"429", "503"} {
					found, ok := operation.Responses[status]
					if ok && found.Ref != "" {
						found = document.Components.Responses[strings.TrimPrefix(found.Ref, "#/components/responses/")]
					}
					if found.Headers["Retry-After"] == nil {
						t.Errorf("%s %s: %s has no Retry-After", method, path, status)
					}
				}
				if _, ok := operation.Responses["413"]; ok != (operation.RequestBody != nil) {
					t.Errorf("%s %s: documents 413 = %v", method, path, ok)
				}
			}
		}
	})
}
