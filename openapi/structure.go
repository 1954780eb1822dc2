// Package openapi separates the structure of an OpenAPI document from its prose. Clients depend on the structure, so a
// released microversion keeps it. Prose is descriptions, summaries and examples, which may be improved.
//
// It is not for building documents: the route tables do that (server/api/route). The command openapi/record writes the
// files of this directory.
package openapi

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Structure is a document without its prose: facts in an order that depends on their
// names only.
type Structure []fact

// fact is one line of a structure, such as the query parameter of an operation, a header
// of a response or a property of a schema.
type fact struct {
	// place orders facts: the facts of one path are adjacent.
	place string
	name  string
	value string
}

func (f fact) String() string { return strings.TrimSuffix(f.name+" "+f.value, " {}") }

// Read returns the structure of a document. It fails if the document is not a JSON object.
func Read(document []byte) (Structure, error) {
	decoder := json.NewDecoder(bytes.NewReader(document))
	// Keep the notation of numbers: a large bound must not lose its last digit.
	decoder.UseNumber()
	var root map[string]any
	if err := decoder.Decode(&root); err != nil {
		return nil, fmt.Errorf("read the OpenAPI document: %w", err)
	}
	delete(root, "tags") // only descriptions; operations contain the names of tags
	w := &walk{}
	w.document(withoutProse("", root).(map[string]any))
	slices.SortFunc(w.facts, func(a, b fact) int { return strings.Compare(a.place, b.place) })
	return w.facts, nil
}

// Lines returns one line for each fact.
func (s Structure) Lines() []string {
	lines := make([]string, 0, len(s))
	for _, fact := range s {
		lines = append(lines, fact.String())
	}
	return lines
}

// Hash returns the SHA-256 of the structure in hexadecimal.
func (s Structure) Hash() string {
	sum := sha256.Sum256([]byte(strings.Join(s.Lines(), "\n")))
	return hex.EncodeToString(sum[:])
}

// Changes returns the facts of before that after lacks, marked "-", and those that only after has, marked "+". A fact
// whose value differs appears as both.
func Changes(before, after Structure) []string {
	old, current := byPlace(before), byPlace(after)
	places := slices.AppendSeq(slices.Collect(maps.Keys(old)), maps.Keys(current))
	slices.Sort(places)
	var changes []string
	for _, place := range slices.Compact(places) {
		was, is := old[place], current[place]
		if was == is {
			continue
		}
		if was != "" {
			changes = append(changes, "- "+was)
		}
		if is != "" {
			changes = append(changes, "+ "+is)
		}
	}
	return changes
}

func byPlace(s Structure) map[string]string {
	found := make(map[string]string, len(s))
	for _, fact := range s {
		found[fact.place] = fact.String()
	}
	return found
}

// WithoutVersion returns the structure without the facts that name the microversion of the document, which differ
// between any two documents.
func (s Structure) WithoutVersion() Structure {
	return slices.DeleteFunc(slices.Clone(s), func(f fact) bool {
		return f.name == versionFact || f.name == versionHeaderFact
	})
}
