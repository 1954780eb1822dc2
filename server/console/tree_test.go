package console_test

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
)

// treeRow is a row of a tree table, and treeAmount an amount in it.
var (
	treeRow    = regexp.MustCompile(`(?s)<tr[^>]*><th scope="row" class="name">.*?</tr>`)
	treeName   = regexp.MustCompile(`data-row[^>]*>([^<]*)</a>`)
	treeAmount = regexp.MustCompile(`data-label="([A-Z_]+)"><b[^>]*>([0-9,]+)</b> / ([0-9,]+)`)
)

// TestConsole_Tree_ShowsTheAnswerOfTheAPI compares the rows of a tree, and its marked pieces, with the API.
func TestConsole_Tree_ShowsTheAnswerOfTheAPI(t *testing.T) {
	t.Parallel()
	log := &syncBuffer{}
	s := newSite(t, siteOptions{hosts: 12, log: log})
	tree, err := s.api.TreeShow(t.Context(), uuid.MustParse(s.Provider), client.TreeInventories, client.TreeUsages, client.TreeConsumers)
	if err != nil {
		t.Fatal(err)
	}
	log.take()
	status, body := s.get(t, "/console/providers/"+s.Provider+"?consumer="+s.Consumer, nil)
	if status != http.StatusOK {
		t.Fatalf("status = %d, want 200", status)
	}
	if calls := strings.Count(log.take(), "path=/resource_providers"); calls != 2 {
		t.Errorf("calls = %d, want 2", calls)
	}
	shown := map[string]string{}
	for _, row := range treeRow.FindAllString(body, -1) {
		for _, found := range treeAmount.FindAllStringSubmatch(row, -1) {
			shown[treeName.FindStringSubmatch(row)[1]+" "+found[1]] = found[2] + "/" + found[3]
		}
	}
	for _, p := range tree.Providers {
		for _, class := range []string{"VCPU", "VGPU"} {
			record, has := p.Inventories[class]
			if !has {
				continue
			}
			capacity := int64(float64(record.Total-*record.Reserved) * *record.AllocationRatio)
			if got, want := shown[p.Name+" "+class], fmt.Sprintf("%d/%d", p.Usages[class], capacity); got != want {
				t.Errorf("%s of %s = %q, want %q", class, p.Name, got, want)
			}
		}
	}
	if !strings.Contains(body, `<h2 id="at">gpu-01_numa0</h2>`) {
		t.Error("the panel is not of the first provider with inventories")
	}
	if _, body := s.get(t, "/console/providers/"+s.Provider+"?at="+s.Provider, nil); !strings.Contains(body, `<h2 id="at">gpu-01</h2>`) {
		t.Error("the panel is not of the chosen provider")
	}
	marks := 1 // in the legend
	for provider, resources := range tree.Consumers[uuid.MustParse(s.Consumer)].Allocations {
		if strings.Contains(body, provider.String()) {
			marks += len(resources)
		}
	}
	if got := strings.Count(body, `"f-mark"`); got != marks {
		t.Errorf("marked pieces = %d, want %d", got, marks)
	}
}

// TestConsole_Tree_Exports compares the exports of a tree with the API.
func TestConsole_Tree_Exports(t *testing.T) {
	t.Parallel()
	s := newSite(t, siteOptions{hosts: 12})
	at := "/console/providers/" + s.Provider
	var tree struct {
		Root      string           `json:"root_provider_uuid"`
		Providers []map[string]any `json:"resource_providers"`
		Consumers map[string]any   `json:"consumers"`
	}
	_, body := s.get(t, at+".json", nil)
	if err := json.Unmarshal([]byte(body), &tree); err != nil || tree.Root != s.Provider || len(tree.Consumers) == 0 {
		t.Errorf("JSON = %.100s, %v", body, err)
	}
	_, body = s.get(t, at+".csv", nil)
	records, err := csv.NewReader(strings.NewReader(body)).ReadAll()
	if err != nil || len(records) < len(tree.Providers) {
		t.Errorf("CSV has %d records, %v", len(records), err)
	}
	if _, body = s.get(t, at+".svg", nil); !strings.HasPrefix(body, "<svg") || !strings.Contains(body, "prefers-color-scheme: dark") {
		t.Errorf("SVG = %.100s", body)
	}
}

// TestConsole_Tabs_ShowTheTree opens the tabs of a tree and the page of a consumer.
func TestConsole_Tabs_ShowTheTree(t *testing.T) {
	t.Parallel()
	log := &syncBuffer{}
	s := newSite(t, siteOptions{hosts: 12, log: log})
	here := "/console/providers/" + s.Provider
	for address, want := range map[string]string{
		here + "/consumers":                s.Consumer,
		here + "/traits":                   "COMPUTE_NODE",
		here + "/api":                      "/resource_providers/" + s.Provider + "/tree?include=",
		"/console/consumers/" + s.Consumer: here + "?consumer=" + s.Consumer + "&amp;at=" + s.Provider,
	} {
		log.take()
		status, body := s.get(t, address, nil)
		if status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s: status = %d, has %q = %t", address, status, want, strings.Contains(body, want))
		}
		if calls := strings.Count(log.take(), "msg=request") - 1; calls > 6 {
			t.Errorf("%s: calls = %d, want at most 6", address, calls)
		}
	}
}

// TestConsole_HostileProvider_IsText shows a provider with a name of markup, quotes and direction characters.
func TestConsole_HostileProvider_IsText(t *testing.T) {
	t.Parallel()
	s := newSite(t, siteOptions{})
	id, other := uuid.Must(uuid.NewV7()), uuid.Must(uuid.NewV7())
	name := `<script>alert("x")</script>'` + "\u202e" + strings.Repeat("x", 160)
	for id, name := range map[uuid.UUID]string{id: name, other: "=cmd()"} {
		if _, err := s.api.ProviderCreate(t.Context(), name, id, uuid.Nil); err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.api.InventoryReplace(t.Context(), id, 0, client.Inventories{"VCPU": {Total: 4}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, address := range []string{"/providers", "/providers?view=list", "/providers/" + id.String(), "/providers/" + id.String() + "/api"} {
		status, body := s.get(t, "/console"+address, nil)
		if status != http.StatusOK || strings.Contains(body, "<script>alert") || strings.Contains(body, "\u202e") ||
			!strings.Contains(html.UnescapeString(body), `<script>alert("x")</script>'`) {
			t.Errorf("%s: status = %d, body does not show the name as text", address, status)
		}
	}
	if _, body := s.get(t, "/console/providers.csv", nil); !strings.Contains(body, ",'=cmd(),VCPU,") {
		t.Errorf("CSV = %s", body)
	}
}
