package apicommand

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/oapi-codegen/nullable"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/frame"
	api "github.com/berthd/berth/gen/client"
)

// fileNames finds the providers that a treeFile names: first among those of the file, then on the server.
type fileNames struct {
	service *client.Client
	path    string // of the file
	// known are the UUIDs of the names that were looked up, and names the other way around.
	known map[string]uuid.UUID
	names map[uuid.UUID]string
}

func newFileNames(service *client.Client, path string) *fileNames {
	return &fileNames{service: service, path: path, known: map[string]uuid.UUID{}, names: map[uuid.UUID]string{}}
}

// resolve returns the root of the tree and the request. deleted are further providers to delete.
func (t *treeFile) resolve(ctx context.Context, f *frame.Frame, names *fileNames, deleted []string) (uuid.UUID, *client.WantedTree, error) {
	wanted := &client.WantedTree{Deleted: map[uuid.UUID]int64{}, Consumers: client.Allocations{}}
	current, err := names.addFile(ctx, t.Providers)
	if err != nil {
		return uuid.Nil, nil, err
	}
	root := uuid.Nil
	for i, provider := range t.Providers {
		result, err := provider.wanted(ctx, names, current[i])
		if err != nil {
			return uuid.Nil, nil, err
		}
		wanted.Providers = append(wanted.Providers, result)
		switch {
		case result.Parent == nil:
			root = result.UUID
		case root == uuid.Nil && current[i] != nil:
			root = current[i].RootProviderUUID
		}
	}
	inTree, err := t.addDeleted(ctx, f, names, deleted, wanted)
	if err != nil {
		return uuid.Nil, nil, err
	}
	for id, consumer := range t.Consumers {
		if err := consumer.add(ctx, names, id, wanted); err != nil {
			return uuid.Nil, nil, err
		}
	}
	if root == uuid.Nil {
		root = inTree
	}
	if root == uuid.Nil {
		root, err = names.rootOfParents(ctx, wanted)
	}
	return root, wanted, err
}

// addFile makes the names of the file known, and returns the current provider of each element; nil: it is new.
func (n *fileNames) addFile(ctx context.Context, providers []fileProvider) ([]*api.Provider, error) {
	current := make([]*api.Provider, len(providers))
	for i, provider := range providers {
		reference := provider.UUID
		if reference == "" {
			reference = provider.Name
		}
		found, err := lookUp(ctx, n.service, reference)
		if err != nil {
			return nil, err
		}
		id, isUUID := hyphenatedUUID(provider.UUID)
		switch {
		case found != nil:
			current[i], id = found, found.UUID
			n.known[found.Name] = id
		case provider.UUID != "" && !isUUID:
			return nil, fmt.Errorf("provider %q not found; the uuid of a new provider is a UUID", provider.UUID)
		case provider.UUID == "":
			id = uuid.New()
		}
		if provider.Name != "" {
			n.known[provider.Name] = id
		}
		n.known[id.String()] = id
	}
	return current, nil
}

// id returns the UUID of a provider of the file or of the server.
func (n *fileNames) id(ctx context.Context, reference string) (uuid.UUID, error) {
	if id, known := n.known[reference]; known {
		return id, nil
	}
	found, err := FindProvider(ctx, n.service, reference)
	if err != nil {
		return uuid.Nil, err
	}
	n.known[reference], n.known[found.Name] = found.UUID, found.UUID
	return found.UUID, nil
}

