package console_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
	api "github.com/berthd/berth/gen/client"
	"github.com/berthd/berth/server/console"
)

// thousands returns a whole number as pages show it.
func thousands(amount float64) string {
	text, _ := json.Marshal(int64(amount))
	for at := len(text) - 3; at > 0; at -= 3 {
		text = append(text[:at:at], append([]byte(","), text[at:]...)...)
	}
	return string(text)
}

func TestConsole_PlanPages_ShowNumbersOfAPI(t *testing.T) {
	t.Parallel()
	rack := uuid.NewSHA1(uuid.MustParse("5eed0000-de30-4c10-8d00-000000000001"), []byte("aggregate/rack-1")) // of the sample data
	log := &syncBuffer{}
	s := newSite(t, siteOptions{hosts: 120, log: log, settings: console.Settings{
		AggregateNames: map[uuid.UUID]string{rack: "rack <a>"}, Shapes: []console.Shape{{Name: "m1.large", Query: "resources=VCPU%3A4%2CMEMORY_MB%3A8192"}},
	}})
	ctx := client.WithExtensions(t.Context(), "1.4")
	sums, err := s.api.CapacityList(ctx, client.CapacityQuery{})
	if err != nil {
		t.Fatal(err)
	}
	fit, err := s.api.CapacityFit(ctx, client.CapacityFitQuery{Query: client.CandidateQuery{Resources: "VCPU:4,MEMORY_MB:8192"}, Count: 1_000_000})
	if err != nil {
		t.Fatal(err)
	}
	t.Run("overview", func(t *testing.T) {
		_, left := s.get(t, "/console?card=left", nil)
		for _, sum := range sums.Capacity {
			mustHave(t, left, sum.ResourceClass, sum.LargestAt.Name)
			if sum.ResourceClass == "VCPU" || sum.ResourceClass == "VGPU" {
				mustHave(t, left, thousands(sum.Free)+" of "+thousands(sum.Capacity))
			}
		}
		_, pieces := s.get(t, "/console?card=pieces&class=VGPU", nil)
		for _, sum := range sums.Capacity {
			for _, size := range sum.Sizes {
				if sum.ResourceClass == "VGPU" {
					mustHave(t, pieces, "from "+thousands(size.AtLeast)+" "+thousands(float64(size.ResourceProviders)))
				}
			}
		}
		_, where := s.get(t, "/console?card=where", nil)
		squares := 0
		for sum, err := range s.api.CapacityTrees(ctx, client.CapacityQuery{Classes: []string{"VCPU"}}, 0) {
			if squares++; err != nil {
				t.Fatal(err)
			}
			mustHave(t, where, sum.Tree.Name+": ")
		}
		mustHave(t, where, "rack <a>", thousands(float64(squares))+" squares")
		_, all := s.get(t, "/console/providers?view=map&card=map&class=VGPU", nil)
		mustHave(t, all, "gpu-01: ")
		if !strings.Contains(all, `<a href="/console/providers/`+s.Provider+`" tabindex="-1">`) {
			t.Error("the square of a tree is no link")
		}
		_, fits := s.get(t, "/console?card=fits&shape=m1.large", nil)
		mustHave(t, fits, "m1.large", thousands(float64(fit.Fit))+" times", *fit.EndsFirst+" ends first")
		_, failed := s.get(t, "/console?card=unplaced", nil)
		mustHave(t, failed, "×1", "MEMORY_MB")
		if !strings.Contains(failed, "/console/explanations/"+s.Request) {
			t.Errorf("no link to %s", s.Request)
		}
		_, metal := s.get(t, "/console?card=metal", nil)
		mustHave(t, metal, "available", "7 nodes.")
		_, look := s.get(t, "/console?card=look", nil)
		mustHave(t, look, "MEMORY_MB is allocated over capacity")
	})
	t.Run("capacity", func(t *testing.T) {
		_, page := s.get(t, "/console/capacity?card=groups&class=VGPU&shape=m1.large", nil)
		mustHave(t, page, "rack <a>", "Stranded", "Fits at most")
		_, first := s.get(t, "/console/capacity?card=groups&group_by=tree", nil)
		next := regexp.MustCompile(`href="([^"]*)" rel="next"`).FindStringSubmatch(first)
		if next == nil {
			t.Fatal("no next page of trees")
		}
		_, second := s.get(t, html.UnescapeString(next[1]), nil)
		mustHave(t, first, "cmp-001", " trees")
		mustHave(t, second, "First page", " trees")
		if strings.Contains(text(second), "cmp-001 ") {
			t.Error("the second page has trees of the first one")
		}
		_, exported := s.get(t, "/console/capacity.csv?class=VGPU", nil)
		lines, err := csv.NewReader(strings.NewReader(exported)).ReadAll()
		if err != nil || len(lines) != 3 || lines[0][0] != "name" {
			t.Errorf("CSV = %q, %v", lines, err)
		}
		_, exported = s.get(t, "/console/capacity.json?class=VGPU", nil)
		var found api.CapacityList
		if err := json.Unmarshal([]byte(exported), &found); err != nil || len(found.Capacity) != 2 {
			t.Errorf("JSON = %s, %v", exported, err)
		}
	})
	t.Run("what-if", func(t *testing.T) {
		question := client.CapacityFitQuery{
			Query: client.CandidateQuery{Resources: "VCPU:4,MEMORY_MB:8192"}, Count: 1_000_000,
			Changes: []client.CapacityChange{{Like: new(uuid.MustParse(s.Provider)), Count: 3}, {Class: "MEMORY_MB", AllocationRatio: new(4.0), Reserved: new(int64(1024))}},
		}
		want, err := s.api.CapacityFit(ctx, question)
		if err != nil {
			t.Fatal(err)
		}
		_, page := s.get(t, "/console/capacity/what-if?card=fits&shape=m1.large&like=gpu-01&count=3&class=MEMORY_MB&allocation_ratio=4&reserved=1024", nil)
		mustHave(t, page, "Now "+thousands(float64(want.Before.Fit))+" times", "with the change "+thousands(float64(want.Fit))+" times")
	})
	pages := log.calls()
	if len(pages) < 5 {
		t.Errorf("calls = %v", pages)
	}
	for id, calls := range pages {
		if len(calls) > 6 {
			t.Errorf("the page %s makes %d calls: %v", id, len(calls), calls)
		}
	}
}

