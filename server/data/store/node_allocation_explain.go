package store

import (
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/data/postgres"
)

// Listable are the nodes that a caller may list: those that Project owns or leases, nil for all. None is true for a
// caller that may list no nodes.
type Listable struct {
	Project *string
	None    bool
}

// NodeGroup is a number of nodes of one class and one provision state that pass the same stages.
type NodeGroup struct {
	// Class is empty for nodes without a class.
	Class, State string
	// Passed has an element for each of available, no_instance, no_maintenance, powered, owner and candidate_nodes. For a
	// class of the query it also has one for each of the traits and, where nodes are providers, one for unclaimed.
	Passed []bool
	Nodes  int64
	// First are the first five nodes by id, for a class of the query.
	First []GroupNode
}

// GroupNode is a node of a group. Name is empty for a node without one.
type GroupNode struct {
	ID   int64
	UUID uuid.UUID
	Name string
}

// NodeAllocationExplain groups all nodes that the caller may list by the stages of a node allocation that they pass.
// classes and traits are without duplicates. areProviders is true where nodes are resource providers.
func (s *Store) NodeAllocationExplain(
	ctx context.Context, of *NodeAllocation, traits []string, listable Listable, classes ...string,
) (groups []NodeGroup, areProviders bool, err error) {
	params := db.NodeAllocationExplainParams{
		Classes: classes, Listable: !listable.None, Project: listable.Project, Owner: of.Owner,
		CandidateNodes: of.CandidateNodes, Traits: traits, TraitNames: []string{},
	}
	if params.CandidateNodes == nil {
		params.CandidateNodes = []uuid.UUID{}
	}
	for _, trait := range traits {
		params.TraitNames = append(params.TraitNames, TraitExpressionNames(trait)...)
	}
	rows, err := postgres.QueryPrimary(ctx, s.pool, func(from db.DBTX) ([]db.NodeAllocationExplainRow, error) {
		return s.queries.NodeAllocationExplain(ctx, from, params)
	})
	for _, row := range rows {
		areProviders = row.AreProviders
		if row.NodeCount == 0 {
			continue
		}
		group := NodeGroup{Class: row.ResourceClass, State: row.ProvisionState, Passed: row.Passed, Nodes: row.NodeCount}
		for i, id := range row.FirstIds {
			group.First = append(group.First, GroupNode{id, row.FirstUuids[i], row.FirstNames[i]})
		}
		groups = append(groups, group)
	}
	return groups, areProviders, err
}

// NodeAllocationExplainTraits returns the sorted traits that some of the nodes have that the caller may list.
func (s *Store) NodeAllocationExplainTraits(ctx context.Context, listable Listable) ([]string, error) {
	if listable.None {
		return []string{}, nil
	}
	return postgres.QueryPrimary(ctx, s.pool, func(from db.DBTX) ([]string, error) {
		return s.queries.NodeAllocationExplainTraits(ctx, from, listable.Project)
	})
}

// TraitExpressionNames returns the traits in a trait expression of a node allocation: A of A and !A, and both of in:A,B.
func TraitExpressionNames(expression string) []string {
	names := strings.TrimPrefix(strings.TrimPrefix(expression, "in:"), "!")
	return slices.Collect(strings.SplitSeq(names, ","))
}
