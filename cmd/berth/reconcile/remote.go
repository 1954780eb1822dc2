package reconcile

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/berthd/berth/client"
)

// remote sends requests to another OpenStack API with the identity and the retries of a client.
type remote struct {
	service *client.Client
	// header and version are the header of the microversion and its value.
	header, version string
}

// get sends a GET for a path below the address of the API, and decodes its response.
func (r *remote) get(ctx context.Context, path string, query url.Values, into any) error {
	return r.service.Exchange(ctx, into, remoteFault, func(ctx context.Context, address string, over *http.Client) (*http.Response, error) {
		if len(query) > 0 {
			path += "?" + query.Encode()
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.base(address)+path, nil)
		if err != nil {
			return nil, err
		}
		request.Header.Set(r.header, r.version)
		request.Header.Set("Accept", "application/json")
		return over.Do(request)
	})
}

// base returns the address without the version of the Bare Metal API, which is a part of its paths and of some catalogs.
func (r *remote) base(address string) string {
	if strings.HasSuffix(address, "/v1/") {
		return strings.TrimSuffix(address, "v1/")
	}
	return address
}

// remoteFault reads the body of an error: an object with one member, whose value has the message.
func remoteFault(failed *client.Error, _ *http.Response, body []byte) {
	var faults map[string]struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(body, &faults) != nil {
		return
	}
	for _, fault := range faults {
		failed.Detail = fault.Message
	}
}