func TestConsole_PlanPagesWithInvalidParameters_Return400(t *testing.T) {
	t.Parallel()
	s := newSite(t, siteOptions{hosts: 12})
	for _, path := range []string{
		"?shape=large", "?shape=resources%3DVCPU:0", "/capacity?group_by=trait", "/capacity?shape=required%3DA", "/capacity.csv?shape=x",
		"/capacity/what-if?shape=VCPU:1&like=gpu-01", "/capacity/what-if?shape=VCPU:1&like=nothing&count=1", "/capacity/what-if?count=1",
		"/capacity/what-if?allocation_ratio=many&class=VCPU", "/capacity/what-if?allocation_ratio=NaN&class=VCPU", "/capacity/what-if?reserved=1",
		"/capacity.json?class=NONE", "/capacity.json?group_by=tree&marker=x",
	} {
		status, page := s.get(t, "/console"+path, nil)
		if status != http.StatusBadRequest {
			t.Errorf("%s: status = %d, want 400: %s", path, status, text(page))
		}
		if !strings.Contains(path, ".") && !strings.Contains(path, "group_by") && !strings.Contains(page, `-hint" aria-invalid="true"`) {
			t.Errorf("%s marks no field: %s", path, text(page))
		}
	}
}

func TestConsole_PlanPagesOfRefusedCaller_KeepThePage(t *testing.T) {
	t.Parallel()
	s := newSite(t, siteOptions{hosts: 12})
	withoutRoles := s.persona(t, "no role")
	for _, path := range []string{"", "/capacity", "/capacity/what-if?shape=VCPU:1"} {
		status, page := s.get(t, "/console"+path, withoutRoles)
		if status != http.StatusOK {
			t.Errorf("%s: status = %d, want 200", path, status)
		}
		mustHave(t, page, "Not allowed")
		if strings.Contains(page, "gpu-0") || strings.Contains(page, "cmp-0") {
			t.Errorf("%s shows names of providers", path)
		}
	}
}

