package draw

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	api "github.com/berthd/berth/gen/client"
)

func TestCLI_MapGroups_HaveTreesByAggregate(t *testing.T) {
	t.Parallel()
	tree := func(name string) *api.NamedProvider {
		return &api.NamedProvider{UUID: uuid.New(), Name: name}
	}
	first, second, rack := tree("cn<1>"), tree("cn2\u202e"), uuid.New()
	groups := MapGroups([]api.ClassCapacity{
		{Tree: first, Used: 1, Capacity: 4}, {Tree: second, Used: 6, Capacity: 4, OverCapacity: 2}, {Tree: tree("cn3")},
	}, map[uuid.UUID][]uuid.UUID{first.UUID: {rack}, second.UUID: {rack}}, func(root uuid.UUID) string { return "/" + root.String() })
	if len(groups) != 2 || groups[0].ID != rack || groups[0].Used != 7 || groups[0].Capacity != 8 || groups[1].ID != uuid.Nil {
		t.Fatalf("groups = %+v", groups)
	}
	if squares := groups[0].Squares; squares[0].Square != 0.25 || squares[1].Square <= 1 || groups[1].Squares[0].Square != NoInventory {
		t.Errorf("squares = %+v", squares)
	}
	if plain := groups[0].Fragment(7, false); strings.Contains(plain, "<a") || !strings.Contains(plain, "f-over") {
		t.Errorf("map without links = %s", plain)
	}
	picture := groups[0].Fragment(7, true)
	for _, want := range []string{`aria-hidden="true"`, `<a href="/` + first.UUID.String() + `" tabindex="-1"><title>cn&lt;1&gt;: 25.0 %</title>`, "150.0 %, over capacity"} {
		if !strings.Contains(picture, want) {
			t.Errorf("the map has no %q: %s", want, picture)
		}
	}
	if strings.Contains(picture, "\u202e") {
		t.Error("the map has a direction character")
	}
}
