package reconcile

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
)

// planVersion is the version of the format of plan files.
const planVersion = 1

// Plan is a list of changes, each with the state that it expects and the state that it leaves. It is executed by
// `berth reconcile --plan`.
type Plan struct {
	Version   int       `json:"berth_reconcile_plan"`
	CreatedAt time.Time `json:"created_at"`
	// Source and Service are the source and the URL of the server that were compared.
	Source  string   `json:"source"`
	Service string   `json:"service"`
	Changes []Change `json:"changes"`
}

// Change is a change of one consumer or of one provider tree.
type Change struct {
	Findings []Kind `json:"findings"`
	// Exactly one of these is set.
	Consumer *ConsumerChange `json:"consumer,omitempty"`
	Tree     *TreeChange     `json:"tree,omitempty"`
}

// ConsumerChange replaces the allocations of a consumer.
type ConsumerChange struct {
	UUID      uuid.UUID `json:"uuid"`
	ProjectID string    `json:"project_id"`
	UserID    string    `json:"user_id"`
	Type      string    `json:"type"`
	// Generation is the one to compare; nil: the consumer must not exist.
	Generation *int64 `json:"consumer_generation"`
	// Before and After are all allocations by provider. Without any, the consumer does not exist.
	Before map[uuid.UUID]client.Resources `json:"before"`
	After  map[uuid.UUID]client.Resources `json:"after"`
}

// TreeChange deletes or creates a provider tree.
type TreeChange struct {
	Root   uuid.UUID `json:"root_provider_uuid"`
	Name   string    `json:"name"`
	Delete bool      `json:"delete"`
	// Providers are all providers of the tree, parents before children, with the generations to compare when they are deleted.
	Providers []client.WantedProvider `json:"resource_providers"`
}

// consumerChange returns the change that repairs the findings of one consumer.
func consumerChange(consumer client.ListedConsumer, findings []*Finding, added map[uuid.UUID]client.Resources) Change {
	change := &ConsumerChange{
		UUID: findings[0].Consumer, ProjectID: consumer.ProjectID, UserID: consumer.UserID, Type: consumer.Type,
		Before: map[uuid.UUID]client.Resources{}, After: map[uuid.UUID]client.Resources{},
	}
	if len(consumer.Allocations) > 0 {
		change.Generation = &consumer.Generation
	}
	repaired := []Kind{}
	var removed []uuid.UUID
	for _, finding := range findings {
		repaired = append(repaired, finding.Kind)
		removed = append(removed, finding.providers...)
	}
	for _, on := range consumer.Allocations {
		change.Before[on.Provider] = client.Resources{}
		for _, amount := range on.Resources {
			change.Before[on.Provider][amount.Class] = amount.Amount
		}
		if !slices.Contains(removed, on.Provider) {
			change.After[on.Provider] = change.Before[on.Provider]
		}
	}
	for provider, amounts := range added {
		merged := client.Resources{}
		for class, amount := range change.After[provider] {
			merged[class] = amount
		}
		for class, amount := range amounts {
			merged[class] = amount
		}
		change.After[provider] = merged
	}
	return Change{Findings: repaired, Consumer: change}
}

// treeDeletion returns the change that deletes the tree of a root.
func (s *state) treeDeletion(root uuid.UUID) Change {
	change := &TreeChange{Root: root, Name: s.nameOf(root), Delete: true}
	for _, provider := range s.trees()[root] {
		wanted := client.WantedProvider{
			UUID: provider.UUID, Name: provider.Name, Parent: provider.ParentProviderUUID, Generation: &provider.Generation,
			Inventories: client.Inventories{}, Traits: append([]string{}, provider.Traits...), Aggregates: append([]uuid.UUID{}, provider.Aggregates...),
		}
		for class, record := range provider.Inventories {
			wanted.Inventories[class] = client.RecordOf(record)
		}
		change.Providers = append(change.Providers, wanted)
	}
	change.Providers = parentsFirst(change.Providers)
	return Change{Findings: []Kind{EmptyHost}, Tree: change}
}

// parentsFirst sorts the providers of a tree so that parents come before their children.
func parentsFirst(providers []client.WantedProvider) []client.WantedProvider {
	sorted := make([]client.WantedProvider, 0, len(providers))
	placed := map[uuid.UUID]bool{}
	for len(sorted) < len(providers) {
		count := len(sorted)
		for _, provider := range providers {
			if !placed[provider.UUID] && (provider.Parent == nil || placed[*provider.Parent]) {
				sorted = append(sorted, provider)
				placed[provider.UUID] = true
			}
		}
		if len(sorted) == count {
			return providers // a parent is missing; the server rejects the change
		}
	}
	return sorted
}

// inverse returns the plan that reverses this plan after it was executed.
func (p *Plan) inverse() *Plan {
	inverse := &Plan{Version: p.Version, CreatedAt: p.CreatedAt, Source: p.Source, Service: p.Service, Changes: []Change{}}
	for _, change := range slices.Backward(p.Changes) {
		reversed := Change{Findings: change.Findings}
		if change.Consumer != nil {
			consumer := *change.Consumer
			consumer.Before, consumer.After = change.Consumer.After, change.Consumer.Before
			consumer.Generation = change.Consumer.generationAfter()
			reversed.Consumer = &consumer
		} else {
			tree := *change.Tree
			tree.Delete = !tree.Delete
			tree.Providers = slices.Clone(tree.Providers)
			for i := range tree.Providers {
				tree.Providers[i].Generation = nil
			}
			reversed.Tree = &tree
		}
		inverse.Changes = append(inverse.Changes, reversed)
	}
	return inverse
}

// generationAfter returns the consumer generation after the change: a new consumer has 1, and each change adds 1.
func (c *ConsumerChange) generationAfter() *int64 {
	switch {
	case len(c.After) == 0:
		return nil
	case c.Generation == nil:
		return new(int64(1))
	default:
		return new(*c.Generation + 1)
	}
}

// write writes the plan to a new file.
func (p *Plan) write(path string) error {
	text, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("cannot write the plan; nothing was repaired: %w", err)
	}
	_, err = file.Write(append(text, '\n'))
	for _, step := range []func() error{file.Sync, file.Close} {
		if failed := step(); err == nil {
			err = failed
		}
	}
	if err != nil {
		return fmt.Errorf("cannot write the plan; nothing was repaired: %w", err)
	}
	return nil
}

// loadPlan reads a plan file.
func loadPlan(path string) (*Plan, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	plan := &Plan{}
	if err := json.Unmarshal(text, plan); err != nil {
		return nil, fmt.Errorf("%s: not a plan: %w", path, err)
	}
	if plan.Version != planVersion {
		return nil, fmt.Errorf("%s: berth_reconcile_plan is %d, this berth executes %d; write a new plan with --save-plan", path, plan.Version, planVersion)
	}
	for i, change := range plan.Changes {
		if (change.Consumer == nil) == (change.Tree == nil) {
			return nil, fmt.Errorf("%s: changes[%d] must have exactly one of consumer and tree", path, i)
		}
	}
	return plan, nil
}