// post posts an empty form, as a browser does from a page of the site.
func (s *site) post(t *testing.T, path string) *http.Response {
	t.Helper()
	user := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := user.PostForm(s.url+path, url.Values{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = answer.Body.Close() })
	return answer
}

func TestConsole_StartOfEmptyService_LoadsSampleData(t *testing.T) {
	t.Parallel()
	s := newSite(t, siteOptions{})
	if status, _ := s.get(t, "/console", nil); status != http.StatusSeeOther {
		t.Fatalf("status of the overview = %d, want 303", status)
	}
	_, page := s.get(t, "/console/start", nil)
	mustHave(t, page, "Load sample data", "1.0 to 1.39", "berth agent --url "+s.url)
	if answer := s.post(t, "/console/start"); answer.StatusCode != http.StatusSeeOther || answer.Header.Get("Location") != "/console" {
		t.Fatalf("status of the form = %d, %s", answer.StatusCode, answer.Header)
	}
	if status, _ := s.get(t, "/console", nil); status != http.StatusOK {
		t.Errorf("status of the overview with data = %d", status)
	}
	var body bytes.Buffer
	if _, err := body.ReadFrom(s.post(t, "/console/start").Body); err != nil {
		t.Fatal(err)
	}
	mustHave(t, body.String(), "the server has the sample data", "Nothing was changed.")
}

func TestConsole_StartWithForeignProviders_ChangesNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t, siteOptions{})
	if _, err := s.api.ProviderCreate(t.Context(), "cn1", uuid.Nil, uuid.Nil); err != nil {
		t.Fatal(err)
	}
	var body bytes.Buffer
	if _, err := body.ReadFrom(s.post(t, "/console/start").Body); err != nil {
		t.Fatal(err)
	}
	mustHave(t, body.String(), "the server has providers of others", "Nothing was changed.")
	found, err := s.api.ProviderList(t.Context(), client.ProviderFilter{})
	if err != nil || len(found) != 1 {
		t.Errorf("providers = %v, %v", found, err)
	}
	if status, page := s.get(t, "/console", nil); status != http.StatusOK {
		t.Errorf("status of the overview = %d: %s", status, text(page))
	}
}

func TestConsole_PlanPagesWithHostileNames_EscapeThem(t *testing.T) {
	t.Parallel()
	const name = "<script>alert(\"1\")</script>\u202e' onload='x"
	s := newSite(t, siteOptions{settings: console.Settings{Shapes: []console.Shape{{Name: "\"><script>", Query: "resources=VCPU:1"}}}})
	for i, name := range []string{name, "=1+1", strings.Repeat("n", 200)} {
		made, err := s.api.ProviderCreate(t.Context(), name, uuid.Nil, uuid.Nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.api.InventoryReplace(t.Context(), made.UUID, 0, client.Inventories{"VCPU": {Total: int32(8 - i)}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"", "?card=where", "?card=left", "/capacity?group_by=tree&shape=%22%3E%3Cscript%3E", "/capacity?card=groups&group_by=tree", "/providers?view=map&card=map"} {
		status, page := s.get(t, "/console"+path, nil)
		if status != http.StatusOK || strings.Contains(page, "<script>") || strings.Contains(page, "\u202e") || strings.Contains(page, "' onload") {
			t.Errorf("%s: status = %d, page = %s", path, status, page)
		}
	}
	if _, exported := s.get(t, "/console/capacity.csv?group_by=tree", nil); !strings.Contains(exported, "\n'=1+1,") {
		t.Errorf("CSV = %s", exported)
	}
}
