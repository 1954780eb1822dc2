package placement

import (
	"context"
	"iter"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/jsonbody"
	"github.com/berthd/berth/server/store"
)

// One small cloud runs through the examples of the documents: a host with a NUMA
// node below it, and an instance on the host.
const (
	exampleHost     = "c0ffee00-5ca1-4b1e-8000-000000000001"
	exampleNode     = "c0ffee00-5ca1-4b1e-8000-000000000002"
	exampleInstance = "1d5ecafe-0000-4000-8000-000000000001"
	exampleGroup    = "a99e0000-0000-4000-8000-000000000001"
	exampleProject  = "7c5b1b2e0d0e4a7d8a5b0f3f2f7f5a11"
	exampleUser     = "0f2d6c5a9a6b4d0c8f0e6e8b7a3c1d22"
	exampleClass    = "CUSTOM_BAREMETAL_GOLD"
	exampleTrait    = "CUSTOM_GOLD"
	// unknownUUID and the names after it belong to nothing.
	unknownUUID  = "deadbeef-0000-4000-8000-000000000009"
	unknownClass = "CUSTOM_GONE"
	unknownTrait = "CUSTOM_GONE"
)

var (
	exampleHostID = uuid.MustParse(exampleHost)
	hostRow       = store.Provider{UUID: exampleHostID, Name: "compute-17", Generation: 4, Root: exampleHostID}
	newHost       = store.Provider{UUID: exampleHostID, Name: "compute-17", Root: exampleHostID}
	nodeRow       = store.Provider{
		UUID: uuid.MustParse(exampleNode), Name: "compute-17_numa0", Parent: &exampleHostID, Root: exampleHostID,
	}
	inventoryRows = []store.Inventory{
		{Class: "VCPU", Total: 64, Reserved: 2, MinUnit: 1, MaxUnit: 64, StepSize: 1, AllocationRatio: 4, Used: 2},
		{Class: "MEMORY_MB", Total: 262144, Reserved: 4096, MinUnit: 1, MaxUnit: 262144, StepSize: 1, AllocationRatio: 1, Used: 2048},
	}
	instanceType = "INSTANCE"
	instanceRow  = store.ConsumerAllocations{
		ProjectID: exampleProject, UserID: exampleUser, Generation: 1, Type: &instanceType,
		Rows: []store.AllocationRow{
			{Allocation: store.Allocation{Provider: exampleHostID, Class: "VCPU", Amount: 2}, Generation: 4},
			{Allocation: store.Allocation{Provider: exampleHostID, Class: "MEMORY_MB", Amount: 2048}, Generation: 4},
		},
	}
)

// exampleWanted is what the example's candidate takes.
var exampleWanted = []store.Amount{{Class: "VCPU", Amount: 2}, {Class: "MEMORY_MB", Amount: 2048}}

// exampleCandidates is the host as the only candidate. Its NUMA node is described
// beside it where whole trees are.
func exampleCandidates(trees bool) candidateSource {
	summaries := []*store.ProviderSummary{{
		UUID: exampleHostID, Root: exampleHostID, Traits: []string{exampleTrait},
		Resources: []store.SummaryResource{
			{Class: "VCPU", Capacity: 248, Used: 2}, {Class: "MEMORY_MB", Capacity: 258048, Used: 2048},
			{Class: "DISK_GB", Capacity: 2000, Used: 0},
		},
	}}
	if trees {
		summaries = append(summaries, &store.ProviderSummary{UUID: nodeRow.UUID, Parent: &exampleHostID, Root: exampleHostID})
	}
	return candidateSource{
		candidates: found(&store.Candidate{
			Uses:      []store.CandidateUse{{Provider: exampleHostID, Resources: exampleWanted}},
			Providers: [][]uuid.UUID{{exampleHostID}},
		}),
		summaries: found(summaries...),
	}
}

// found yields things as the store does.
func found[T any](all ...T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, one := range all {
			if !yield(one, nil) {
				return
			}
		}
	}
}

// exampleRequest is what a request takes of the example's host.
func exampleRequest() map[string]any { return map[string]any{"VCPU": 2, "MEMORY_MB": 2048} }

// showing makes an example that is the same at all microversions.
func showing(body any) func(context.Context) any {
	return func(context.Context) any { return body }
}

// shaped makes an example by the function that shapes answers.
func shaped[P any](shape func(context.Context, store.Provider) P, from store.Provider) func(context.Context) any {
	return func(ctx context.Context) any { return shape(ctx, from) }
}

// namedRows are rows of names as the store finds them.
func namedRows(names ...string) []store.Named {
	rows := make([]store.Named, 0, len(names))
	for _, name := range names {
		rows = append(rows, store.Named{Name: name, ModifiedAt: time.Time{}})
	}
	return rows
}

// exampleClaim is what a consumer is to have, as a request of some microversion.
func exampleClaim(since uint8) map[string]any {
	claim := map[string]any{
		"allocations": map[string]any{exampleHost: map[string]any{"resources": exampleRequest()}},
		"project_id":  exampleProject, "user_id": exampleUser,
	}
	if since >= 28 {
		claim["consumer_generation"] = nil
	}
	if since >= 38 {
		claim["consumer_type"] = instanceType
	}
	return claim
}

// exampleAmounts are amounts in the order of their classes.
func exampleAmounts() amounts {
	return amounts{{Key: "VCPU", Value: 2}, {Key: "MEMORY_MB", Value: 2048}}
}

// exampleByInstance has one member, the example's instance.
func exampleByInstance[V any](value V) jsonbody.Ordered[V] {
	return jsonbody.Ordered[V]{{Key: exampleInstance, Value: value}}
}
