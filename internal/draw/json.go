package draw

import (
	"io"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/internal/terminal"
)

// Types of the JSON document that the package comment describes.
type (
	forestDocument struct {
		Trees []providerDocument `json:"trees"`
		At    *Moment            `json:"at,omitempty"`
	}
	providerDocument struct {
		UUID        uuid.UUID                    `json:"uuid"`
		Name        string                       `json:"name"`
		Parent      *uuid.UUID                   `json:"parent_provider_uuid"`
		Generation  *int64                       `json:"generation"`
		Inventories map[string]inventoryDocument `json:"inventories"`
		Traits      []string                     `json:"traits"`
		Aggregates  []uuid.UUID                  `json:"aggregates"`
		Children    []providerDocument           `json:"children"`
		// Consumers is nil for providers that are no roots, and if the forest has none for the root.
		Consumers *[]consumerDocument `json:"consumers,omitempty"`
	}
	consumerDocument struct {
		UUID        uuid.UUID                        `json:"uuid"`
		Type        string                           `json:"consumer_type"`
		ProjectID   string                           `json:"project_id"`
		UserID      string                           `json:"user_id"`
		Generation  *int64                           `json:"consumer_generation"`
		SharingOnly bool                             `json:"sharing_only"`
		Lease       *client.Lease                    `json:"lease,omitempty"`
		Allocations map[uuid.UUID]allocationDocument `json:"allocations"`
	}
	allocationDocument struct {
		Name      string           `json:"name,omitempty"`
		Resources client.Resources `json:"resources"`
	}
	inventoryDocument struct {
		Total           int32    `json:"total"`
		Reserved        *int32   `json:"reserved,omitempty"`
		MinUnit         *int32   `json:"min_unit,omitempty"`
		MaxUnit         *int32   `json:"max_unit,omitempty"`
		StepSize        *int32   `json:"step_size,omitempty"`
		AllocationRatio *float64 `json:"allocation_ratio,omitempty"`
		Capacity        int64    `json:"capacity"`
		Used            *int64   `json:"used,omitempty"`
	}
)

// JSON writes the forest as the document in the package comment. JSON escapes the names.
func JSON(w io.Writer, forest Forest) error {
	document := forestDocument{Trees: []providerDocument{}, At: forest.At}
	for _, tree := range forest.trees() {
		providerDocument := tree.document()
		if consumers, known := forest.Consumers[tree.UUID]; known {
			providerDocument.Consumers = consumerDocuments(consumers)
		}
		document.Trees = append(document.Trees, providerDocument)
	}
	return terminal.WriteJSON(w, document)
}

// JSON writes the changes as the document in the package comment.
func (c *Changes) JSON(w io.Writer) error { return terminal.WriteJSON(w, c) }

// document returns the document of a provider and its descendants.
func (b *treeNode) document() providerDocument {
	document := providerDocument{
		UUID: b.UUID, Name: b.Name, Parent: parentOf(b.Node), Generation: b.Generation,
		Inventories: map[string]inventoryDocument{}, Children: []providerDocument{},
		Traits: append([]string{}, sorted(b.Traits)...), Aggregates: append([]uuid.UUID{}, sortedIDs(b.Aggregates)...),
	}
	for _, h := range b.inventoryUsages() {
		item := inventoryDocument{
			Total: h.record.Total, Reserved: h.record.Reserved, MinUnit: h.record.MinUnit, MaxUnit: h.record.MaxUnit,
			StepSize: h.record.StepSize, AllocationRatio: h.record.AllocationRatio, Capacity: h.capacity(),
		}
		if h.counted {
			item.Used = &h.used
		}
		document.Inventories[h.class] = item
	}
	for _, child := range b.children {
		document.Children = append(document.Children, child.document())
	}
	return document
}

// consumerDocuments returns the documents of the consumers of a tree.
func consumerDocuments(consumers []Consumer) *[]consumerDocument {
	documents := make([]consumerDocument, 0, len(consumers))
	for _, consumer := range consumers {
		document := consumerDocument{
			UUID: consumer.UUID, Type: consumer.Type, ProjectID: consumer.ProjectID, UserID: consumer.UserID, Generation: consumer.Generation,
			SharingOnly: consumer.SharingOnly, Lease: consumer.Lease, Allocations: map[uuid.UUID]allocationDocument{},
		}
		for _, on := range consumer.Allocations {
			document.Allocations[on.Provider] = allocationDocument{on.Name, on.Resources}
		}
		documents = append(documents, document)
	}
	return &documents
}
