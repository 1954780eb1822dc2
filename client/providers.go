package client

import (
	"context"
	"fmt"
	"net/http"

	api "github.com/berthd/berth/gen/client"
	"github.com/google/uuid"
	"github.com/oapi-codegen/nullable"
)

// ProviderFilter is a filter of providers: it selects those that meet all fields that are not empty.
type ProviderFilter struct {
	// Name is exact. UUID and InTree are uuids; InTree is any provider of a tree.
	Name, UUID, InTree string
	// Resources are amounts that the provider itself has room for, such as
	// "VCPU:2,MEMORY_MB:512".
	Resources string
	// MemberOf and Required are conditions that must all hold, each in the words of
	// the API: "uuid", "in:uuid,uuid", "!uuid", "!in:uuid,uuid"; "TRAIT", "!TRAIT",
	// "in:TRAIT,TRAIT".
	MemberOf, Required []string
}

// ProviderList returns providers in the order of their creation. An unknown provider, name or aggregate yields an empty
// list, an unknown class or trait an error.
func (c *Client) ProviderList(ctx context.Context, filter ProviderFilter) ([]api.Provider, error) {
	params := api.ProviderListParams{
		OpenStackAPIVersion: newest,
		Name:                given(filter.Name), Resources: given(filter.Resources),
		MemberOf: filter.MemberOf, Required: filter.Required,
	}
	var err error
	if params.UUID, err = givenUUID("uuid", filter.UUID); err != nil {
		return nil, err
	}
	if params.InTree, err = givenUUID("in_tree", filter.InTree); err != nil {
		return nil, err
	}
	var answer struct {
		ResourceProviders []api.Provider `json:"resource_providers"`
	}
	err = c.send(ctx, &answer, func(ctx context.Context, wire *api.Client) (*http.Response, error) {
		return wire.ProviderList(ctx, &params)
	})
	return answer.ResourceProviders, err
}

// given returns a pointer to the value of a filter, nil for an empty one.
func given(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func givenUUID(what, text string) (*uuid.UUID, error) {
	if text == "" {
		return nil, nil
	}
	id, err := uuid.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %q is not a uuid", what, text)
	}
	return &id, nil
}

// ProviderShow returns one provider. ErrNotFound: it does not exist.
func (c *Client) ProviderShow(ctx context.Context, id uuid.UUID) (api.Provider, error) {
	var answer api.Provider
	err := c.send(ctx, &answer, func(ctx context.Context, wire *api.Client) (*http.Response, error) {
		return wire.ProviderShow(ctx, id.String(), &api.ProviderShowParams{OpenStackAPIVersion: newest})
	})
	return answer, err
}

// ProviderCreate creates a provider below a parent, or a root if that is uuid.Nil. If id is uuid.Nil, the server
// chooses the UUID. ErrDuplicateName, ErrDuplicateUUID: another provider has the name or the UUID.
func (c *Client) ProviderCreate(ctx context.Context, name string, id, parent uuid.UUID) (api.Provider, error) {
	body := api.ProviderCreate{Name: name}
	if id != uuid.Nil {
		body.UUID = &id
	}
	if parent != uuid.Nil {
		body.ParentProviderUUID = &parent
	}
	var answer api.Provider
	err := c.send(ctx, &answer, func(ctx context.Context, wire *api.Client) (*http.Response, error) {
		return wire.ProviderCreate(ctx, &api.ProviderCreateParams{OpenStackAPIVersion: newest}, body)
	})
	return answer, err
}

// ProviderUpdate sets the name and the parent of a provider; uuid.Nil: it becomes a root. Its descendants move with it.
// It always writes both, whatever the generation: the last writer wins.
func (c *Client) ProviderUpdate(ctx context.Context, id uuid.UUID, name string, parent uuid.UUID) (api.Provider, error) {
	body := api.ProviderUpdate{Name: name, ParentProviderUUID: nullable.NewNullNullable[uuid.UUID]()}
	if parent != uuid.Nil {
		body.ParentProviderUUID = nullable.NewNullableWithValue(parent)
	}
	var answer api.Provider
	err := c.send(ctx, &answer, func(ctx context.Context, wire *api.Client) (*http.Response, error) {
		return wire.ProviderUpdate(ctx, id.String(), &api.ProviderUpdateParams{OpenStackAPIVersion: newest}, body)
	})
	return answer, err
}

// ProviderDelete deletes a provider with its inventories. ErrHasChildren, ErrProviderInUse: it has children or
// allocations.
func (c *Client) ProviderDelete(ctx context.Context, id uuid.UUID) error {
	return c.send(ctx, nil, func(ctx context.Context, wire *api.Client) (*http.Response, error) {
		return wire.ProviderDelete(ctx, id.String(), &api.ProviderDeleteParams{OpenStackAPIVersion: newest})
	})
}

// ProviderUsageList returns the usage of a provider, an amount for each class of its inventory, and its generation.
func (c *Client) ProviderUsageList(ctx context.Context, id uuid.UUID) (Resources, int64, error) {
	var answer api.ProviderUsages
	err := c.send(ctx, &answer, func(ctx context.Context, wire *api.Client) (*http.Response, error) {
		return wire.ProviderUsageList(ctx, id.String(), &api.ProviderUsageListParams{OpenStackAPIVersion: newest})
	})
	return answer.Usages, answer.ResourceProviderGeneration, err
}

// ProviderAllocationList returns the allocations on a provider by consumer, and the provider generation.
func (c *Client) ProviderAllocationList(ctx context.Context, id uuid.UUID) (map[uuid.UUID]Resources, int64, error) {
	var answer api.ProviderAllocations
	err := c.send(ctx, &answer, func(ctx context.Context, wire *api.Client) (*http.Response, error) {
		return wire.ProviderAllocationList(ctx, id.String(), &api.ProviderAllocationListParams{OpenStackAPIVersion: newest})
	})
	if err != nil {
		return nil, 0, err
	}
	used := make(map[uuid.UUID]Resources, len(answer.Allocations))
	for text, record := range answer.Allocations {
		consumer, err := uuid.Parse(text)
		if err != nil {
			return nil, 0, fmt.Errorf("provider %s: the consumer %q is not a uuid", id, text)
		}
		used[consumer] = record.Resources
	}
	return used, answer.ResourceProviderGeneration, nil
}
