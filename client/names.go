package client

import (
	"context"
	"net/http"

	api "github.com/berthd/berth/gen/client"
)

// ResourceClassList lists the names of all classes: first the standard ones, then
// the others in the order of their creation.
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

// ResourceClassShow asks whether a class exists; ErrNotFound: no.
func (c *Client) ResourceClassShow(ctx context.Context, name string) (api.ResourceClass, error) {
	var answer api.ResourceClass
	err := c.send(ctx, &answer, func(ctx context.Context, wire *api.Client) (*http.Response, error) {
		return wire.ResourceClassShow(ctx, name, &api.ResourceClassShowParams{OpenStackAPIVersion: newest})
	})
	return answer, err
}

// ResourceClassEnsure makes a class CUSTOM_… unless it exists.
func (c *Client) ResourceClassEnsure(ctx context.Context, name string) error {
	return c.send(ctx, nil, func(ctx context.Context, wire *api.Client) (*http.Response, error) {
		return wire.ResourceClassEnsure(ctx, name, &api.ResourceClassEnsureParams{OpenStackAPIVersion: newest})
	})
}

// ResourceClassDelete removes a class CUSTOM_… of which no provider has an
// inventory.
func (c *Client) ResourceClassDelete(ctx context.Context, name string) error {
	return c.send(ctx, nil, func(ctx context.Context, wire *api.Client) (*http.Response, error) {
		return wire.ResourceClassDelete(ctx, name, &api.ResourceClassDeleteParams{OpenStackAPIVersion: newest})
	})
}

// TraitFilter says which traits to list; the zero value means all.
type TraitFilter struct {
	// Name is "in:A,B" for those of these names that exist, or "startswith:CUSTOM_".
	Name string
	// Associated: those that some provider has, or that none has.
	Associated *bool
}

// TraitList lists names of traits.
func (c *Client) TraitList(ctx context.Context, filter TraitFilter) ([]string, error) {
	params := api.TraitListParams{OpenStackAPIVersion: newest, Name: given(filter.Name), Associated: filter.Associated}
	var answer api.Traits
	err := c.send(ctx, &answer, func(ctx context.Context, wire *api.Client) (*http.Response, error) {
		return wire.TraitList(ctx, &params)
	})
	return answer.Traits, err
}

// TraitShow asks whether a trait exists; ErrNotFound: no.
func (c *Client) TraitShow(ctx context.Context, name string) error {
	return c.send(ctx, nil, func(ctx context.Context, wire *api.Client) (*http.Response, error) {
		return wire.TraitShow(ctx, name, &api.TraitShowParams{OpenStackAPIVersion: newest})
	})
}

// TraitEnsure makes a trait CUSTOM_… unless it exists.
func (c *Client) TraitEnsure(ctx context.Context, name string) error {
	return c.send(ctx, nil, func(ctx context.Context, wire *api.Client) (*http.Response, error) {
		return wire.TraitEnsure(ctx, name, &api.TraitEnsureParams{OpenStackAPIVersion: newest})
	})
}

// TraitDelete removes a trait CUSTOM_… that no provider has.
func (c *Client) TraitDelete(ctx context.Context, name string) error {
	return c.send(ctx, nil, func(ctx context.Context, wire *api.Client) (*http.Response, error) {
		return wire.TraitDelete(ctx, name, &api.TraitDeleteParams{OpenStackAPIVersion: newest})
	})
}

// UsageList sums what consumers of a project have, by their type and the class;
// the member consumer_count is how many they are. user and consumerType may be
// empty. As a type "all" makes one group of all, and "unknown" means those that
// have none.
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
