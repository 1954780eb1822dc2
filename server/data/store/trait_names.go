package store

import (
	"encoding/json"
	"strings"
	"sync"
)

// customTrait is the prefix of custom trait names.
const customTrait = "CUSTOM_"

// standardTraitNames returns those of os-traits, parsed once.
var standardTraitNames = sync.OnceValue(func() map[string]bool {
	var names []string
	// The list is part of the binary; SyncStandardNames returns an error if it is invalid.
	_ = json.Unmarshal(standardTraits, &names)
	known := map[string]bool{}
	for _, name := range names {
		known[name] = true
	}
	return known
})

// longestName is the maximum length of a trait name in Placement, in characters.
const longestName = 255

// IsTraitName reports whether nodes can have a trait of that name: a standard one, or CUSTOM_ and then capital letters,
// digits and underscores, at most 255 in all.
func IsTraitName(name string) bool {
	rest, custom := strings.CutPrefix(name, customTrait)
	if !custom {
		return standardTraitNames()[name]
	}
	return rest != "" && len(name) <= longestName && strings.Trim(rest, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == ""
}
