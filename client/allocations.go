package client

import (
	"context"
	"fmt"
	"net/http"

	api "github.com/berthd/berth/gen/client"
	"github.com/google/uuid"
)

// NoType is the Type that the service returns for a consumer without a type. It cannot be written: the client sends
// such records at microversion 1.37, which keeps the type.
const NoType = "unknown"

// AllocationList returns the allocations of a consumer. For a consumer without allocations it returns an empty record
// whose Generation is nil, and no error.
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
		Lease: leaseOf(answer.Lease),
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

// claimed and taken are the record of a consumer in a request. The generated type always has a consumer_type, which the
// older of the two microversions does not accept.
type claimed struct {
	Allocations map[uuid.UUID]taken    `json:"allocations"`
	Generation  *int64                 `json:"consumer_generation"`
	Type        string                 `json:"consumer_type,omitempty"`
	Mappings    map[string][]uuid.UUID `json:"mappings,omitempty"`
	ProjectID   string                 `json:"project_id"`
	UserID      string                 `json:"user_id"`
	Lease       *LeaseTerms            `json:"lease,omitempty"`
}

type taken struct {
	Resources Resources `json:"resources"`
}

// takenOf returns allocations in the form of a request.
func takenOf(allocations map[uuid.UUID]Resources) map[uuid.UUID]taken {
	sent := make(map[uuid.UUID]taken, len(allocations))
	for provider, resources := range withoutEmpty(allocations) {
		sent[provider] = taken{resources}
	}
	return sent
}

// withoutEmpty omits providers without resources, which the service does not accept.
func withoutEmpty(allocations map[uuid.UUID]Resources) map[uuid.UUID]Resources {
	kept := make(map[uuid.UUID]Resources, len(allocations))
	for provider, resources := range allocations {
		if len(resources) > 0 {
			kept[provider] = resources
		}
	}
	return kept
}

// versionFor returns the microversion for these records, and a type for records without allocations, whose consumers
// are deleted whatever their type.
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
		case !named && consumer.NewLease != nil:
			return "", "", fmt.Errorf("consumer %s has no type and must be given one with its lease, such as JOB", id)
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
	case hasNone != uuid.Nil || anyType == "" && len(records) > 0:
		return untyped, "", nil
	}
	return newest, anyType, nil
}

// onWire returns the records in the form of the microversion that suits all of them.
func onWire(records Allocations, mappings map[string][]uuid.UUID) (map[uuid.UUID]claimed, api.Microversion, error) {
	version, anyType, err := versionFor(records)
	if err != nil {
		return nil, "", err
	}
	sent := make(map[uuid.UUID]claimed, len(records))
	for id, consumer := range records {
		record := claimed{
			Allocations: takenOf(consumer.Allocations), Generation: consumer.Generation, Mappings: mappings,
			ProjectID: consumer.ProjectID, UserID: consumer.UserID, Lease: consumer.NewLease,
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

// AllocationReplace replaces all allocations of a consumer. The Generation of the record must be the one read, nil for
// a new consumer; otherwise the error is an ErrConsumerGeneration. It omits providers without resources; a record
// without any deletes the consumer. mappings are those of a candidate, or nil.
//
// A consumer with an empty type or NoType keeps its type. A new consumer needs a type, or NoType for none.
func (c *Client) AllocationReplace(ctx context.Context, consumer uuid.UUID, wanted *Consumer, mappings map[string][]uuid.UUID) error {
	records, version, err := onWire(Allocations{consumer: wanted}, mappings)
	if err != nil {
		return err
	}
	if ctx.Value(explainedClaimKey{}) != nil && version == newest {
		ctx = withAtLeast(ctx, berth12)
	}
	needs := leaseVersion(Allocations{consumer: wanted})
	return c.do(ctx, nil, request{
		method: http.MethodPut, path: "allocations/" + consumer.String(), body: records[consumer], version: version, needs: needs, asksFirst: needs != "",
	})
}

// AllocationReplaceMany replaces the allocations of several consumers in one transaction. The service checks the
// capacity without their previous allocations. It returns an error if one of them has no type and another one is new
// and has one.
func (c *Client) AllocationReplaceMany(ctx context.Context, wanted Allocations) error {
	records, version, err := onWire(wanted, nil)
	if err != nil {
		return err
	}
	needs := leaseVersion(wanted)
	return c.doKeyedIfPossible(ctx, request{method: http.MethodPost, path: "allocations", body: records, version: version, needs: needs, asksFirst: needs != ""})
}

// AllocationDelete deletes all allocations of a consumer, whatever the generation. ErrNotFound: it has none.
func (c *Client) AllocationDelete(ctx context.Context, consumer uuid.UUID) error {
	return c.send(ctx, nil, func(ctx context.Context, wire *api.Client) (*http.Response, error) {
		return wire.AllocationDelete(ctx, consumer.String(), &api.AllocationDeleteParams{OpenStackAPIVersion: newest})
	})
}

// ProviderInventories are all inventories of a provider after a reshape.
type ProviderInventories struct {
	// Generation is the provider generation that was read.
	Generation  int64
	Inventories Inventories
}

// Reshape changes inventories and allocations in one transaction. Other providers and consumers do not change. A stale
// generation of a provider or consumer is an ErrConcurrentUpdate. An inventory that is deleted while another consumer
// uses it is an ErrInventoryInUse. The records are as for AllocationReplaceMany.
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
	needs := leaseVersion(allocations)
	return c.doKeyedIfPossible(ctx, request{method: http.MethodPost, path: "reshaper", body: whole, version: version, needs: needs, asksFirst: needs != ""})
}
