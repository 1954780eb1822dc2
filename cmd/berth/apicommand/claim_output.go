package apicommand

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/frame"
	api "github.com/berthd/berth/gen/client"
	"github.com/berthd/berth/internal/terminal"
)

// ClaimsDocument is the JSON document of `berth claim`. Scripts depend on the names of its members.
type ClaimsDocument struct {
	Claims []ClaimDocument `json:"claims"`
	// Query is the index of the query that was used, Candidate that of the candidate of --candidates; one of them is nil.
	Query     *int `json:"query"`
	Candidate *int `json:"candidate"`
	// Effort is nil if the command sent the query and the claim one after the other.
	Effort *api.ClaimEffort `json:"effort"`
}

// ClaimDocument is the allocations of one consumer.
type ClaimDocument struct {
	Consumer    uuid.UUID              `json:"consumer_uuid"`
	Generation  int64                  `json:"consumer_generation"`
	Project     string                 `json:"project_id"`
	User        string                 `json:"user_id"`
	Type        string                 `json:"consumer_type"`
	Lease       *client.Lease          `json:"lease"`
	Root        *uuid.UUID             `json:"root_provider_uuid"`
	RootName    *string                `json:"root_provider_name"`
	Allocations []ClaimAllocation      `json:"allocations"`
	Mappings    map[string][]uuid.UUID `json:"mappings"`
}

// ClaimAllocation is the amount of one resource class of one provider.
type ClaimAllocation struct {
	Provider uuid.UUID `json:"resource_provider_uuid"`
	Name     string    `json:"resource_provider_name"`
	Class    string    `json:"resource_class"`
	Amount   int64     `json:"amount"`
	// Groups are the suffixes of the request groups that the provider serves; the suffix of the unsuffixed group is empty.
	Groups []string `json:"groups"`
}

// document returns the document of a result. It requests the names of the providers.
func (c *claimCall) document(ctx context.Context, places *client.ClaimedPlaces) (*ClaimsDocument, error) {
	names := newProviderNames(c.service)
	var used []uuid.UUID
	for _, claim := range places.Claims {
		used = slices.AppendSeq(used, maps.Keys(claim.Allocations))
		if claim.Root != nil {
			used = append(used, *claim.Root)
		}
	}
	if err := names.load(ctx, used); err != nil {
		return nil, err
	}
	document := &ClaimsDocument{Claims: []ClaimDocument{}, Query: places.Query, Candidate: places.Candidate}
	if !c.inSteps {
		document.Effort = &places.Effort
	}
	for _, claim := range places.Claims {
		document.Claims = append(document.Claims, c.documentOf(&claim, names))
	}
	return document, nil
}

// documentOf returns the document of one consumer. It sorts providers by name, and classes in the order of the flags.
func (c *claimCall) documentOf(claim *client.ClaimedPlace, names *providerNames) ClaimDocument {
	document := ClaimDocument{
		Consumer: claim.Consumer, Generation: claim.Generation, Project: claim.ProjectID, User: claim.UserID, Type: claim.Type,
		Lease: claim.Lease, Root: claim.Root, Allocations: []ClaimAllocation{}, Mappings: claim.Mappings,
	}
	if claim.Root != nil {
		document.RootName = new(names.known[*claim.Root])
	}
	for _, provider := range sortedIDs(claim.Allocations) {
		groups := []string{}
		for _, suffix := range sortedKeys(claim.Mappings) {
			if slices.Contains(claim.Mappings[suffix], provider) {
				groups = append(groups, suffix)
			}
		}
		for class, amount := range claim.Allocations[provider] {
			document.Allocations = append(document.Allocations, ClaimAllocation{provider, names.known[provider], class, amount, groups})
		}
	}
	slices.SortFunc(document.Allocations, func(a, b ClaimAllocation) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), slices.Compare(a.Provider[:], b.Provider[:]),
			c.classRank(a.Class)-c.classRank(b.Class), strings.Compare(a.Class, b.Class))
	})
	return document
}

// classRank returns the position of a class among the requested ones, and a number after all of them for another class.
func (c *claimCall) classRank(class string) int {
	if at := slices.Index(c.classes, class); at >= 0 {
		return at
	}
	return len(c.classes)
}

// print prints the result.
func (c *claimCall) print(ctx context.Context, places *client.ClaimedPlaces) error {
	document, err := c.document(ctx, places)
	if err != nil {
		return err
	}
	if frame.IsDocument(*c.flags.format) {
		return frame.PrintAs(c.f.Stdout, *c.flags.format, document, nil)
	}
	for i := range document.Claims {
		claim := &document.Claims[i]
		if i > 0 {
			if err := c.f.Printf(""); err != nil {
				return err
			}
		}
		if err := c.f.Printf("consumer %s, type %s, project %s, user %s, generation %d%s\n%s", claim.Consumer, terminal.Safe(claim.Type), terminal.Safe(claim.Project), terminal.Safe(claim.User),
			claim.Generation, leaseEnd(claim.Lease), c.placeText(document, claim)); err != nil {
			return err
		}
		if err := claimRows.Print(c.f.Stdout, *c.flags.format, claim.Allocations); err != nil {
			return err
		}
	}
	return nil
}

// placeText returns the line below the consumer: its root, and which query and candidate were used. It ends with a line
// break unless it is empty.
func (c *claimCall) placeText(document *ClaimsDocument, claim *ClaimDocument) string {
	var parts []string
	if claim.RootName != nil {
		parts = append(parts, "on "+terminal.Safe(*claim.RootName))
	}
	switch {
	case claim.Mappings == nil && claim.Root == nil && document.Candidate == nil: // the consumer of --hand-over
	case document.Candidate != nil:
		parts = append(parts, fmt.Sprintf("at candidate %d of %d", *document.Candidate+1, len(c.flags.read)))
	default:
		if total := len(c.queries); total > 1 && document.Query != nil {
			parts = append(parts, fmt.Sprintf("by query %d of %d", *document.Query+1, total))
		}
		if document.Effort != nil {
			parts = append(parts, effortText(document.Effort))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, ", ") + "\n"
}

// effortText returns which of the candidates was claimed. The service tries them in order, so it is the last one.
func effortText(effort *api.ClaimEffort) string {
	which := "last"
	if effort.Candidates <= 1 {
		which = "first"
	}
	return fmt.Sprintf("at the %s of %d candidates", which, effort.Candidates)
}

var claimRows = frame.Rows[ClaimAllocation]{
	Headings: []string{"PROVIDER", "UUID", "CLASS", "AMOUNT", "GROUPS"},
	Cells: func(d ClaimAllocation) []string {
		return []string{d.Name, d.Provider.String(), d.Class, fmt.Sprint(d.Amount), suffixText(d.Groups)}
	},
}
