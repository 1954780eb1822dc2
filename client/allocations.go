package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	api "github.com/berthd/berth/gen/client"
	"github.com/google/uuid"
)

// NoType is the Type of a consumer that has none, as the service calls it. It can
// be read, not written: such records are sent at the microversion before types,
// which leaves the type as it is.
const NoType = "unknown"

// AllocationList reads what a consumer has. A consumer without allocations has an
// empty record whose Generation is nil; that is no error.
func (c *Client) AllocationList(ctx context.Context, consumer uuid.UUID) (*Consumer, error) {
	var answer api.Allocations
	err := c.send(ctx, &answer, func(ctx context.Context, wire *api.Client) (*http.Response, error) {
		return wire.AllocationList(ctx, consumer.String(), &api.AllocationListParams{OpenStackAPIVersion: newest})
	})
	if err != nil {
		return nil, err
	}
	read := &Consumer{
		Allocations: make(map[uuid.UUID]Resources, len(answer.Allocations)), Generation: answer.ConsumerGeneration,
		ProjectID: value(answer.ProjectID), UserID: value(answer.UserID), Type: value(answer.ConsumerType),
	}
	for text, record := range answer.Allocations {
		provider, err := uuid.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("consumer %s: the provider %q is not a uuid", consumer, text)
		}
		read.Allocations[provider] = record.Resources
	}
	return read, nil
}

// claimed and taken are a consumer's record on the wire. The generated type always
// has a consumer_type, which the older of our two microversions refuses.
type claimed struct {
	Allocations map[uuid.UUID]taken    `json:"allocations"`
	Generation  *int64                 `json:"consumer_generation"`
	Type        string                 `json:"consumer_type,omitempty"`
	Mappings    map[string][]uuid.UUID `json:"mappings,omitempty"`
	ProjectID   string                 `json:"project_id"`
	UserID      string                 `json:"user_id"`
}

type taken struct {
	Resources Resources `json:"resources"`
}

// withoutEmpty leaves the providers out of which nothing is taken; the service
// refuses them.
func withoutEmpty(allocations map[uuid.UUID]Resources) map[uuid.UUID]Resources {
	kept := make(map[uuid.UUID]Resources, len(allocations))
	for provider, resources := range allocations {
		if len(resources) > 0 {
			kept[provider] = resources
		}
	}
	return kept
}

// versionFor chooses the microversion to write these records at, and a type for
// those that are emptied: they go away, whatever their type.
func versionFor(records Allocations) (version api.Microversion, anyType string, err error) {
	var hasNone, isNew uuid.UUID
	for _, id := range records.Consumers() {
		consumer := records[id]
		named := consumer.Type != "" && consumer.Type != NoType
		if named {
			anyType = consumer.Type
		}
		switch emptied := len(withoutEmpty(consumer.Allocations)) == 0; {
		case consumer.ProjectID == "" || consumer.UserID == "":
			return "", "", fmt.Errorf("consumer %s: the project and the user are missing", id)
		case emptied:
		case consumer.Type == "" && consumer.Generation == nil:
			return "", "", fmt.Errorf("consumer %s is new and must be given a type, such as INSTANCE", id)
		case !named:
			hasNone = id
		case consumer.Generation == nil:
			isNew = id
		}
	}
	switch {
	case hasNone != uuid.Nil && isNew != uuid.Nil:
		return "", "", fmt.Errorf("consumer %s has no type and consumer %s is new with the type %s: "+
			"they cannot be written in one request", hasNone, isNew, records[isNew].Type)
	case hasNone != uuid.Nil || anyType == "":
		return untyped, "", nil
	}
	return newest, anyType, nil
}

// onWire are the records in the form of the microversion that fits all of them.
func onWire(records Allocations, mappings map[string][]uuid.UUID) (map[uuid.UUID]claimed, api.Microversion, error) {
	version, anyType, err := versionFor(records)
	if err != nil {
		return nil, "", err
	}
	sent := make(map[uuid.UUID]claimed, len(records))
	for id, consumer := range records {
		record := claimed{
			Allocations: map[uuid.UUID]taken{}, Generation: consumer.Generation, Mappings: mappings,
			ProjectID: consumer.ProjectID, UserID: consumer.UserID,
		}
		for provider, resources := range withoutEmpty(consumer.Allocations) {
			record.Allocations[provider] = taken{resources}
		}
		if version == newest {
			record.Type = consumer.Type
			if record.Type == "" || record.Type == NoType {
				record.Type = anyType
			}
		}
		sent[id] = record
	}
	return sent, version, nil
}

