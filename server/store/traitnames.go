package store

import (
	"encoding/json"
	"strings"
	"sync"
)

// customTrait begins the names that users make up.
const customTrait = "CUSTOM_"

// standardTraitNames are those of os-traits, read once.
var standardTraitNames = sync.OnceValue(func() map[string]bool {
	var names []string
	// The list is part of the program; SyncStandardNames reports what is wrong with it.
	_ = json.Unmarshal(standardTraits, &names)
	known := map[string]bool{}
	for _, name := range names {
		known[name] = true
	}
	return known
})

// longestName is what the names of traits have in Placement, in characters.
const longestName = 255

// IsTraitName says whether nodes can have a trait of that name: a standard one, or
// CUSTOM_ and then capital letters, digits and underscores, at most 255 in all.
func IsTraitName(name string) bool {
	rest, custom := strings.CutPrefix(name, customTrait)
	if !custom {
		return standardTraitNames()[name]
	}
	return rest != "" && len(name) <= longestName && strings.Trim(rest, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == ""
}
