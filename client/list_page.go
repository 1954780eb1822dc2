package client

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	api "github.com/berthd/berth/gen/client"
)

// ListPage is one page of a list, for programs that show a list page by page. Only the items of that list are set.
type ListPage struct {
	Providers []api.ProviderWithParts `json:"resource_providers"`
	Consumers []ListedConsumer        `json:"consumers"`
	Sums      []api.ClassCapacity     `json:"capacity"`
	// AsOf is zero for lists whose response has no time.
	AsOf time.Time `json:"as_of"`
	// Total is nil unless the query has total=true.
	Total *api.Total `json:"total"`
	// Marker is that of the next page; empty: there is none.
	Marker string `json:"-"`
}

// ListPage requests a page of "resource_providers", "consumers" or "capacity" with the parameters of the API, of which
// empty ones are omitted. It needs berth 1.4.
func (c *Client) ListPage(ctx context.Context, list string, query url.Values) (ListPage, error) {
	var page struct {
		ListPage
		Providers []api.Link `json:"resource_providers_links"`
		Consumers []api.Link `json:"consumers_links"`
		Capacity  []api.Link `json:"capacity_links"`
	}
	raw, err := c.ListText(ctx, list, query)
	if err == nil {
		err = json.Unmarshal(raw, &page)
	}
	page.Marker = nextMarker(slices.Concat(page.Providers, page.Consumers, page.Capacity))
	return page.ListPage, err
}

// ListText is ListPage for programs that pass the response on. It also reads other paths, such as that of a tree.
func (c *Client) ListText(ctx context.Context, path string, query url.Values) (json.RawMessage, error) {
	sent := maps.Clone(query)
	maps.DeleteFunc(sent, func(_ string, values []string) bool { return strings.Join(values, "") == "" })
	var raw json.RawMessage
	return raw, c.do(ctx, &raw, request{method: http.MethodGet, path: path + "?" + sent.Encode(), needs: berth14})
}