// wanted returns the provider of the request. What the file leaves out is what the provider has now.
func (p *fileProvider) wanted(ctx context.Context, names *fileNames, current *api.Provider) (client.WantedProvider, error) {
	reference := p.UUID
	if reference == "" {
		reference = p.Name
	}
	id, err := names.id(ctx, reference)
	if err != nil {
		return client.WantedProvider{}, err
	}
	provider := client.WantedProvider{UUID: id, Name: p.Name, Generation: givenOf(p.Generation)}
	if current != nil {
		if provider.Name == "" {
			provider.Name = current.Name
		}
		if !p.Generation.IsSpecified() {
			provider.Generation = &current.Generation
		}
	}
	switch parent := givenOf(p.Parent); {
	case parent != nil:
		id, err := names.id(ctx, *parent)
		if err != nil {
			return provider, err
		}
		provider.Parent = &id
	case !p.Parent.IsSpecified() && current != nil:
		provider.Parent = current.ParentProviderUUID
	}
	if p.Inventories != nil {
		provider.Inventories = *p.Inventories
	}
	if p.Traits != nil {
		provider.Traits = *p.Traits
	}
	if p.Aggregates != nil {
		provider.Aggregates = *p.Aggregates
	}
	return provider, nil
}

// givenOf returns a pointer to a value; nil for null or a value that is left out.
func givenOf[T any](value nullable.Nullable[T]) *T {
	if got, err := value.Get(); err == nil {
		return &got
	}
	return nil
}

// addDeleted adds the providers to delete, and returns the root of one of them. It notes those that do not exist, which
// an earlier run may have deleted.
func (t *treeFile) addDeleted(ctx context.Context, f *frame.Frame, names *fileNames, others []string, wanted *client.WantedTree) (uuid.UUID, error) {
	all := map[string]fileDeleted{}
	for _, reference := range others {
		all[reference] = fileDeleted{}
	}
	for reference, deleted := range t.Deleted {
		all[reference] = deleted
	}
	root := uuid.Nil
	for _, reference := range sortedKeys(all) {
		found, err := lookUp(ctx, names.service, reference)
		if err != nil {
			return root, err
		}
		if found == nil {
			fmt.Fprintf(f.Stderr, "berth: the provider %q to delete does not exist\n", reference)
			continue
		}
		root, names.names[found.UUID] = found.RootProviderUUID, found.Name
		wanted.Deleted[found.UUID] = valueOr(all[reference].Generation, found.Generation)
	}
	return root, nil
}

// add adds a consumer to the request.
func (c *fileConsumer) add(ctx context.Context, names *fileNames, text string, wanted *client.WantedTree) error {
	id, err := parseConsumer(text)
	if err != nil {
		return err
	}
	record := &client.Consumer{ProjectID: c.Project, UserID: c.User, Type: c.Type, Generation: givenOf(c.Generation)}
	if !c.Generation.IsSpecified() || c.Project == "" || c.User == "" || c.Type == "" {
		current, err := names.service.AllocationList(ctx, id)
		if err != nil {
			return err
		}
		if !c.Generation.IsSpecified() {
			record.Generation = current.Generation
		}
		owner := OwnerFlags{Project: c.Project, User: c.User, Kind: c.Type}
		if err := owner.fill(current); err != nil {
			return frame.About("consumer "+text, err)
		}
		record.ProjectID, record.UserID, record.Type = current.ProjectID, current.UserID, current.Type
	}
	record.Allocations = map[uuid.UUID]client.Resources{}
	for reference, allocations := range c.Allocations {
		provider, err := names.id(ctx, reference)
		if err != nil {
			return frame.About("consumer "+text, err)
		}
		record.Allocations[provider] = allocations.Resources
	}
	wanted.Consumers[id] = record
	return nil
}

// rootOfParents returns the root of a tree in which all providers of the request are new.
func (n *fileNames) rootOfParents(ctx context.Context, wanted *client.WantedTree) (uuid.UUID, error) {
	isNew := map[uuid.UUID]bool{}
	for _, provider := range wanted.Providers {
		isNew[provider.UUID] = true
	}
	for _, provider := range wanted.Providers {
		if !isNew[*provider.Parent] {
			parent, err := n.service.ProviderShow(ctx, *provider.Parent)
			return parent.RootProviderUUID, err
		}
	}
	return uuid.Nil, frame.WrongArgument("file", n.path, "has no provider of an existing tree and no root", "write a provider whose parent_provider_uuid is null")
}
