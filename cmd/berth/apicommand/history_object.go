package apicommand

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/client/baremetal"
	api "github.com/berthd/berth/gen/client"
)

// resolve replaces names by UUIDs: by those of what exists now, else by those of what had the names. The name of the argument that
// nothing has now is a filter itself.
func (h *historyFlags) resolve(ctx context.Context, service *client.Client) (err error) {
	if h.tree != "" {
		if h.filter.InTree, err = treeOrRecorded(ctx, service, h.tree); err != nil {
			return err
		}
	}
	for _, reference := range h.nodes {
		id, err := nodeOrRecorded(ctx, service, reference)
		if err != nil {
			return err
		}
		h.filter.Nodes = append(h.filter.Nodes, id)
	}
	if h.object == "" {
		return nil
	}
	if id, ok := hyphenatedUUID(h.object); ok {
		return h.resolveUUID(ctx, service, id)
	}
	provider, err := lookUp(ctx, service, h.object)
	switch {
	case err != nil:
		return err
	case provider != nil:
		h.filter.Nodes = []uuid.UUID{provider.UUID}
		return nil
	}
	node, err := findNode(ctx, service, h.object)
	switch {
	case err != nil:
		return err
	case node != nil:
		h.filter.Nodes = []uuid.UUID{node.UUID}
		return nil
	}
	h.filter.Name = h.object
	known, err := isRecorded(ctx, service, client.HistoryFilter{Name: h.object})
	if err == nil && !known {
		err = notRecorded(unknownProvider(ctx, service, h.object), ", no node has the name")
	}
	return err
}

// resolveUUID sets the filter of a UUID: that of consumers if the record has this consumer, else that of nodes, which also finds providers.
func (h *historyFlags) resolveUUID(ctx context.Context, service *client.Client, id uuid.UUID) error {
	isConsumer, err := isRecorded(ctx, service, client.HistoryFilter{Consumers: []uuid.UUID{id}})
	if isConsumer && h.consumers == nil {
		h.filter.Consumers = []uuid.UUID{id}
		return err
	}
	h.filter.Nodes = []uuid.UUID{id}
	return err
}

// isRecorded reports whether the record has an event that passes a filter.
func isRecorded(ctx context.Context, service *client.Client, filter client.HistoryFilter) (bool, error) {
	filter.PageSize = 1
	for _, err := range service.History(ctx, filter) {
		return err == nil, err
	}
	return false, nil
}

// findNode returns the node with a UUID or name; nil: there is none, or the service has no nodes, or does not show them to this user.
func findNode(ctx context.Context, service *client.Client, reference string) (*baremetal.Node, error) {
	node, err := baremetal.New(service).NodeShow(ctx, reference)
	switch {
	case err != nil && isHidden(err):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return &node, nil
}

// treeOrRecorded returns the UUID of a provider from its UUID or from the name that it has or had last.
func treeOrRecorded(ctx context.Context, service *client.Client, reference string) (string, error) {
	if id, ok := hyphenatedUUID(reference); ok {
		return id.String(), nil
	}
	found, err := lookUp(ctx, service, reference)
	if err != nil || found != nil {
		return valueOr(found, api.Provider{}).UUID.String(), err
	}
	for event, err := range service.History(ctx, client.HistoryFilter{Name: reference, Topics: []string{"provider"}}) {
		if err != nil {
			return "", err
		}
		for key, change := range event.Changes.ResourceProviders {
			for _, part := range []*api.HistoryProviderPart{change.Before, change.After} {
				if part != nil && part.Name != nil && *part.Name == reference {
					return key, nil
				}
			}
		}
	}
	return "", notRecorded(unknownProvider(ctx, service, reference), "")
}

// notRecorded adds to the error of an unknown name, behind also, that the record does not know it either.
func notRecorded(unknown error, also string) error {
	return errors.New(strings.Replace(unknown.Error(), " not found", " not found"+also+", and the record has no changes of it", 1))
}

// nodeOrRecorded returns the UUID of a node from its UUID or from the name that it has or had last.
func nodeOrRecorded(ctx context.Context, service *client.Client, reference string) (uuid.UUID, error) {
	if id, ok := hyphenatedUUID(reference); ok {
		return id, nil
	}
	found, err := findNode(ctx, service, reference)
	if err != nil || found != nil {
		return valueOr(found, baremetal.Node{}).UUID, err
	}
	for event, err := range service.History(ctx, client.HistoryFilter{Name: reference, Topics: []string{"node"}}) {
		if err != nil {
			return uuid.Nil, err
		}
		for key, change := range event.Changes.Nodes {
			if change.Before["name"] == reference || change.After["name"] == reference {
				return uuid.Parse(key)
			}
		}
	}
	return uuid.Nil, fmt.Errorf("node %q not found, and the record has no changes of it", reference)
}
