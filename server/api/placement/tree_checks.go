package placement

import (
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/uuidlike"
)

// These are the failures that the operation finds in the body, in their order.
var (
	treePathMalformed = route.Fails(fault.Invalid, "malformed-uuid", "The provider in the path is not a UUID.",
		"Malformed resource provider uuid: %s", "17").WithCode(fault.CodeWriteBadValue)
	treeNamedTwice = route.Fails(fault.Invalid, "named-twice", "A provider is listed twice, or listed and deleted.",
		"Resource provider %s is named twice.", exampleHost).WithCode(fault.CodeWriteBadValue)
	treeRootWrong = route.Fails(fault.Invalid, "wrong-root",
		"A provider other than that in the path has no parent, or that in the path has one.",
		"The root of the request must be %s, the provider of the path: 'parent_provider_uuid' of %s is %snull.",
		exampleHost, exampleNode, "").WithCode(fault.CodeWriteBadValue)
	treeLoop = route.Fails(fault.Invalid, "parent-cycle", "Providers would be ancestors of each other.",
		"Resource providers %s are above each other.", exampleHost+", "+exampleNode).WithCode(fault.CodeWriteBadValue)
	treeLoopOfOne = route.Fails(fault.Invalid, "parent-is-itself", "The parent is the provider itself.",
		"Resource provider %s is above itself.", exampleNode).WithCode(fault.CodeWriteBadValue)
)

// These are the failures that the database finds.
var (
	treeNotRoot = route.Fails(fault.Invalid, "not-root", "The provider in the path has a parent.",
		"Resource provider %s is not a root. Its tree is %[2]s's: PUT /resource_providers/%[2]s/tree.", exampleNode, exampleHost).
		WithCode(fault.CodeTreeNotRoot)
	treeElsewhere = route.Fails(fault.Conflict, "in-another-tree", "A provider is in another tree.",
		"Resource provider %[1]s is in the tree of %[2]s. Move it with PUT /resource_providers/%[1]s first.", exampleNode, unknownUUID).
		WithCode(fault.CodeTreeElsewhere)
	treeParentUnknown = route.Fails(fault.Invalid, "parent-not-found", "A parent is not in the tree, or is deleted.",
		"Resource provider %s has the parent %s, which is not in the tree.", exampleNode, unknownUUID).
		WithCode(fault.CodeWriteBadValue)
	staleTreeProvider = staleProvider("resource provider generation conflict for provider %s: actual: %s, given: %s",
		exampleHost, "5", "4")
	treeClassUnknown = route.Fails(fault.Invalid, "unknown-class", "A resource class does not exist.", textNoClass, "GOLD")

	treeFailures = with(inventoryFailures("update"), treePathMalformed, treeNamedTwice, treeRootWrong, treeLoop, treeLoopOfOne,
		providerNotFound, treeNotRoot, treeElsewhere, treeParentUnknown, staleTreeProvider, staleConsumer, providerNameTaken,
		treeClassUnknown, unknownTraits, claimProviderUnknown, claimInventoryMissing, amountViolatesUnits,
		amountExceedsCapacity, inventoryInUseForUpdate, providerHasAllocations, providerHasChildren)
)

// toStore checks the parts of the request that need no database, and converts it.
func (t *TreeReplace) toStore(in *providerPath) (tree store.Tree, sent receivedUUIDs, err error) {
	root, ok := uuidlike.Parse(in.UUID)
	if !ok {
		return tree, nil, treePathMalformed.Of(in.UUID)
	}
	tree.Root = root
	named := receivedUUIDs{}
	if tree.Providers, err = t.providers(named); err != nil {
		return tree, nil, err
	}
	if tree.Deleted, err = t.deleted(named); err != nil {
		return tree, nil, err
	}
	for i := range tree.Providers {
		provider := &tree.Providers[i]
		switch {
		case provider.UUID == root && provider.Parent != nil:
			return tree, nil, treeRootWrong.Of(in.UUID, t.Providers[i].UUID, "not ")
		case provider.UUID != root && provider.Parent == nil:
			return tree, nil, treeRootWrong.Of(in.UUID, t.Providers[i].UUID, "")
		}
	}
	if cycle := parentCycle(tree.Providers); cycle != nil {
		return tree, nil, treeLoopFault(cycle, named)
	}
	tree.Claims, sent, err = claimsOf(t.Consumers.Ordered)
	if err != nil {
		return tree, nil, err
	}
	for canonical, text := range named {
		sent[canonical] = text
	}
	sent.add(root, in.UUID)
	return tree, sent, nil
}

// providers converts the listed providers. It adds all of them to named.
func (t *TreeReplace) providers(named receivedUUIDs) ([]store.TreeProvider, error) {
	result := make([]store.TreeProvider, 0, len(t.Providers))
	for i := range t.Providers {
		from := &t.Providers[i]
		id, ok := uuidlike.Parse(from.UUID)
		if !ok {
			return nil, route.InvalidBody.Of("'" + from.UUID + "' is not a 'uuid'")
		}
		if _, twice := named[id.String()]; twice {
			return nil, treeNamedTwice.Of(from.UUID)
		}
		named[id.String()] = from.UUID
		to := store.TreeProvider{UUID: id, Name: string(from.Name), Parent: from.Parent.Value, Generation: from.Generation.value}
		if from.Inventories != nil {
			to.Inventories = from.Inventories.toStore()
		}
		if from.Traits != nil {
			to.Traits = append([]string{}, *from.Traits...)
		}
		if from.Aggregates != nil {
			to.Aggregates = append([]uuid.UUID{}, *from.Aggregates...)
		}
		result = append(result, to)
	}
	return result, nil
}

