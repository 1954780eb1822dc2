package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	api "github.com/berthd/berth/gen/client"
)

// maxConsumerPage is the maximum number of consumers of a page of the service.
const maxConsumerPage = 1000

// ConsumerFilter selects consumers. The zero value selects all. A consumer passes if it has one of the values of each
// filter; Providers, InTree, Classes and Trait must hold for one and the same allocation.
type ConsumerFilter struct {
	// UUIDs, Providers and Classes have at most 500 values each.
	UUIDs     []uuid.UUID
	ProjectID string
	UserID    string
	// Type is a consumer type; "unknown": consumers without one.
	Type      string
	Providers []uuid.UUID
	// InTree is the UUID of any provider of a tree.
	InTree  string
	Classes []string
	Trait   string
	// Search is the beginning of UUIDs. The results are in the order of the UUIDs, whatever NewestFirst is.
	Search string
	// CreatedBefore and UpdatedBefore are exclusive, the others inclusive; zero: no limit.
	CreatedBefore, CreatedAfter, UpdatedBefore, UpdatedAfter time.Time
	// Leased selects consumers with or without a lease; nil: all. ExpiresBefore and UntilBefore select leases, and are exclusive.
	// These and ByExpiry need berth 1.6.
	Leased                     *bool
	ExpiresBefore, UntilBefore time.Time
	// ByExpiry selects consumers with a lease, and lists those first that are removed next.
	ByExpiry bool
	// NewestFirst reverses the order, which is the order of creation.
	NewestFirst bool
	// WithAllocations adds the allocations of the consumers.
	WithAllocations bool
	// PageSize is the number of consumers of a page, at most 1000, which is the value of 0. It does not limit the list.
	PageSize int
}

// ListedConsumer is a consumer, and what it has.
type ListedConsumer struct {
	UUID       uuid.UUID `json:"uuid"`
	ProjectID  string    `json:"project_id"`
	UserID     string    `json:"user_id"`
	Type       string    `json:"consumer_type"`
	Generation int64     `json:"consumer_generation"`
	CreatedAt  time.Time `json:"created_at"`
	UpdatedAt  time.Time `json:"updated_at"`
	// Resources are the sums of its allocations, in the order of the classes.
	Resources     ClassAmounts `json:"resources"`
	ProviderCount int          `json:"resource_provider_count"`
	// Allocations are those of each provider, if the request includes them.
	Allocations ListedAllocations `json:"allocations,omitempty"`
	// NodeAllocation is the allocation of the Bare Metal API that has claimed a node with this consumer; nil for others.
	NodeAllocation *api.NodeAllocationName `json:"node_allocation,omitempty"`
	// Lease is nil for a consumer without one, and if the context does not select berth 1.6.
	Lease *Lease `json:"lease,omitempty"`
}

// ClassAmounts are amounts of resource classes in the order of the service.
type ClassAmounts []ClassAmount

// ClassAmount is an amount of a resource class.
type ClassAmount struct {
	Class  string
	Amount int64
}

// ListedAllocations are the allocations of a consumer by provider, in the order in which it got them.
type ListedAllocations []ListedAllocation

