package placement

import (
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/berthd/berth/server/wire/querystring"
	"github.com/berthd/berth/server/wire/uuidlike"
)

// maxValues is the maximum number of values of a parameter.
const maxValues = 500

// checkOnce returns an error if one of the parameters is repeated.
func checkOnce(values querystring.Values, names ...string) error {
	for _, name := range values.Names() {
		if slices.Contains(names, name) && len(values.All(name)) > 1 {
			return queryRepeated.Of(name)
		}
	}
	return nil
}

// listOf returns the values of a parameter: one, or several as in:A,B. Missing: nil.
func listOf(values querystring.Values, name string, most int) ([]string, error) {
	text, ok := values.First(name)
	if !ok {
		return nil, nil
	}
	list := []string{text}
	if rest, several := strings.CutPrefix(text, "in:"); several {
		list = strings.Split(rest, ",")
	}
	if len(list) > most {
		return nil, tooManyValues.Of(name, len(list), most)
	}
	return list, nil
}

// uuidsOf returns the values of a parameter with UUIDs.
func uuidsOf(values querystring.Values, name string, most int) ([]uuid.UUID, error) {
	list, err := listOf(values, name, most)
	if list == nil || err != nil {
		return nil, err
	}
	ids := make([]uuid.UUID, 0, len(list))
	for _, text := range list {
		id, ok := uuidlike.Parse(text)
		if !ok {
			return nil, invalidQuery.Of("'" + text + "' is not a 'uuid'")
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// uuidOf returns the value of a parameter with one UUID; nil: it is missing.
func uuidOf(values querystring.Values, name string) (*uuid.UUID, error) {
	text, ok := values.First(name)
	if !ok {
		return nil, nil
	}
	id, ok := uuidlike.Parse(text)
	if !ok {
		return nil, invalidQuery.Of("'" + text + "' is not a 'uuid'")
	}
	return &id, nil
}

// timeOf returns the value of a parameter with a time; nil: it is missing. PostgreSQL stores microseconds, and would drop the
// rest of a fraction: rounded up, a time is before and after the same stored times.
func timeOf(values querystring.Values, name string) (*time.Time, error) {
	text, ok := values.First(name)
	if !ok {
		return nil, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil || at.UTC().Year() < 1 || at.UTC().Year() > 9999 {
		return nil, invalidTime.Of(text)
	}
	at = at.Add(time.Microsecond - 1).Truncate(time.Microsecond)
	return &at, nil
}

// included returns the parts that the parameter include names, in the order of the request, each once.
func included(values querystring.Values, known []string) ([]string, error) {
	text, ok := values.First(includeParam)
	if !ok {
		return nil, nil
	}
	var parts []string
	for name := range strings.SplitSeq(text, ",") {
		if !slices.Contains(known, name) {
			return nil, unknownInclude.Of(name, strings.Join(slices.Sorted(slices.Values(known)), ", "))
		}
		if !slices.Contains(parts, name) {
			parts = append(parts, name)
		}
	}
	return parts, nil
}

// Moment is a time in UTC with microseconds.
type Moment struct{ time.Time }

// Schema implements huma.SchemaProvider.
func (Moment) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Format: "date-time"}
}

// MarshalJSON implements json.Marshaler. The fraction always has six digits.
func (m Moment) MarshalJSON() ([]byte, error) {
	return []byte(m.UTC().Format(`"2006-01-02T15:04:05.000000Z"`)), nil
}
