package placement

import (
	"context"
	"net/http"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/fault"
	"github.com/berthd/berth/server/microversion"
	"github.com/berthd/berth/server/policy"
	"github.com/berthd/berth/server/route"
	"github.com/berthd/berth/server/store"
	"github.com/berthd/berth/server/uuidlike"
)

// Link points to a resource.
type Link struct {
	Rel  string `json:"rel" doc:"What is behind the link." example:"inventories"`
	Href string `json:"href" doc:"Its path." example:"/resource_providers/c0ffee00-5ca1-4b1e-8000-000000000001/inventories"`
}

// ProviderV0 is a provider up to 1.13.
type ProviderV0 struct {
	UUID       uuid.UUID `json:"uuid" format:"uuid" doc:"The provider." example:"c0ffee00-5ca1-4b1e-8000-000000000001"`
	Name       string    `json:"name" doc:"Unique name." example:"compute-17"`
	Generation int64     `json:"generation" doc:"Rises with every write to what belongs to the provider. Writers send the one they saw." example:"4"`
	Links      []Link    `json:"links" doc:"Where the rest of the provider is."`
}

// ProviderV14 is a provider with its place in a tree.
type ProviderV14 struct {
	ProviderV0
	Parent *uuid.UUID `json:"parent_provider_uuid" nullable:"true" format:"uuid" doc:"The provider above; null for a root."`
	Root   uuid.UUID  `json:"root_provider_uuid" format:"uuid" doc:"The topmost provider of the tree; itself for a root." example:"c0ffee00-5ca1-4b1e-8000-000000000001"`
}

// ProviderCreateV0 asks for a provider, up to 1.13.
type ProviderCreateV0 struct {
	Name string `json:"name" maxLength:"200" doc:"Unique name, not empty." example:"compute-17"`
	UUID string `json:"uuid,omitempty" format:"uuid" doc:"The provider's uuid; made by the server if left out." example:"c0ffee00-5ca1-4b1e-8000-000000000001"`
}

// ProviderCreateV14 asks for a provider, maybe below another.
type ProviderCreateV14 struct {
	ProviderCreateV0
	Parent *string `json:"parent_provider_uuid,omitempty" nullable:"true" format:"uuid" doc:"The provider to hang it below; null or left out for a root."`
}

// ProviderUpdateV0 asks for another name, up to 1.13.
type ProviderUpdateV0 struct {
	Name string `json:"name" maxLength:"200" doc:"Unique name." example:"compute-17"`
}

// ProviderUpdateV14 asks for another name and maybe another parent.
type ProviderUpdateV14 struct {
	ProviderUpdateV0
	Parent optionalUUID `json:"parent_provider_uuid,omitempty" doc:"The provider to hang it below. Left out: it stays where it is. Null: a root, for a child only from 1.37 on."`
}

// providerV0 and providerV14 shape a provider for their versions.
func providerV0(ctx context.Context, from store.Provider) ProviderV0 {
	return ProviderV0{UUID: from.UUID, Name: from.Name, Generation: from.Generation, Links: providerLinks(ctx, from.UUID)}
}

func providerV14(ctx context.Context, from store.Provider) ProviderV14 {
	return ProviderV14{ProviderV0: providerV0(ctx, from), Parent: from.Parent, Root: from.Root}
}

// linkSince says from which microversion on a provider shows a link.
var linkSince = []struct {
	rel   string
	since microversion.Version
}{{"inventories", v(0)}, {"usages", v(0)}, {"aggregates", v(1)}, {"traits", v(6)}, {"allocations", v(11)}}

func providerLinks(ctx context.Context, id uuid.UUID) []Link {
	self := href(ctx, "/resource_providers/"+id.String())
	links := []Link{{Rel: "self", Href: self}}
	for _, link := range linkSince {
		if link.since <= microversion.From(ctx) {
			links = append(links, Link{Rel: link.rel, Href: self + "/" + link.rel})
		}
	}
	return links
}