// ListedAllocation is what a consumer has on a provider.
type ListedAllocation struct {
	Provider   uuid.UUID    `json:"-"`
	Name       string       `json:"name"`
	Root       uuid.UUID    `json:"root_provider_uuid"`
	Generation int64        `json:"generation"`
	CreatedAt  time.Time    `json:"created_at"`
	Resources  ClassAmounts `json:"resources"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (a *ClassAmounts) UnmarshalJSON(text []byte) error {
	*a = ClassAmounts{}
	return eachMember(text, func(key string, value *json.Decoder) error {
		classAmount := ClassAmount{Class: key}
		err := value.Decode(&classAmount.Amount)
		*a = append(*a, classAmount)
		return err
	})
}

// MarshalJSON implements json.Marshaler.
func (a ClassAmounts) MarshalJSON() ([]byte, error) {
	return writeMembers(slices.Values(a), func(classAmount ClassAmount) (string, any) { return classAmount.Class, classAmount.Amount })
}

// UnmarshalJSON implements json.Unmarshaler.
func (a *ListedAllocations) UnmarshalJSON(text []byte) error {
	*a = ListedAllocations{}
	return eachMember(text, func(key string, value *json.Decoder) error {
		allocation := ListedAllocation{}
		if err := value.Decode(&allocation); err != nil {
			return err
		}
		var err error
		allocation.Provider, err = uuid.Parse(key)
		*a = append(*a, allocation)
		return err
	})
}

// MarshalJSON implements json.Marshaler.
func (a ListedAllocations) MarshalJSON() ([]byte, error) {
	return writeMembers(slices.Values(a), func(allocation ListedAllocation) (string, any) { return allocation.Provider.String(), allocation })
}

// eachMember calls read for each member of a JSON object, in their order. read must decode one value.
func eachMember(text []byte, read func(key string, value *json.Decoder) error) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	if first, err := decoder.Token(); err != nil || first != json.Delim('{') {
		return errors.Join(fmt.Errorf("%v is not the beginning of an object", first), err)
	}
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return err
		}
		if err := read(key.(string), decoder); err != nil {
			return err
		}
	}
	return nil
}

// writeMembers returns a JSON object with members in their order.
func writeMembers[T any](of iter.Seq[T], member func(T) (string, any)) ([]byte, error) {
	var b bytes.Buffer
	separator := byte('{')
	for item := range of {
		key, value := member(item)
		name, err := json.Marshal(key)
		if err != nil {
			return nil, err
		}
		encoded, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		b.WriteByte(separator)
		b.Write(name)
		b.WriteByte(':')
		b.Write(encoded)
		separator = ','
	}
	if separator == '{' {
		b.WriteByte('{')
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// Consumers yields the consumers that pass a filter. It follows the links of pages, which can be short or empty: a consumer
// that exists all the time comes exactly once. An error ends the sequence. It needs berth 1.4: the error of a service
// without it is an ErrExtensions.
func (c *Client) Consumers(ctx context.Context, filter ConsumerFilter) iter.Seq2[ListedConsumer, error] {
	return pages(func(marker string) ([]ListedConsumer, []api.Link, error) {
		var page struct {
			Consumers []ListedConsumer `json:"consumers"`
			Links     []api.Link       `json:"consumers_links"`
		}
		if filter.hasLeases() {
			if err := c.require(ctx, berth16); err != nil {
				return nil, nil, err
			}
			ctx = withAtLeast(ctx, berth16)
		}
		err := c.read(ctx, &page, "consumers", filter.params(marker))
		return page.Consumers, page.Links, err
	})
}

// ConsumerShow returns a consumer with its allocations. It needs berth 1.4, as Consumers. The error of a consumer that does
// not exist is an ErrNotFound.
func (c *Client) ConsumerShow(ctx context.Context, id uuid.UUID) (found ListedConsumer, err error) {
	return found, c.read(ctx, &found, "consumers/"+id.String(), nil)
}

// hasLeases reports whether the filter needs berth 1.6.
func (f *ConsumerFilter) hasLeases() bool {
	return f.Leased != nil || f.ByExpiry || !f.ExpiresBefore.IsZero() || !f.UntilBefore.IsZero()
}

// params returns the query parameters of a page.
func (f *ConsumerFilter) params(marker string) []param {
	sort, include := "", ""
	switch {
	case f.ByExpiry:
		sort = "expires_at"
	case f.NewestFirst && f.Search == "":
		sort = "-created_at"
	}
	leased := ""
	if f.Leased != nil {
		leased = strconv.FormatBool(*f.Leased)
	}
	if f.WithAllocations {
		include = "allocations"
	}
	size := f.PageSize
	if size <= 0 || size > maxConsumerPage {
		size = maxConsumerPage
	}
	return []param{
		{"uuid", inList(uuidTexts(f.UUIDs))}, {"q", f.Search}, {"project_id", f.ProjectID}, {"user_id", f.UserID}, {"consumer_type", f.Type},
		{"resource_provider", inList(uuidTexts(f.Providers))}, {"in_tree", f.InTree}, {"resource_class", inList(f.Classes)}, {"trait", f.Trait},
		{"created_before", timeText(f.CreatedBefore)}, {"created_after", timeText(f.CreatedAfter)},
		{"updated_before", timeText(f.UpdatedBefore)}, {"updated_after", timeText(f.UpdatedAfter)},
		{"leased", leased}, {"expires_before", timeText(f.ExpiresBefore)}, {"until_before", timeText(f.UntilBefore)},
		{"include", include}, {"sort", sort}, {"limit", strconv.Itoa(size)}, {"marker", marker},
	}
}

// timeText returns a time as query strings have it; zero: "".
func timeText(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.RFC3339Nano)
}
