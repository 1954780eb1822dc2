package route

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berthd/berth/server/microversion"
)

func documentDescription(at microversion.Version) string {
	return fmt.Sprintf("Inventories, traits and allocations of resource providers, at microversion %[1]s. "+
		"Send the header `OpenStack-API-Version: placement %[1]s` with every request: without it, "+
		"the server speaks 1.0.\n\n"+
		"Query parameters are checked in the order in which they stand. "+
		"Errors carry the request's id, under which the server's log has more.", at)
}

// describe is the part of an operation that is the same in all its variants.
func (op *Operation) describe() huma.Operation {
	described := huma.Operation{
		OperationID: op.ID,
		Method:      op.Method,
		Path:        op.Path,
		Summary:     op.Summary,
		Description: op.Description,
		Errors:      op.statuses(),
	}
	if op.Tag != "" {
		described.Tags = []string{op.Tag}
	}
	if op.Rule == "" {
		described.Security = []map[string][]string{{}}
	} else {
		described.Description += fmt.Sprintf("\n\nPolicy rule: `%s`.", op.Rule)
	}
	return described
}

// statuses are all that the operation can fail with.
func (op *Operation) statuses() []int {
	found := slices.Clone(op.Fails)
	if op.Rule != "" {
		found = append(found, http.StatusUnauthorized, http.StatusForbidden)
	}
	// The version header can be malformed or ask for what there is not.
	found = append(found, http.StatusBadRequest, http.StatusNotAcceptable)
	if slices.Contains(op.Checks, JSON) {
		found = append(found, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType)
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// versionHeader documents what asks for a version and what answers it, and
// removes the status 422 that huma adds and this API never sends.
func versionHeader(at microversion.Version) huma.AddOpFunc {
	return func(_ *huma.OpenAPI, op *huma.Operation) {
		delete(op.Responses, strconv.Itoa(http.StatusUnprocessableEntity))
		op.Parameters = append(op.Parameters, &huma.Param{
			Name: microversion.Header, In: "header",
			Description: "The microversion to speak.",
			Schema:      &huma.Schema{Type: huma.TypeString},
			Example:     "placement " + at.String(),
		})
		for _, response := range op.Responses {
			if response.Headers == nil {
				response.Headers = map[string]*huma.Param{}
			}
			response.Headers["X-Openstack-Request-Id"] = &huma.Header{
				Description: "The request's id in the server's log.",
				Schema:      &huma.Schema{Type: huma.TypeString},
			}
		}
	}
}

// cacheHeaders removes the headers that answers carry only from 1.15 on from
// the documents of earlier versions.
func cacheHeaders(at microversion.Version) huma.AddOpFunc {
	return func(_ *huma.OpenAPI, op *huma.Operation) {
		if at.HasCacheHeaders() {
			return
		}
		for _, response := range op.Responses {
			delete(response.Headers, "Last-Modified")
			delete(response.Headers, "Cache-Control")
		}
	}
}

// marshalDocument writes a document the same way each time.
func marshalDocument(document *huma.OpenAPI) ([]byte, error) {
	compact, err := document.MarshalJSON()
	if err != nil {
		return nil, err
	}
	var value any
	if err := json.Unmarshal(compact, &value); err != nil {
		return nil, err
	}
	indented, err := json.MarshalIndent(value, "", "  ")
	return append(indented, '\n'), err
}