func (o *operations) providerOperations() []*route.Operation {
	const collection, one = "/resource_providers", "/resource_providers/{uuid}"
	// With this uuid, what the reference offers to try next finds the provider.
	createV0 := route.Body[none]{Example: map[string]any{"name": hostRow.Name, "uuid": exampleHost}}
	createV14 := route.Body[none]{Example: map[string]any{
		"name": hostRow.Name, "uuid": exampleHost, "parent_provider_uuid": nil,
	}}
	updateV0 := route.Body[providerPath]{LookFirst: o.exists, Example: map[string]any{"name": hostRow.Name}}
	updateV14 := route.Body[providerPath]{LookFirst: o.exists, Example: map[string]any{
		"name": hostRow.Name, "parent_provider_uuid": nil,
	}}
	hostV0, hostV14 := route.Example(shaped(providerV0, hostRow)), route.Example(shaped(providerV14, hostRow))
	return []*route.Operation{{
		ID: "provider-list", Method: http.MethodGet, Path: collection, Tag: tagProviders, Rule: policy.ProvidersList,
		Summary: "List resource providers", Checks: reads, Fails: providerListFailures, Variants: o.providerListVariants(),
		Description: "All filters must hold. The list is not paged; it arrives as the database finds it.",
	}, {
		ID: "provider-create", Method: http.MethodPost, Path: collection, Tag: tagProviders, Rule: policy.ProvidersCreate,
		Summary: "Create a resource provider", Checks: writes, Fails: providerCreateFailures,
		Variants: []route.Variant{
			route.Write(v(0), createV0, o.providerCreateV0, route.Status(http.StatusCreated)),
			route.Write(v(14), createV14, o.providerCreateV14, route.Status(http.StatusCreated)),
			route.Write(v(20), createV14, o.providerCreateV20, route.Example(shaped(providerV14, newHost))),
		},
	}, {
		ID: "provider-show", Method: http.MethodGet, Path: one, Tag: tagProviders, Rule: policy.ProvidersShow,
		Summary: "Show a resource provider", Checks: reads, Fails: []route.Failure{noProviderFound},
		Variants: []route.Variant{
			route.From(v(0), providerShow(o, providerV0), hostV0), route.From(v(14), providerShow(o, providerV14), hostV14),
		},
	}, {
		ID: "provider-delete", Method: http.MethodDelete, Path: one, Tag: tagProviders, Rule: policy.ProvidersDelete,
		Summary:     "Delete a resource provider",
		Description: "Takes its inventories, traits and aggregate memberships along.",
		Fails:       providerDeleteFailures,
		Variants:    []route.Variant{route.From(v(0), o.providerDelete)},
	}, {
		ID: "provider-update", Method: http.MethodPut, Path: one, Tag: tagProviders, Rule: policy.ProvidersUpdate,
		Summary: "Rename or move a resource provider", Checks: writes,
		Description: "The generation is neither compared nor raised. A move takes the whole subtree along; " +
			"before 1.37 only roots can be moved.",
		Fails: providerUpdateFailures,
		Variants: []route.Variant{
			route.Write(v(0), updateV0, providerUpdate(o, ProviderUpdateV0.change, providerV0), hostV0),
			route.Write(v(14), updateV14, providerUpdate(o, ProviderUpdateV14.change, providerV14), hostV14),
		},
	}}
}

func (o *operations) providerCreateV0(ctx context.Context, _ *none, body *ProviderCreateV0) (*located, error) {
	made, err := o.providerCreate(ctx, &ProviderCreateV14{ProviderCreateV0: *body})
	return providerLocation(ctx, made), err
}

func (o *operations) providerCreateV14(ctx context.Context, _ *none, body *ProviderCreateV14) (*located, error) {
	made, err := o.providerCreate(ctx, body)
	return providerLocation(ctx, made), err
}

// createdProvider is the answer to a creation from 1.20 on.
type createdProvider struct {
	Location     string `header:"Location" doc:"URL of the provider." example:"http://placement.example.org/resource_providers/c0ffee00-5ca1-4b1e-8000-000000000001"`
	LastModified string `header:"Last-Modified" doc:"Now."`
	CacheControl string `header:"Cache-Control" doc:"Always no-cache."`
	Body         ProviderV14
}

func (o *operations) providerCreateV20(ctx context.Context, _ *none, body *ProviderCreateV14) (*createdProvider, error) {
	made, err := o.providerCreate(ctx, body)
	if err != nil {
		return nil, err
	}
	lastModified, cacheControl := cacheHeaders(ctx, now())
	return &createdProvider{
		Location: providerLocation(ctx, made).Location, LastModified: lastModified, CacheControl: cacheControl,
		Body: providerV14(ctx, made),
	}, nil
}

func providerLocation(ctx context.Context, made store.Provider) *located {
	return &located{Location: location(ctx, "/resource_providers/"+made.UUID.String())}
}

