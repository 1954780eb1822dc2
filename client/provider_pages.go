package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"strconv"
	"strings"
	"time"

	api "github.com/berthd/berth/gen/client"
	"github.com/google/uuid"
)

// ProviderQuery selects providers, and what is listed of them.
type ProviderQuery struct {
	ProviderFilter
	// Include are the wanted parts: "inventories", "usages", "traits", "aggregates".
	Include []string
	// Sort is "created_at", "-created_at" or "name"; empty: "created_at". Prefix is the beginning of names or UUIDs; the
	// providers are in the order of names then.
	Sort, Prefix string
	// PageSize is the number of providers of a request, at most 1000; 0: all in one request.
	PageSize int
}

// ListedProvider is a provider with its included parts; parts that the query does not include are nil.
type ListedProvider struct {
	api.Provider
	Inventories Inventories
	Usages      map[string]int64
	Traits      []string
	Aggregates  []uuid.UUID
}

// UnmarshalJSON implements json.Unmarshaler.
func (p *ListedProvider) UnmarshalJSON(text []byte) error {
	var parts struct {
		Inventories Inventories      `json:"inventories"`
		Usages      map[string]int64 `json:"usages"`
		Traits      []string         `json:"traits"`
		Aggregates  []uuid.UUID      `json:"aggregates"`
	}
	if err := json.Unmarshal(text, &p.Provider); err != nil {
		return err
	}
	if err := json.Unmarshal(text, &parts); err != nil {
		return err
	}
	p.Inventories, p.Usages, p.Traits, p.Aggregates = parts.Inventories, parts.Usages, parts.Traits, parts.Aggregates
	return nil
}

// Providers returns an iterator over providers, which requests the next page when it needs it. An error ends it. It
// needs berth 1.4.
func (c *Client) Providers(ctx context.Context, query ProviderQuery) iter.Seq2[ListedProvider, error] {
	return pages(func(marker string) ([]ListedProvider, []api.Link, error) {
		var page struct {
			Providers []ListedProvider `json:"resource_providers"`
			Links     []api.Link       `json:"resource_providers_links"`
		}
		err := c.getReading(ctx, &page, "resource_providers", query.params(marker))
		return page.Providers, page.Links, err
	})
}

// params returns the query parameters of a page.
func (q *ProviderQuery) params(marker string) []param {
	all := []param{
		{"name", q.Name}, {"uuid", q.UUID}, {"in_tree", q.InTree}, {"resources", q.Resources},
		{"include", strings.Join(q.Include, ",")}, {"sort", q.Sort}, {"q", q.Prefix}, {"marker", marker},
	}
	if q.PageSize > 0 {
		all = append(all, param{"limit", strconv.Itoa(q.PageSize)})
	}
	for _, value := range q.MemberOf {
		all = append(all, param{"member_of", value})
	}
	for _, value := range q.Required {
		all = append(all, param{"required", value})
	}
	return all
}

// AggregateQuery selects aggregates.
type AggregateQuery struct {
	// UUIDs are the wanted aggregates, at most 500; empty: all. Provider is in the aggregates; uuid.Nil: any.
	UUIDs    []uuid.UUID
	Provider uuid.UUID
	// Sort is "created_at" or "-created_at"; empty: "created_at". PageSize is the number of aggregates of a request, at most
	// 1000; 0: 100.
	Sort     string
	PageSize int
}

// ListedAggregate is an aggregate with the numbers of its providers.
type ListedAggregate struct {
	UUID             uuid.UUID `json:"uuid"`
	Providers        int64     `json:"resource_provider_count"`
	SharingProviders int64     `json:"sharing_provider_count"`
	CreatedAt        time.Time `json:"created_at"`
}

// Aggregates returns an iterator over aggregates, which requests the next page when it needs it. An error ends it. It
// needs berth 1.4.
func (c *Client) Aggregates(ctx context.Context, query AggregateQuery) iter.Seq2[ListedAggregate, error] {
	return pages(func(marker string) ([]ListedAggregate, []api.Link, error) {
		var page struct {
			Aggregates []ListedAggregate `json:"aggregates"`
			Links      []api.Link        `json:"aggregates_links"`
		}
		err := c.getReading(ctx, &page, "aggregates", query.params(marker))
		return page.Aggregates, page.Links, err
	})
}

// params returns the query parameters of a page.
func (q *AggregateQuery) params(marker string) []param {
	all := []param{{"sort", q.Sort}, {"marker", marker}}
	if len(q.UUIDs) > 0 {
		texts := make([]string, 0, len(q.UUIDs))
		for _, id := range q.UUIDs {
			texts = append(texts, id.String())
		}
		all = append(all, param{"uuid", "in:" + strings.Join(texts, ",")})
	}
	if q.Provider != uuid.Nil {
		all = append(all, param{"resource_provider", q.Provider.String()})
	}
	if q.PageSize > 0 {
		all = append(all, param{"limit", strconv.Itoa(q.PageSize)})
	}
	return all
}

// pages returns an iterator over the items of all pages. get requests the page of a marker; the first one is empty.
func pages[T any](get func(marker string) ([]T, []api.Link, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for marker := ""; ; {
			items, links, err := get(marker)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
			if marker = nextMarker(links); marker == "" {
				return
			}
		}
	}
}

// getReading sends a read that needs berth 1.4. Parameters without a value are left out.
func (c *Client) getReading(ctx context.Context, into any, path string, params []param) error {
	var sent []param
	for _, one := range params {
		if one.value != "" {
			sent = append(sent, one)
		}
	}
	switch extensions(ctx) {
	case "", "berth 1.0", "berth 1.1", "berth 1.2", "berth 1.3":
		ctx = WithExtensions(ctx, readingVersion)
	}
	return c.Exchange(ctx, into, placementRefusal, func(ctx context.Context, address string, over *http.Client) (*http.Response, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, address+path, nil)
		if err != nil {
			return nil, err
		}
		request.URL.RawQuery = encode(sent)
		request.Header.Set(versionHeader, string(newest))
		return over.Do(request)
	})
}

// readingVersion is the version of the extensions with pages, trees, consumers and capacity.
const readingVersion = "1.4"