// AllocationReplace makes this all that a consumer has. The record's Generation
// must be the one read, nil for a new consumer, or it is an ErrConsumerGeneration.
// Providers without resources are left out; without any the consumer goes away.
// mappings are a candidate's, and may be nil.
//
// A consumer whose type is NoType, or was not given, keeps the type it has; a new
// one must have a type, or NoType to have none.
func (c *Client) AllocationReplace(ctx context.Context, consumer uuid.UUID, wanted *Consumer, mappings map[string][]uuid.UUID) error {
	records, version, err := onWire(Allocations{consumer: wanted}, mappings)
	if err != nil {
		return err
	}
	return c.sendBody(ctx, records[consumer], func(ctx context.Context, wire *api.Client, body *bytes.Reader) (*http.Response, error) {
		return wire.AllocationReplaceWithBody(ctx, consumer.String(), &api.AllocationReplaceParams{OpenStackAPIVersion: version}, jsonType, body)
	})
}

// AllocationReplaceMany does the same for several consumers in one transaction:
// all or nothing, and what they had is free for each other. It is an error if one
// of them keeps having no type while another one is new and has one.
func (c *Client) AllocationReplaceMany(ctx context.Context, wanted Allocations) error {
	records, version, err := onWire(wanted, nil)
	if err != nil {
		return err
	}
	return c.sendBody(ctx, records, func(ctx context.Context, wire *api.Client, body *bytes.Reader) (*http.Response, error) {
		return wire.AllocationReplaceManyWithBody(ctx, &api.AllocationReplaceManyParams{OpenStackAPIVersion: version}, jsonType, body)
	})
}

// AllocationDelete takes everything from a consumer, without a look at a
// generation. ErrNotFound: it has nothing.
func (c *Client) AllocationDelete(ctx context.Context, consumer uuid.UUID) error {
	return c.send(ctx, nil, func(ctx context.Context, wire *api.Client) (*http.Response, error) {
		return wire.AllocationDelete(ctx, consumer.String(), &api.AllocationDeleteParams{OpenStackAPIVersion: newest})
	})
}

// ProviderInventories are all that a provider is to have after a reshape.
type ProviderInventories struct {
	// Generation is the provider's as it was read.
	Generation  int64
	Inventories Inventories
}

// Reshape changes inventories and the allocations on them in one transaction.
// Providers and consumers left out stay as they are. An old generation, of either,
// is an ErrConcurrentUpdate; inventory that goes away and is still used by a
// consumer left out, an ErrInventoryInUse. The records are as for
// AllocationReplaceMany.
func (c *Client) Reshape(ctx context.Context, inventories map[uuid.UUID]ProviderInventories, allocations Allocations) error {
	records, version, err := onWire(allocations, nil)
	if err != nil {
		return err
	}
	whole := struct {
		Allocations map[uuid.UUID]claimed                `json:"allocations"`
		Inventories map[uuid.UUID]api.InventoriesReplace `json:"inventories"`
	}{records, make(map[uuid.UUID]api.InventoriesReplace, len(inventories))}
	for provider, wanted := range inventories {
		replacing := api.InventoriesReplace{Inventories: wanted.Inventories, ResourceProviderGeneration: wanted.Generation}
		if replacing.Inventories == nil {
			replacing.Inventories = map[string]InventoryRecord{} // nil would be null
		}
		whole.Inventories[provider] = replacing
	}
	return c.sendBody(ctx, whole, func(ctx context.Context, wire *api.Client, body *bytes.Reader) (*http.Response, error) {
		return wire.ReshapeWithBody(ctx, &api.ReshapeParams{OpenStackAPIVersion: version}, jsonType, body)
	})
}

const jsonType = "application/json"

// sendBody does an operation whose body is not of the generated type, and whose
// answer has none.
func (c *Client) sendBody(ctx context.Context, value any, ask func(context.Context, *api.Client, *bytes.Reader) (*http.Response, error)) error {
	body, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return c.send(ctx, nil, func(ctx context.Context, wire *api.Client) (*http.Response, error) {
		return ask(ctx, wire, bytes.NewReader(body))
	})
}
