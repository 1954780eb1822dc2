package explain

// KindNames is the kind of explanations of names that do not exist.
const KindNames = "names"

// Names is the explanation of a query with names that do not exist.
type Names struct {
	Kind      string     `json:"kind"`
	Conflicts []Conflict `json:"conflicts"`
	// Incomplete reports that the conflicts have no similar names.
	Incomplete bool `json:"incomplete,omitempty"`
}

// The conflicts of names that do not exist.
const (
	ClassUnknown = "class_unknown"
	TraitUnknown = "trait_unknown"
)

// AddSimilar adds the names to each conflict that exist and are similar to its name.
func AddSimilar(conflicts []Conflict, existing []string) {
	for i := range conflicts {
		conflicts[i].Similar = similarToAny([]string{conflicts[i].Name}, existing)
	}
}
