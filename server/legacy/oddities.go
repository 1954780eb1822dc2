package legacy

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/gen/db"
)

// Oddity is a kind of thing in a source that our tables cannot have, or that behaves
// otherwise here, and how much of it was found.
type Oddity struct {
	Kind string `json:"kind"`
	// What it is, and what is done about it.
	What string `json:"what"`
	Done string `json:"done"`
	// Loses: something of the source is not in our tables afterwards, or not under its
	// name. --strict refuses it.
	Loses bool `json:"loses_data"`
	// Refused: the import cannot go on.
	Refused bool  `json:"refused"`
	Count   int64 `json:"count"`
	// Examples are the first few; the report file has all.
	Examples []json.RawMessage `json:"examples"`
}

const (
	harmless = 0
	loses    = 1
	refused  = 2
)

// Kinds are all that an import looks for, in the order of reports. The names are those
// that sql/queries/legacy_judge.sql notes.
func Kinds() []Oddity {
	var all []Oddity
	add := func(kind string, weight int, what, done string) {
		all = append(all, Oddity{Kind: kind, What: what, Done: done, Loses: weight == loses, Refused: weight == refused})
	}
	add("provider-uuid-twice", refused, "several providers have one uuid in different spellings", "refused: which is meant? Change one of them in the source")
	add("provider-uuid-invalid", loses, "the uuid of a provider is none", "kept under a uuid made of its hash")
	add("provider-uuid-spelling", harmless, "the uuid of a provider is not in the usual form", "found under the usual form, and any other")
	add("provider-name-missing", harmless, "a provider has no name", "its uuid is its name")
	add("provider-name-case", harmless, "names of providers are equal but for upper and lower case", "kept: here they are different names")
	add("provider-generation-missing", harmless, "a provider has no generation", "0")
	add("provider-parent-missing", loses, "the parent of a provider does not exist", "the provider is a root")
	add("provider-parent-circle", loses, "a provider is below itself", "cut at the lowest id of the circle, which is its root")
	add("provider-root-missing", harmless, "a provider has no root, which hides it from the Python service", "its topmost ancestor")
	add("provider-root-wrong", harmless, "the root of a provider is not its topmost ancestor", "its topmost ancestor")
	add("provider-trait-orphan", loses, "a trait or provider of an association does not exist", "left out")
	add("provider-aggregate-orphan", loses, "an aggregate or provider of a membership does not exist", "left out")
	add("aggregate-uuid-missing", loses, "an aggregate has no uuid", "left out")
	add("aggregate-uuid-invalid", loses, "the uuid of an aggregate is none", "kept under a uuid made of its hash")
	add("aggregate-uuid-spelling", harmless, "the uuid of an aggregate is not in the usual form", "found under the usual form, and any other")
	add("aggregate-uuid-twice", harmless, "several aggregates have one uuid in different spellings", "one aggregate with the members of all")
	add("class-number", harmless, "a resource class has another number here", "mapped by name, wherever it is used")
	add("class-name", harmless, "the name of a resource class has other characters than A-Z, 0-9 and _", "kept")
	add("class-standard", harmless, "a resource class is neither custom nor among the standard ones of this berth", "kept")
	add("class-case", harmless, "names of resource classes are equal but for upper and lower case", "kept: here they are different names")
	add("trait-name", harmless, "the name of a trait has other characters than A-Z, 0-9 and _", "kept")
	add("trait-standard", harmless, "a trait is neither custom nor among the standard ones of this berth", "kept")
	add("trait-case", harmless, "names of traits are equal but for upper and lower case", "kept: here they are different names")
	add("inventory-orphan", loses, "the provider or class of an inventory does not exist", "left out")
	add("inventory-bounds", loses, "a number of an inventory is beyond its bounds", "the nearest within, and what had no room has none: all is reserved")
	add("inventory-overcommitted", harmless, "more of an inventory is used than its capacity", "kept: nothing new fits until it is less")
	add("allocation-orphan", loses, "an allocation is of an inventory that does not exist", "left out")
	add("allocation-empty", loses, "an allocation uses nothing, or less", "left out")
	add("allocation-twice", harmless, "a consumer has several allocations of one class of a provider", "one with the sum, which is what counted")
	add("consumer-missing", harmless, "allocations have a consumer without a record, which hides them from the Python service", "made, with the incomplete project and user and generation 1")
	add("consumer-uuid-twice", loses, "several consumers have one uuid in different spellings", "one consumer, that with the lowest id, with the allocations of all")
	add("consumer-uuid-invalid", loses, "the uuid of a consumer is none", "kept under a uuid made of its hash")
	add("consumer-uuid-spelling", harmless, "the uuid of a consumer is not in the usual form", "found under the usual form, and any other")
	add("consumer-generation", harmless, "a consumer with allocations has a generation below 1", "1, which is what it is here from the first allocation on")
	add("consumer-idle", harmless, "a consumer has no allocations", "left out: here a consumer lasts as long as its allocations")
	add("consumer-project-missing", loses, "the project of a consumer does not exist", "the incomplete project")
	add("consumer-user-missing", loses, "the user of a consumer does not exist", "the incomplete user")
	add("consumer-type-missing", loses, "the type of a consumer does not exist", "unknown")
	add("owner-case", harmless, "names of projects or users are equal but for upper and lower case", "kept: here they are different names")
	add("time-missing", harmless, "rows do not say when they were made", "the time of the import")
	add("time-unreadable", loses, "a time is not in the form in which the Python service writes it", "as if it were missing")
	return all
}

// examples is how many of a kind the report shows.
const examples = 3

// readOddities lists what was found, and writes all of it where it is wanted: one JSON
// object a line.
func readOddities(ctx context.Context, tx pgx.Tx, file io.Writer) ([]Oddity, error) {
	counted, err := db.New().LegacyOddityCount(ctx, tx)
	if err != nil {
		return nil, err
	}
	counts := map[string]int64{}
	for _, one := range counted {
		counts[one.Kind] = one.Number
	}
	found := []Oddity{}
	places := map[string]int{}
	for _, kind := range Kinds() {
		if counts[kind.Kind] == 0 {
			continue
		}
		kind.Count, kind.Examples = counts[kind.Kind], []json.RawMessage{}
		places[kind.Kind] = len(found)
		found = append(found, kind)
	}
	if len(found) != len(counted) {
		return nil, fmt.Errorf("there are kinds of oddities that nobody explains: %v", counts)
	}
	most := int64(examples)
	if file != nil {
		most = 1 << 62
	}
	err = stream(ctx, tx, db.LegacyOddityList, func(r db.LegacyOddityListRow) error {
		one := &found[places[r.Kind]]
		if len(one.Examples) < examples {
			one.Examples = append(one.Examples, r.Found)
		}
		if file == nil {
			return nil
		}
		return json.NewEncoder(file).Encode(map[string]any{"kind": r.Kind, "done": one.Done, "found": r.Found})
	}, most)
	return found, err
}
