package client

import (
	"context"
	"net/http"

	api "github.com/berthd/berth/gen/client"
)

// ResourceClassList returns the names of all resource classes: first the standard ones, then the custom ones in the
// order of their creation.
func (c *Client) ResourceClassList(ctx context.Context) ([]string, error) {
	var answer api.ResourceClasses
	err := c.send(ctx, &answer, func(ctx context.Context, wire *api.Client) (*http.Response, error) {
		return wire.ResourceClassList(ctx, &api.ResourceClassListParams{OpenStackAPIVersion: newest})
	})
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(answer.ResourceClasses))
	for _, class := range answer.ResourceClasses {
		names = append(names, class.Name)
	}
	return names, nil
}

// ResourceClassShow returns a resource class. ErrNotFound: it does not exist.
func (c *Client) ResourceClassShow(ctx context.Context, name string) (api.ResourceClass, error) {
	var answer api.ResourceClass
	err := c.send(ctx, &answer, func(ctx context.Context, wire *api.Client) (*http.Response, error) {
		return wire.ResourceClassShow(ctx, name, &api.ResourceClassShowParams{OpenStackAPIVersion: newest})
	})
	return answer, err
}

// ResourceClassEnsure creates a resource class CUSTOM_… unless it exists.
func (c *Client) ResourceClassEnsure(ctx context.Context, name string) error {
	return c.send(ctx, nil, func(ctx context.Context, wire *api.Client) (*http.Response, error) {
		return wire.ResourceClassEnsure(ctx, name, &api.ResourceClassEnsureParams{OpenStackAPIVersion: newest})
	})
}

// ResourceClassDelete deletes a resource class CUSTOM_… of which no provider has an inventory.
func (c *Client) ResourceClassDelete(ctx context.Context, name string) error {
	return c.send(ctx, nil, func(ctx context.Context, wire *api.Client) (*http.Response, error) {
		return wire.ResourceClassDelete(ctx, name, &api.ResourceClassDeleteParams{OpenStackAPIVersion: newest})
	})
}

// TraitFilter is a filter of traits; the zero value selects all.
type TraitFilter struct {
	// Name is "in:A,B" for those of these names that exist, or "startswith:CUSTOM_".
	Name string
	// Associated: those that some provider has, or that none has.
	Associated *bool
}

// TraitList returns the names of the traits that meet the filter.
func (c *Client) TraitList(ctx context.Context, filter TraitFilter) ([]string, error) {
	params := api.TraitListParams{OpenStackAPIVersion: newest, Name: given(filter.Name), Associated: filter.Associated}
	var answer api.Traits
	err := c.send(ctx, &answer, func(ctx context.Context, wire *api.Client) (*http.Response, error) {
		return wire.TraitList(ctx, &params)
	})
	return answer.Traits, err
}

// TraitShow returns an ErrNotFound unless the trait exists.
func (c *Client) TraitShow(ctx context.Context, name string) error {
	return c.send(ctx, nil, func(ctx context.Context, wire *api.Client) (*http.Response, error) {
		return wire.TraitShow(ctx, name, &api.TraitShowParams{OpenStackAPIVersion: newest})
	})
}

// TraitEnsure creates a trait CUSTOM_… unless it exists.
func (c *Client) TraitEnsure(ctx context.Context, name string) error {
	return c.send(ctx, nil, func(ctx context.Context, wire *api.Client) (*http.Response, error) {
		return wire.TraitEnsure(ctx, name, &api.TraitEnsureParams{OpenStackAPIVersion: newest})
	})
}

// TraitDelete deletes a trait CUSTOM_… that no provider has.
func (c *Client) TraitDelete(ctx context.Context, name string) error {
	return c.send(ctx, nil, func(ctx context.Context, wire *api.Client) (*http.Response, error) {
		return wire.TraitDelete(ctx, name, &api.TraitDeleteParams{OpenStackAPIVersion: newest})
	})
}

// UsageList returns the usage of a project by consumer type and resource class; the member consumer_count is the number
// of consumers. user and consumerType may be empty. The type "all" makes one group of all types, and "unknown" selects
// consumers without a type.
func (c *Client) UsageList(ctx context.Context, project, user, consumerType string) (map[string]Resources, error) {
	params := api.UsageListParams{
		OpenStackAPIVersion: newest, ProjectID: project, UserID: given(user), ConsumerType: given(consumerType),
	}
	var answer api.Usages
	err := c.send(ctx, &answer, func(ctx context.Context, wire *api.Client) (*http.Response, error) {
		return wire.UsageList(ctx, &params)
	})
	if err != nil {
		return nil, err
	}
	used := make(map[string]Resources, len(answer.Usages))
	for group, amounts := range answer.Usages {
		used[group] = amounts
	}
	return used, nil
}
