package baremetal

import (
	"context"
	"net/http"
	"time"

	"github.com/google/uuid"
)

// explainVersion is the value of the common version header of requests for explanations.
const explainVersion = "baremetal " + Version + ", berth 1.2"

// Explanation states why nodes fit a node allocation, or do not. In the short form, of a busy service, it has no member
// after Summary except Incomplete.
type Explanation struct {
	Kind string `json:"kind"`
	// Reason is the first group of conditions that no node meets: class, busy, owner, candidate_nodes, traits or claimed;
	// fits if a node meets all.
	Reason              string             `json:"reason"`
	Summary             string             `json:"summary"`
	Sample              *ExplanationSample `json:"sample,omitempty"`
	Funnel              []ExplanationStage `json:"funnel,omitzero"`
	States              map[string]int64   `json:"states,omitzero"`
	Conflicts           []Conflict         `json:"conflicts,omitzero"`
	Nearest             []NearNode         `json:"nearest,omitzero"`
	Relaxations         []Relaxation       `json:"relaxations,omitzero"`
	RelaxationsComplete *bool              `json:"relaxations_complete,omitempty"`
	Incomplete          bool               `json:"incomplete,omitempty"`
	MadeAt              *time.Time         `json:"made_at,omitempty"`
	TookMS              *int64             `json:"took_ms,omitempty"`
}

// ExplanationSample is the number of nodes that the caller may list.
type ExplanationSample struct {
	Exact bool  `json:"exact"`
	Nodes int64 `json:"nodes"`
}

// ExplanationStage is a condition, and the number of nodes that pass it and all before.
type ExplanationStage struct {
	Stage string `json:"stage"`
	Value string `json:"value,omitempty"`
	Nodes int64  `json:"nodes"`
}

// Conflict is a class or a trait that no node has, with similar names.
type Conflict struct {
	Conflict string   `json:"conflict"`
	Name     string   `json:"name"`
	Similar  []string `json:"similar"`
}

// NearNode is a node that fails few conditions.
type NearNode struct {
	Node     NodeName  `json:"node"`
	Distance int       `json:"distance"`
	Missing  []Missing `json:"missing"`
}

// NodeName is the UUID of a node, and its name if it has one.
type NodeName struct {
	UUID uuid.UUID `json:"uuid"`
	Name *string   `json:"name"`
}

// Missing is a condition that a node fails. Value is its provision state, or the element of traits.
type Missing struct {
	Step  string `json:"step"`
	Value string `json:"value,omitempty"`
}

// Relaxation is a change of the request, drop or replace, with which more nodes fit.
type Relaxation struct {
	Change string `json:"change"`
	Value  string `json:"value"`
	Nodes  int64  `json:"nodes"`
}

// NodeAllocationExplain explains a node allocation with the nodes as they are now. It needs a service with berth 1.2.
func (c *Client) NodeAllocationExplain(ctx context.Context, ident string) (found Explanation, err error) {
	return found, c.send(ctx, &found, request{method: http.MethodGet, path: []string{"allocations", ident, "explanation"}, version: explainVersion})
}
