package explain

import "context"

// KindNames is the kind of explanations of names that do not exist.
const KindNames = "names"

// Names is the explanation of a query with names that do not exist.
type Names struct {
	Kind      string     `json:"kind"`
	Conflicts []Conflict `json:"conflicts"`
	// Incomplete reports that some conflicts have no similar names.
	Incomplete bool `json:"incomplete,omitempty"`
}

// The conflicts of names that do not exist.
const (
	ClassUnknown = "class_unknown"
	TraitUnknown = "trait_unknown"
)

// AddSimilar adds the names to each conflict that exist and are similar to its name. It returns the error of the context if
// that ends before; the rest of the conflicts has no similar names then.
func AddSimilar(ctx context.Context, conflicts []Conflict, existing []string) error {
	for i := range conflicts {
		if err := ctx.Err(); err != nil {
			return err
		}
		conflicts[i].Similar = similarToAny([]string{conflicts[i].Name}, existing)
	}
	return nil
}
