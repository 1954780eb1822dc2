package placement

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/wire/querystring"
)

func TestQuery_LongestName_FitsIntoMarker(t *testing.T) {
	t.Parallel()
	p := page{Search: "q"}
	name := strings.Repeat("\U0010ffff", 200)
	marker := providerPaging.marker(p.order(), providerPositionText(&p, &store.ProviderPosition{Name: name}))
	if len(marker) > providerPaging.maxMarker() {
		t.Errorf("marker has %d characters, want at most %d", len(marker), providerPaging.maxMarker())
	}
}

func TestQuery_TimeWithNanoseconds_RoundedUp(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2026-11-22T14:11:00.123456Z":         "2026-11-22T14:11:00.123456Z",
		"2026-11-22T14:11:00.123456001Z":      "2026-11-22T14:11:00.123457Z",
		"2026-11-22T16:11:00.999999999+02:00": "2026-11-22T14:11:01Z",
	} {
		at, err := timeOf(querystring.Of(querystring.Pair{Name: "created_before", Value: text}), "created_before")
		if err != nil || at.UTC().Format(time.RFC3339Nano) != want {
			t.Errorf("%s = %v, error %v, want %s", text, at, err, want)
		}
	}
}

// FuzzProviderMarker parses changed markers in each order. What is accepted is what the list writes.
func FuzzProviderMarker(f *testing.F) {
	id := uuid.MustParse("c0ffee00-0000-4000-8000-000000000001")
	orders := []page{{Sort: byCreation}, {Sort: byCreationDesc}, {Sort: byName}, {Search: "q"}}
	for i := range orders {
		for _, at := range []store.ProviderPosition{{ID: 7, Name: "ä\U0010ffff"}, {Name: "x", UUID: &id}} {
			f.Add(providerPaging.marker(orders[i].order(), providerPositionText(&orders[i], &at)))
		}
	}
	for _, text := range []string{"", "=", "*", "p1:name:\x00", "p1:q:u", "p1:created_at:9223372036854775808", "p2:name:x", "a1:created_at:1"} {
		f.Add(text)
		f.Add(base64.RawURLEncoding.EncodeToString([]byte(text)))
	}
	f.Fuzz(func(t *testing.T, marker string) {
		for _, p := range orders {
			text, ok := providerPaging.position(marker, p.order())
			if !ok {
				continue
			}
			p.After = &text
			at, ok := providerPosition(&p)
			if !ok {
				continue
			}
			if p.order() == searchParam && at.UUID == nil && !isName(at.Name) || p.order() == byName && !isName(at.Name) {
				t.Errorf("marker %q has the name %q, which the database cannot store", marker, at.Name)
			}
			written := providerPositionText(&p, at)
			after := page{Sort: p.Sort, Search: p.Search, After: &written}
			if _, ok := providerPosition(&after); !ok {
				t.Errorf("marker %q is accepted, but not %q", marker, written)
			}
		}
	})
}
