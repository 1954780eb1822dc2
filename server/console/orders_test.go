package console_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/internal/draw"
)

// rowsOf returns the names of the trees or providers of all pages of a list, by its links.
func (s *site) rowsOf(t *testing.T, address string) (names []string) {
	t.Helper()
	row := regexp.MustCompile(`<a href="/console/providers/[0-9a-f-]{36}[^"]*" data-row>([^<]*)<`)
	for address != "" {
		status, body := s.get(t, address, nil)
		if status != http.StatusOK {
			t.Fatalf("%s: status = %d: %s", address, status, textOf(body))
		}
		for _, match := range row.FindAllStringSubmatch(body, -1) {
			names = append(names, match[1])
		}
		next := nextPage.FindStringSubmatch(body)
		if address = ""; next != nil {
			address = html.UnescapeString(next[1])
		}
	}
	return names
}

// TestConsole_Trees_HaveTheOrderOfTheAddress pages through the trees in each order.
func TestConsole_Trees_HaveTheOrderOfTheAddress(t *testing.T) {
	t.Parallel()
	s := newSite(t, siteOptions{hosts: 120})
	var created []string
	full := map[string]float64{}
	for sum, err := range s.api.CapacityTrees(t.Context(), client.CapacityQuery{}, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if len(created) == 0 || created[len(created)-1] != sum.Tree.Name {
			created = append(created, sum.Tree.Name)
		}
		full[sum.Tree.Name] = max(full[sum.Tree.Name], sum.Used/sum.Capacity)
	}
	for order, sorted := range map[string]func(){
		"":     func() {},
		"name": func() { slices.SortFunc(created, draw.CompareNames) },
		"fullest": func() {
			slices.SortStableFunc(created, func(a, b string) int { return int(1e9*full[b]) - int(1e9*full[a]) })
		},
	} {
		was := slices.Clone(created)
		sorted()
		want := slices.Clone(created)
		created = was
		if got := s.rowsOf(t, "/console/providers?sort="+order); order == "fullest" && !slices.EqualFunc(got, want, func(a, b string) bool { return full[a] == full[b] }) ||
			order != "fullest" && !slices.Equal(got, want) {
			t.Errorf("order %q: %q, want %q", order, got, want)
		}
	}
	slices.Reverse(created)
	if got := s.rowsOf(t, "/console/providers?sort=newest"); !slices.Equal(got, created) {
		t.Errorf("newest: %q, want %q", got, created)
	}
	newest, oldest := s.rowsOf(t, "/console/providers?view=list&sort=newest"), s.rowsOf(t, "/console/providers?view=list&sort=oldest")
	if slices.Reverse(oldest); !slices.Equal(newest, oldest) {
		t.Errorf("the newest providers are %q, the oldest backwards %q", newest, oldest)
	}
	_, body := s.get(t, "/console/providers?sort=fullest&class=VGPU", nil)
	wantTexts(t, body, "Trees, fullest first, by the used part of VGPU")
	_, body = s.get(t, "/console/providers?sort=name", nil)
	wantTexts(t, body, "Trees by name 1 to 100 of 124 trees Next page")
	_, body = s.get(t, "/console/providers", nil)
	wantTexts(t, body, "Trees, oldest first 100 trees on this page, more on the next Next page")
	_, csv := s.get(t, "/console/providers.csv?sort=name", nil)
	if lines := strings.Split(csv, "\n"); len(lines) < 125 || !strings.Contains(lines[1], ",cmp-001,") {
		t.Errorf("the export begins with %.200s", csv)
	}
	if status, body := s.get(t, "/console/providers?sort=sideways", nil); status != http.StatusBadRequest {
		t.Errorf("an unknown order: status = %d: %s", status, textOf(body))
	}
}

// TestConsole_AggregateOfTheSampleData_HasItsName opens lists and the page of a rack.
func TestConsole_AggregateOfTheSampleData_HasItsName(t *testing.T) {
	t.Parallel()
	s := newSite(t, siteOptions{hosts: 12})
	_, body := s.get(t, "/console/aggregates/"+s.Aggregate, nil)
	name := regexp.MustCompile(`rack \d`).FindString(textOf(body))
	wantTexts(t, body, "Aggregate "+name, "The name is that of the sample data", s.Aggregate)
	if _, body = s.get(t, "/console/providers?aggregate="+url.QueryEscape(name), nil); name == "" || !strings.Contains(body, "gpu-01") || strings.Contains(body, "gpu-02") {
		t.Errorf("trees of %q: %s", name, textOf(body))
	}
	for _, page := range []string{"", "/capacity", "/providers?view=map", "/providers/" + s.Provider} {
		_, body = s.get(t, "/console"+page, nil)
		wantTexts(t, body, name)
	}
	_, body = s.get(t, "/console/aggregates/c0ffee00-0000-4000-8000-00000000000a", nil)
	wantTexts(t, body, "Aggregate c0ffee00", "It has no name", "--aggregate-names")
}
