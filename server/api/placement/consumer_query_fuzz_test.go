package placement

import (
	"errors"
	"testing"

	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/querystring"
)

// FuzzConsumerMarker parses markers, encoded or not: each has one place, or it is an invalid value.
func FuzzConsumerMarker(f *testing.F) {
	for _, text := range []string{"x", "c1:created_at:3", "c1:created_at:03", "c1:created_at:-1", "c1:q:1d5ecafe-0000-4000-8000-0000000000a1", "p1:created_at:3", "c1:-created_at:9223372036854775808"} {
		f.Add(text, "created_at", "")
		f.Add(consumerList.marker(byCreation, text), "", "")
		f.Add(consumerList.marker(searchParam, text), "", "1d5ecafe")
	}
	f.Fuzz(func(t *testing.T, marker, sort, search string) {
		pairs := []querystring.Pair{{Name: markerParam, Value: marker}}
		for _, pair := range []querystring.Pair{{Name: sortParam, Value: sort}, {Name: searchParam, Value: search}} {
			if pair.Value != "" {
				pairs = append(pairs, pair)
			}
		}
		asked, err := parseConsumerList(t.Context(), querystring.Of(pairs...))
		if err != nil {
			if failed := (*fault.Error)(nil); !errors.As(err, &failed) || failed.Kind != fault.Invalid {
				t.Fatalf("error = %v, want an invalid value", err)
			}
			return
		}
		if again := consumerList.marker(asked.paging.order(), asked.position(asked.page.From)); again != marker {
			t.Fatalf("marker %q has the place of %q", marker, again)
		}
	})
}
