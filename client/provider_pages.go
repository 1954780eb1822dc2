package client

import (
	"context"
	"iter"
	"strings"

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

// Providers returns an iterator over providers with the included parts; the others are nil. The iterator requests the next page when it needs it. An error ends it. It
// needs berth 1.4.
func (c *Client) Providers(ctx context.Context, query ProviderQuery) iter.Seq2[api.ProviderWithParts, error] {
	return pages(func(marker string) ([]api.ProviderWithParts, []api.Link, error) {
		var page api.ProviderPage
		err := c.read(ctx, &page, "resource_providers", query.params(marker))
		return page.ResourceProviders, page.ResourceProvidersLinks, err
	})
}

// params returns the query parameters of a page.
func (q *ProviderQuery) params(marker string) []param {
	all := []param{
		{"name", q.Name}, {"uuid", q.UUID}, {"in_tree", q.InTree}, {"resources", q.Resources},
		{"include", strings.Join(q.Include, ",")}, {"sort", q.Sort}, {"q", q.Prefix}, {"limit", sizeText(q.PageSize)}, {"marker", marker},
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

// Aggregates returns an iterator over aggregates, which requests the next page when it needs it. An error ends it. It
// needs berth 1.4.
func (c *Client) Aggregates(ctx context.Context, query AggregateQuery) iter.Seq2[api.ListedAggregate, error] {
	return pages(func(marker string) ([]api.ListedAggregate, []api.Link, error) {
		var page api.AggregateList
		err := c.read(ctx, &page, "aggregates", query.params(marker))
		return page.Aggregates, page.AggregatesLinks, err
	})
}

// params returns the query parameters of a page.
func (q *AggregateQuery) params(marker string) []param {
	all := []param{{"uuid", inList(uuidTexts(q.UUIDs))}, {"sort", q.Sort}, {"limit", sizeText(q.PageSize)}, {"marker", marker}}
	if q.Provider != uuid.Nil {
		all = append(all, param{"resource_provider", q.Provider.String()})
	}
	return all
}