// deleted converts the providers to delete. It adds all of them to named.
func (t *TreeReplace) deleted(named receivedUUIDs) ([]store.DeletedProvider, error) {
	var providers []store.DeletedProvider
	for _, entry := range t.Deleted.Ordered {
		id, ok := uuidlike.Parse(entry.Key)
		if !ok {
			return nil, route.InvalidBody.Of("'" + entry.Key + "' is not a 'uuid'")
		}
		if _, twice := named[id.String()]; twice {
			return nil, treeNamedTwice.Of(entry.Key)
		}
		named[id.String()] = entry.Key
		providers = append(providers, store.DeletedProvider{UUID: id, Generation: int64(entry.Value.Generation)})
	}
	return providers, nil
}

// parentCycle returns the providers of the first cycle of parents, beginning with the one that is listed first; nil:
// there is none.
func parentCycle(providers []store.TreeProvider) []uuid.UUID {
	at := make(map[uuid.UUID]int, len(providers))
	for i := range providers {
		at[providers[i].UUID] = i
	}
	const unseen, done = 0, -1
	walks := make([]int, len(providers)) // the number of the walk that reached a provider
	for i := range providers {
		place, isListed := i, true
		for isListed && walks[place] == unseen {
			walks[place] = i + 1
			parent := providers[place].Parent
			if isListed = parent != nil; isListed {
				place, isListed = at[*parent], hasKey(at, *parent)
			}
		}
		if isListed && walks[place] == i+1 {
			return cycleThrough(providers, at, place)
		}
		for place, isListed = i, true; isListed && walks[place] == i+1; {
			walks[place] = done
			parent := providers[place].Parent
			if isListed = parent != nil; isListed {
				place, isListed = at[*parent], hasKey(at, *parent)
			}
		}
	}
	return nil
}

func hasKey(at map[uuid.UUID]int, id uuid.UUID) bool {
	_, ok := at[id]
	return ok
}

// cycleThrough returns the cycle of a provider, beginning with its member that is listed first.
func cycleThrough(providers []store.TreeProvider, at map[uuid.UUID]int, place int) []uuid.UUID {
	first := place
	for next := at[*providers[place].Parent]; next != place; next = at[*providers[next].Parent] {
		first = min(first, next)
	}
	cycle := []uuid.UUID{providers[first].UUID}
	for next := at[*providers[first].Parent]; next != first; next = at[*providers[next].Parent] {
		cycle = append(cycle, providers[next].UUID)
	}
	return cycle
}

// treeLoopFault returns the error of a cycle.
func treeLoopFault(cycle []uuid.UUID, sent receivedUUIDs) error {
	texts := make([]string, 0, len(cycle))
	for _, id := range cycle {
		texts = append(texts, sent.of(id.String()))
	}
	if len(texts) == 1 {
		return treeLoopOfOne.Of(texts[0])
	}
	return treeLoop.Of(strings.Join(texts, ", "))
}

// treeFaults returns the errors of tree-replace.
func treeFaults(in *providerPath, sent receivedUUIDs) route.RuleFaults {
	onProvider := func(failure *route.Failure) func(store.Values) *fault.Error {
		return func(values store.Values) *fault.Error { return failure.Of(sent.of(values.Provider)) }
	}
	return claimFaults(sent, "").With(route.RuleFaults{
		store.ProviderNotFound: providerNotFound.Fixed(in.UUID),
		store.TreeNotRoot:      func(values store.Values) *fault.Error { return treeNotRoot.Of(in.UUID, values.Root) },
		store.ProviderElsewhere: func(values store.Values) *fault.Error {
			return treeElsewhere.Of(sent.of(values.Provider), values.Root)
		},
		store.TreeParentNotFound: func(values store.Values) *fault.Error {
			return treeParentUnknown.Of(sent.of(values.Provider), sent.of(values.Parent))
		},
		store.ParentCycle: func(values store.Values) *fault.Error { return treeLoop.Of(values.Providers) },
		store.ProviderGenerationConflict: func(values store.Values) *fault.Error {
			return staleTreeProvider.Of(sent.of(values.Provider), orNullText(values.Actual), orNullText(values.Given))
		},
		store.ProviderNameInUse: func(values store.Values) *fault.Error { return providerNameTaken.Of(values.Name) },
		store.ClassNotFound:     func(values store.Values) *fault.Error { return treeClassUnknown.Of(values.Class) },
		store.TraitNotFound:     func(values store.Values) *fault.Error { return unknownTraits.Of(values.Traits) },
		store.InventoryOverReserved: func(values store.Values) *fault.Error {
			return capacityNegative.Of("update", sent.of(values.Provider), values.Class)
		},
		store.InventoryInUse: func(values store.Values) *fault.Error {
			return inventoryInUseForUpdate.Of(values.Class, sent.of(values.Provider))
		},
		store.ProviderHasAllocations: onProvider(&providerHasAllocations),
		store.ProviderHasChildren:    onProvider(&providerHasChildren),
	})
}

// orNullText returns a generation as the error of a conflict shows it.
func orNullText(generation *int64) string {
	if generation == nil {
		return "null"
	}
	return strconv.FormatInt(*generation, 10)
}
