package console_test

import (
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
)

// hostileName is the name of a provider that a page must not take for markup.
var hostileName = `<script>"'&` + "\u202e" + strings.Repeat("x", 180)

func must[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

// smallCloud creates hosts of two NUMA nodes, the first with a GPU, in an aggregate with two sharing providers, of which one
// has a hostile name.
func smallCloud(t *testing.T, s *site, hosts int) (ids map[string]uuid.UUID) {
	t.Helper()
	ids = map[string]uuid.UUID{}
	group := uuid.New()
	create := func(name, parent string, inventories client.Inventories) {
		id := uuid.New()
		ids[name] = id
		must(s.api.ProviderCreate(t.Context(), name, id, ids[parent]))(t)
		if _, _, err := s.api.InventoryReplace(t.Context(), id, 0, inventories); err != nil {
			t.Fatal(err)
		}
	}
	join := func(name string, aggregate uuid.UUID) {
		if _, _, err := s.api.ProviderAggregateReplace(t.Context(), ids[name], 1, []uuid.UUID{aggregate}); err != nil {
			t.Fatal(err)
		}
	}
	for n := range hosts {
		host := fmt.Sprintf("host-%02d", n)
		create(host, "", client.Inventories{})
		join(host, group)
		for _, numa := range []string{"_numa0", "_numa1"} {
			create(host+numa, host, client.Inventories{"VCPU": {Total: 16}, "MEMORY_MB": {Total: 32768}})
		}
		create(host+"_gpu", host+"_numa0", client.Inventories{"VGPU": {Total: 2}})
	}
	for _, pool := range []string{"pool-a", hostileName} {
		create(pool, "", client.Inventories{"DISK_GB": {Total: 1000}})
		join(pool, group)
		if _, _, err := s.api.ProviderTraitReplace(t.Context(), ids[pool], 2, []string{"MISC_SHARES_VIA_AGGREGATE"}); err != nil {
			t.Fatal(err)
		}
	}
	return ids
}

const gpuQuery = "resources=DISK_GB:100&resources_CPU=VCPU:4,MEMORY_MB:8192&resources_GPU=VGPU:1&same_subtree=_CPU,_GPU"

func TestConsole_Candidates_ShowTheAnswer(t *testing.T) {
	t.Parallel()
	log := &syncBuffer{}
	s := newSite(t, siteOptions{log: log})
	ids := smallCloud(t, s, 8)
	consumer := uuid.New()
	if ok, err := s.api.Claim(t.Context(), consumer, client.ClaimRequest{
		Allocations: map[uuid.UUID]client.Resources{ids["host-00_numa0"]: {"VCPU": 3, "MEMORY_MB": 4096}, ids["host-00_gpu"]: {"VGPU": 1}},
		ProjectID:   "p", UserID: "u", Type: "INSTANCE",
	}); !ok || err != nil {
		t.Fatal(ok, err)
	}
	status, body := s.get(t, "/console/candidates?"+gpuQuery, nil)
	if status != http.StatusOK {
		t.Fatalf("status = %d: %s", status, textOf(body))
	}
	answer := must(s.api.QuestionList(client.WithExtensions(t.Context(), "1.4"), gpuQuery))(t)
	wantTexts(t, body, fmt.Sprintf("%d candidates in 8 trees", len(answer.AllocationRequests)),
		"host-00 host-00_numa0 _CPU 3 +4 / 16 4 +8 / 32 GiB", "host-00_gpu _GPU 1 +1 / 2", "no group", "/ 1,000 GiB",
		"the same, with a share of", "uses up VGPU of host-00_gpu", "3 more", "GET /allocation_candidates ? resources =DISK_GB:100")
	if strings.Contains(body, "<script>\"") || strings.Contains(body, "\u202e") {
		t.Error("the hostile name is not escaped")
	}
	for _, calls := range log.calls() {
		if len(calls) != 6 {
			t.Errorf("calls of the page = %q, want 6", calls)
		}
	}
	next := regexp.MustCompile(`href="([^"]*)" rel="next"`).FindStringSubmatch(body)
	_, body = s.get(t, html.UnescapeString(next[1]), nil)
	wantTexts(t, body, "6 host-0", "8 host-0")
	shown := regexp.MustCompile(`href="([^"]*show=[^"]*)">` + regexp.QuoteMeta("&lt;")).FindStringSubmatch(body)
	if shown == nil {
		shown = regexp.MustCompile(`href="([^"]*show=[^"]*)">pool-a`).FindStringSubmatch(body)
	}
	status, body = s.get(t, html.UnescapeString(shown[1]), nil)
	if status != http.StatusOK || strings.Count(body, `class="badge on"`) != 1 {
		t.Errorf("status = %d, and not one candidate is open: %s", status, textOf(body))
	}
}

func TestConsole_Candidates_FormAndAddressSayTheSame(t *testing.T) {
	t.Parallel()
	s := newSite(t, siteOptions{})
	smallCloud(t, s, 1)
	_, body := s.get(t, "/console/candidates?"+gpuQuery+"&required_GPU=!CUSTOM_A,HW_B&limit=7&order=id", nil)
	fields := url.Values{}
	form, _, _ := strings.Cut(body[strings.Index(body, "data-explorer"):], "</form>")
	var query []string
	for _, found := range regexp.MustCompile(`<input[^>]* name="([^"]*)"[^>]* value="([^"]*)"|<input[^>]* value="([^"]*)" name="([^"]*)"|<option value="([^"]*)" selected`).FindAllStringSubmatch(form, -1) {
		if found[5] == "" {
			fields.Add(found[1], found[2])
			query = append(query, url.QueryEscape(html.UnescapeString(found[1]))+"="+url.QueryEscape(html.UnescapeString(found[2])))
		}
	}
	if fields.Get("resources_CPU-class") != "VCPU" || fields.Get("limit") != "7" {
		t.Fatalf("fields = %v", fields)
	}
	status, redirect := s.get(t, "/console/candidates?"+strings.Join(query, "&")+"&add=group", nil)
	want := "/console/candidates?resources=DISK_GB:100&resources_CPU=VCPU:4,MEMORY_MB:8192&resources_GPU=VGPU:1&required_GPU=!CUSTOM_A,HW_B&same_subtree=_CPU,_GPU"
	if status != http.StatusSeeOther || !strings.Contains(html.UnescapeString(redirect), want) || !strings.Contains(redirect, "add=group") {
		t.Errorf("status = %d, redirect to %s", status, redirect)
	}
	status, body = s.get(t, "/console/candidates?limit=2&resources=VCPU:1&add=required", nil)
	wantTexts(t, body, "The address has another order", "required")
	if status != http.StatusOK {
		t.Errorf("status = %d", status)
	}
}

func TestConsole_CandidatesInvalid_KeepForm(t *testing.T) {
	t.Parallel()
	s := newSite(t, siteOptions{})
	status, body := s.get(t, "/console/candidates?resources=VCPU:4&color=red", nil)
	wantTexts(t, body, "color", "Kept as text.", "What is asked for")
	if status != http.StatusBadRequest || !strings.Contains(body, ">color=red</textarea>") {
		t.Errorf("status = %d: %s", status, textOf(body))
	}
	if status, body = s.get(t, "/console/candidates?start=hello", nil); status != http.StatusBadRequest || !strings.Contains(body, ">hello</textarea>") {
		t.Errorf("status = %d: %s", status, textOf(body))
	}
	if status, _ = s.get(t, "/console/candidates?resources=VCPU:4", s.persona(t, "no role")); status != http.StatusForbidden {
		t.Errorf("status of a caller without roles = %d", status)
	}
}

func TestConsole_CandidatesStart_ReadsConsumerRequestAndFlavor(t *testing.T) {
	t.Parallel()
	s := newSite(t, siteOptions{hosts: 12})
	asked := must(s.api.ExplanationShow(t.Context(), s.Request))(t)[0].Question
	consumer := must(s.api.AllocationList(t.Context(), uuid.MustParse(s.Consumer)))(t)
	for text, want := range map[string]string{
		s.Request:  asked,
		s.Consumer: "resources=",
		"resources:VCPU='4', trait:X='required', resources1:VGPU=1": "resources=VCPU:4&required=X&resources1=VGPU:1",
		"curl 'http://h/allocation_candidates?resources=VCPU:3'":    "resources=VCPU:3",
	} {
		status, redirect := s.get(t, "/console/candidates?start="+url.QueryEscape(text), nil)
		if status != http.StatusSeeOther || !strings.Contains(html.UnescapeString(redirect), "/console/candidates?"+want) {
			t.Errorf("%s: status = %d: %s", text, status, redirect)
		}
		for _, resources := range consumer.Allocations {
			for class := range resources {
				if text == s.Consumer && !strings.Contains(redirect, class+":") {
					t.Errorf("the query of the consumer lacks %s: %s", class, redirect)
				}
			}
		}
	}
	if status, _ := s.get(t, "/console/candidates?start="+uuid.NewString(), nil); status != http.StatusNotFound {
		t.Errorf("status of an unknown consumer = %d", status)
	}
}

func TestConsole_Claim_IsDryRun(t *testing.T) {
	t.Parallel()
	s := newSite(t, siteOptions{})
	ids := smallCloud(t, s, 1)
	answer := must(s.api.QuestionList(client.WithExtensions(t.Context(), "1.4"), "resources=VGPU:2"))(t)
	candidate := must(json.Marshal(answer.AllocationRequests[0]))(t)
	try := func() (int, string) {
		response := must(http.PostForm(s.url+"/console/candidates/claim", url.Values{"candidate": {string(candidate)}, "back": {"/console/candidates?resources=VGPU:2"}}))(t)
		defer response.Body.Close()
		return response.StatusCode, string(must(io.ReadAll(response.Body))(t))
	}
	status, body := try()
	wantTexts(t, body, "It would be granted.", "PUT /allocations/", "host-00_gpu VGPU 2 2 0 no second one of this size")
	usages, _, err := s.api.ProviderUsageList(t.Context(), ids["host-00_gpu"])
	if status != http.StatusOK || err != nil || fmt.Sprint(usages) != "map[VGPU:0]" {
		t.Errorf("status = %d, usages = %v, %v", status, usages, err)
	}
	if ok, err := s.api.Claim(t.Context(), uuid.New(), client.ClaimRequest{Allocations: map[uuid.UUID]client.Resources{ids["host-00_gpu"]: {"VGPU": 1}}, ProjectID: "p", UserID: "u", Type: "T"}); !ok || err != nil {
		t.Fatal(ok, err)
	}
	status, body = try()
	wantTexts(t, body, "It would be refused. 409", "host-00_gpu VGPU 2 1 —")
	if status != http.StatusOK {
		t.Errorf("status = %d", status)
	}
	for _, text := range []string{"{}", `{"allocations": {"` + ids["host-00_gpu"].String() + `": {"resources": {}}}}`} {
		candidate = []byte(text)
		if status, body = try(); status != http.StatusBadRequest {
			t.Errorf("%s: status = %d: %s", text, status, textOf(body))
		}
	}
}

func TestConsole_Funnel_ShowsStepsAndChanges(t *testing.T) {
	t.Parallel()
	s := newSite(t, siteOptions{})
	smallCloud(t, s, 3)
	const query = "resources=VCPU:32"
	why := must(s.api.QuestionExplain(t.Context(), query))(t).Explanation
	_, body := s.get(t, "/console/candidates?"+query, nil)
	if !strings.Contains(body, `hx-get="/console/candidates/funnel?resources=VCPU:32&amp;card=funnel" hx-trigger="load"`) {
		t.Errorf("the explorer does not load the funnel: %s", body)
	}
	status, body := s.get(t, "/console/candidates/funnel?"+query, nil)
	summary, _, _ := strings.Cut(why.Summary, " Nearest: ")
	wantTexts(t, body, summary, "all "+fmt.Sprint(why.Funnel[0].Trees), "5 trees lost here", "With 16 VCPU instead of 32", "Nearest trees", "host-00")
	if status != http.StatusOK || !strings.Contains(body, `href="/console/candidates?`+strings.ReplaceAll(html.EscapeString(why.Relaxations[0].Query), "+", "&#43;")+`"`) {
		t.Errorf("status = %d, no link to %s: %s", status, why.Relaxations[0].Query, body)
	}
}

// TestConsole_FunnelOfQueryThatFits_NoNearestTrees explains a query that one of two hosts satisfies.
func TestConsole_FunnelOfQueryThatFits_NoNearestTrees(t *testing.T) {
	t.Parallel()
	s := newSite(t, siteOptions{})
	ids := smallCloud(t, s, 2)
	query := "resources=VCPU:1&in_tree=" + ids["host-00"].String()
	status, body := s.get(t, "/console/candidates/funnel?"+query, nil)
	wantTexts(t, body, "1 host fits, with 2 candidates.", "What would help", "Without in_tree="+ids["host-00"].String())
	if strings.Contains(body, "Nearest") || strings.Contains(body, "lacks") || status != http.StatusOK {
		t.Errorf("status = %d, want no nearest trees: %s", status, textOf(body))
	}
	query = "resources=VCPU:16"
	_, body = s.get(t, "/console/candidates/funnel?"+query, nil)
	wantTexts(t, body, "fit, with")
	if strings.Contains(body, "Nearest") {
		t.Errorf("nearest trees: %s", textOf(body))
	}
}

// newYear is when the consumer of a test ends.
var newYear = time.Date(2035, 1, 1, 0, 0, 0, 0, time.UTC)

// TestConsole_FunnelOfFullHost_NamesConsumersThatMustGo asks for both devices of a host, of which a consumer holds one.
func TestConsole_FunnelOfFullHost_NamesConsumersThatMustGo(t *testing.T) {
	t.Parallel()
	s := newSite(t, siteOptions{})
	ids, consumer := smallCloud(t, s, 2), uuid.New()
	held := &client.Consumer{
		Allocations: map[uuid.UUID]client.Resources{ids["host-00_gpu"]: {"VGPU": 1}}, ProjectID: "project", UserID: "user", Type: "JOB",
	}
	if err := s.api.AllocationReplace(t.Context(), consumer, held, nil); err != nil {
		t.Fatal(err)
	}
	_, body := s.get(t, "/console/candidates/funnel?resources=VGPU:2&in_tree="+ids["host-00"].String(), nil)
	wantTexts(t, body, "Consumers that must go", "Without all of", "1 VGPU of host-00_gpu", consumer.String()[:8])
	if strings.Contains(body, "At the earliest") {
		t.Errorf("it never fits, because the consumer does not end: %s", textOf(body))
	}
	held.NewLease, held.Generation = &client.LeaseTerms{Until: newYear}, new(int64(1))
	if err := s.api.AllocationReplace(t.Context(), consumer, held, nil); err != nil {
		t.Fatal(err)
	}
	_, body = s.get(t, "/console/candidates/funnel?resources=VGPU:2&in_tree="+ids["host-00"].String(), nil)
	wantTexts(t, body, "At the earliest on 2035-01-01 at 00:00 UTC, when "+consumer.String()+" (1 VGPU on host-00_gpu) ends.")
	_, body = s.get(t, "/console/candidates/funnel?resources=VGPU:3&in_tree="+ids["host-00"].String(), nil)
	wantTexts(t, body, "would not fit even when empty")
	if strings.Contains(body, "must go") {
		t.Errorf("consumers of a host on which the query never fits: %s", textOf(body))
	}
}

func TestConsole_Explanations_ListAndShow(t *testing.T) {
	t.Parallel()
	log := &syncBuffer{}
	s := newSite(t, siteOptions{hosts: 12, log: log})
	all := must(s.api.ExplanationList(t.Context(), client.ExplanationFilter{}))(t)
	status, body := s.get(t, "/console/explanations", nil)
	if status != http.StatusOK || strings.Count(body, "ask again") == 0 || strings.Count(body, `<li>`) != len(all) {
		t.Errorf("status = %d, want %d rows: %s", status, len(all), textOf(body))
	}
	for _, one := range all {
		wantTexts(t, body, one.Question, one.Reason)
	}
	record := must(s.api.ExplanationShow(t.Context(), s.Request))(t)[0]
	status, body = s.get(t, "/console/explanations/"+s.Request, nil)
	summary, _, _ := strings.Cut(record.Explanation.Summary, " Nearest: ")
	wantTexts(t, body, summary, "Nothing fits: "+record.Explanation.Reason, "Ask again now", s.Request)
	if status != http.StatusOK {
		t.Errorf("status = %d", status)
	}
	for path, want := range map[string]int{
		"/explanations/req-" + uuid.NewString(): http.StatusNotFound, "/explanations/x": http.StatusNotFound,
		"/explanations?since=yesterday": http.StatusBadRequest, "/explanations?marker=x": http.StatusBadRequest, "/explanations?reason=no_tree&sort=-requests": http.StatusOK,
	} {
		if status, body := s.get(t, "/console"+path, nil); status != want {
			t.Errorf("%s: status = %d, want %d: %s", path, status, want, textOf(body))
		}
	}
	for _, path := range []string{"/explanations", "/explanations/" + s.Request} {
		if status, _ := s.get(t, "/console"+path, s.persona(t, "no role")); status != http.StatusForbidden {
			t.Errorf("%s: status of a caller without roles = %d", path, status)
		}
	}
	_, body = newSite(t, siteOptions{}).get(t, "/console/explanations", nil)
	wantTexts(t, body, "Nothing is recorded", "berth explain")
}