func (o *operations) providerCreate(ctx context.Context, body *ProviderCreateV14) (store.Provider, error) {
	id := uuid.New()
	if body.UUID != "" {
		id, _ = uuidlike.Parse(body.UUID)
	}
	refuse := func(reason string) *fault.Error {
		return fault.New(fault.Invalid, "Unable to create resource provider \"%s\", %s: Object action create failed because: %s",
			body.Name, id, reason)
	}
	if body.Name == "" {
		return store.Provider{}, refuse("name is required")
	}
	var parent *uuid.UUID
	if body.Parent != nil {
		given, _ := uuidlike.Parse(*body.Parent)
		if parent = &given; given == id {
			return store.Provider{}, refuse("parent provider UUID cannot be same as UUID. " +
				"Please set parent provider UUID to None if there is no parent.")
		}
	}
	made, err := o.store.ProviderCreate(ctx, id, body.Name, parent)
	return made, words{
		store.ParentUnknown: func(store.Values) *fault.Error { return refuse("parent provider UUID does not exist.") },
		store.ProviderNameTaken: saying(fault.Conflict, fault.CodeDuplicateName,
			"Conflicting resource provider name: %s already exists.", body.Name),
		store.ProviderUUIDTaken: saying(fault.Conflict, fault.CodeDuplicateName,
			"Conflicting resource provider uuid: %s already exists.", id),
	}.say(err)
}

func providerShow[P any](
	o *operations, shape func(context.Context, store.Provider) P,
) func(context.Context, *providerPath) (*cached[P], error) {
	return func(ctx context.Context, in *providerPath) (*cached[P], error) {
		found, err := o.store.ProviderShow(ctx, in.id())
		if err != nil {
			return nil, words{store.ProviderUnknown: saying(fault.NotFound, "", "%s", noProvider(in.UUID).Detail)}.say(err)
		}
		return answer(ctx, shape(ctx, found), found.ModifiedAt), nil
	}
}

// change is what the body asks for.
func (b ProviderUpdateV0) change(microversion.Version) store.ProviderChange {
	return store.ProviderChange{Name: b.Name}
}

func (b ProviderUpdateV14) change(at microversion.Version) store.ProviderChange {
	return store.ProviderChange{
		Name: b.Name, SetParent: b.Parent.Sent, Parent: b.Parent.Value, MayReparent: at.AllowsReparenting(),
	}
}

// providerUpdate reports, as last-modified, when the provider was written before
// this update; a child that never was has none. Clients see it so.
func providerUpdate[B, P any](
	o *operations, change func(B, microversion.Version) store.ProviderChange, shape func(context.Context, store.Provider) P,
) func(context.Context, *providerPath, *B) (*cached[P], error) {
	return func(ctx context.Context, in *providerPath, body *B) (*cached[P], error) {
		wanted := change(*body, microversion.From(ctx))
		changed, err := o.store.ProviderUpdate(ctx, in.id(), wanted)
		if err != nil {
			return nil, providerUpdateWords(in, wanted.Name).say(err)
		}
		return answer(ctx, shape(ctx, changed), changed.ModifiedAt), nil
	}
}

func providerUpdateWords(in *providerPath, name string) words {
	refuse := func(action, reason string) func(store.Values) *fault.Error {
		return saying(fault.Invalid, "", "Unable to save resource provider %s: Object action %s failed because: %s",
			in.UUID, action, reason)
	}
	return words{
		store.ProviderUnknown: saying(fault.NotFound, "", "%s", noProvider(in.UUID).Detail),
		// The reference says create here too.
		store.ParentUnknown: refuse("create", "parent provider UUID does not exist."),
		store.Unparenting:   refuse("update", "un-parenting a provider is not currently allowed."),
		store.Reparenting:   refuse("update", "re-parenting a provider is not currently allowed."),
		store.ParentLoop:    refuse("update", "creating loop in the provider tree is not allowed."),
		store.ProviderNameTaken: saying(fault.Conflict, fault.CodeDuplicateName,
			"Conflicting resource provider %s already exists.", name),
	}
}

func (o *operations) providerDelete(ctx context.Context, in *providerPath) (*empty, error) {
	return nil, words{
		store.ProviderUnknown: saying(fault.NotFound, "", "No resource provider with uuid %s found for delete", in.UUID),
		store.ProviderHasChildren: saying(fault.Conflict, fault.CodeCannotDeleteParent,
			"Unable to delete parent resource provider %s: It has child resource providers.", in.UUID),
		store.ProviderHasAllocations: saying(fault.Conflict, fault.CodeProviderInUse,
			"Unable to delete resource provider %s: Resource provider has allocations.", in.UUID),
	}.say(o.store.ProviderDelete(ctx, in.id()))
}
