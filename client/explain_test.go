package client

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/internal/test/servertest"
	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/api/placement"
	"github.com/berthd/berth/server/search/explainlog"

	api "github.com/berthd/berth/gen/client"
)

// serveRecording is serve with a server that records empty results.
func serveRecording(t *testing.T) *httptest.Server {
	t.Helper()
	var log *explainlog.Log
	started := servertest.New(t, servertest.Options{Server: func(options *server.Options) {
		log = explainlog.New(explainlog.Options{
			Settings: explainlog.Settings{Keep: time.Hour, Rows: 1000, Timeout: 10 * time.Second}, Store: options.Store,
			Log: slog.New(slog.DiscardHandler), Explain: placement.StoredExplainer(options.Store, placement.CandidateOptions{}, 10*time.Second),
		})
		options.Explanations = log
	}})
	log.Start()
	t.Cleanup(func() { log.Close(context.Background()) })
	return started.Listen(t)
}

// smallHost creates a provider with 4 VCPU.
func smallHost(t *testing.T, client *Client) {
	t.Helper()
	must(client.ProviderCreate(t.Context(), "host", id(1), uuid.Nil))(t)
	if _, _, err := client.InventoryReplace(t.Context(), id(1), 0, Inventories{"VCPU": {Total: 4}}); err != nil {
		t.Fatal(err)
	}
}

func TestClient_CandidateExplain_ReturnsCandidatesOrExplanation(t *testing.T) {
	t.Parallel()
	wire := &faultyTransport{}
	client := newClient(t, WithTransport(wire))
	smallHost(t, client)
	wire.Requests()
	found := must(client.CandidateExplain(t.Context(), CandidateQuery{Resources: "VCPU:2"}, ExplainEmpty))(t)
	if len(found.AllocationRequests) != 1 || len(found.ProviderSummaries) != 1 || found.Explanation != nil {
		t.Errorf("found = %+v, want a candidate without an explanation", found)
	}
	version := wire.Headers()[0].Get(versionHeader)
	if got := wire.Requests(); !slices.Equal(got, []string{"GET /allocation_candidates?resources=VCPU%3A2&explain=empty"}) || version != "placement 1.39, berth 1.2" {
		t.Errorf("requests = %q with %q", got, version)
	}
	always := must(client.CandidateExplain(t.Context(), CandidateQuery{Resources: "VCPU:2"}, ExplainAlways))(t)
	if len(always.AllocationRequests) != 1 || always.Explanation == nil || always.Explanation.Reason != "fits" {
		t.Errorf("explanation = %+v, want fits", always.Explanation)
	}
	why := must(client.CandidateExplain(t.Context(), CandidateQuery{Resources: "VCPU:8"}, ExplainEmpty))(t).Explanation
	if why == nil || why.Kind != "candidates" || len(why.Parts) != 1 || len(why.Nearest) != 1 || why.Nearest[0].Tree != (api.ExplanationProvider{UUID: id(1), Name: "host"}) {
		t.Errorf("explanation = %+v", why)
	}
}

func TestClient_LongExplainedQuery_SentAsBody(t *testing.T) {
	t.Parallel()
	wire := &faultyTransport{Before: func(request *http.Request) (*http.Response, error) {
		return answer(request, http.StatusOK, `{"allocation_requests":[],"provider_summaries":{},"explanation":{"kind":"candidates","reason":"no_tree","summary":"S."}}`,
			versionHeader+": placement 1.39", versionHeader+": berth 1.2"), nil
	}}
	client := newClientOf(t, httptest.NewServer(nil), WithTransport(wire))
	found := must(client.CandidateExplain(t.Context(), CandidateQuery{Resources: "VCPU:8", MemberOf: longMemberOf(300)}, ExplainEmpty))(t)
	if found.Explanation == nil || found.Explanation.Summary != "S." {
		t.Errorf("explanation = %+v", found.Explanation)
	}
	version, body := wire.Headers()[0].Get(versionHeader), wire.Bodies()[0]
	if got := wire.Requests(); !slices.Equal(got, []string{"POST /allocation_candidates"}) || version != "placement 1.39, berth 1.2" || !strings.HasSuffix(body, `,"explain":"empty"}`) {
		t.Errorf("requests = %q with %q, body = %.50q", got, version, body)
	}
}

func TestClient_QuestionExplain_SendsQueryString(t *testing.T) {
	t.Parallel()
	wire := &faultyTransport{}
	client := newClient(t, WithTransport(wire))
	smallHost(t, client)
	wire.Requests()
	found := must(client.QuestionExplain(t.Context(), "resources=VCPU:8&explain=empty&&limit=10&required=%21HW_NUMA_ROOT"))(t)
	if got := wire.Requests(); !slices.Equal(got, []string{"GET /allocation_candidates?explain=always&resources=VCPU%3A8&limit=10&required=%21HW_NUMA_ROOT"}) {
		t.Errorf("requests = %q", got)
	}
	text, err := json.Marshal(found)
	if err != nil || !strings.HasPrefix(string(text), `{"allocation_requests":[],"provider_summaries":{},"explanation":{"kind":"candidates","reason":"`) ||
		!strings.Contains(string(text), `"took_ms":`) {
		t.Errorf("JSON = %s, %v", text, err)
	}
	if _, err := client.QuestionExplain(t.Context(), "resources=%zz"); err == nil || len(wire.Requests()) != 0 {
		t.Errorf("error = %v, want one without a request", err)
	}
	_, err = client.QuestionExplain(t.Context(), "resources=VCPU:8&color=red")
	if failed := new(Error); !errors.As(err, &failed) || failed.Status != http.StatusBadRequest {
		t.Errorf("error = %v, want a 400", err)
	}
}

func TestClient_QuestionList_SendsQueryStringWithSelectedExtensions(t *testing.T) {
	t.Parallel()
	wire := &faultyTransport{}
	client := newClient(t, WithTransport(wire))
	smallHost(t, client)
	wire.Requests()
	found := must(client.QuestionList(WithExtensions(t.Context(), "1.4"), "limit=10&&explain=always&resources=VCPU:2&order=id"))(t)
	version := wire.Headers()[0].Get(versionHeader)
	if got := wire.Requests(); !slices.Equal(got, []string{"GET /allocation_candidates?limit=10&resources=VCPU%3A2&order=id"}) || len(found.AllocationRequests) != 1 {
		t.Errorf("requests = %q, found = %+v", got, found)
	}
	if version != "placement 1.39, berth 1.4" {
		t.Errorf("version = %q", version)
	}
	if _, err := client.QuestionList(t.Context(), "resources=%zz"); err == nil || len(wire.Requests()) != 0 {
		t.Errorf("error = %v, want one without a request", err)
	}
}

func TestClient_ExplanationShowAndList_ReturnRecordedRequests(t *testing.T) {
	t.Parallel()
	wire := &faultyTransport{}
	client := newClientOf(t, serveRecording(t), WithTransport(wire))
	smallHost(t, client)
	global := "req-" + uuid.NewString()
	for _, amount := range []string{"VCPU:8", "VCPU:9", "VCPU:9"} {
		must(client.CandidateList(WithGlobalRequestID(t.Context(), global), CandidateQuery{Resources: amount}))(t)
	}
	var shown []RecordedExplanation
	for deadline := time.Now().Add(20 * time.Second); len(shown) < 3 && time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		var err error
		if shown, err = client.ExplanationShow(t.Context(), global); err != nil && !errors.Is(err, ErrNotFound) {
			t.Fatal(err)
		}
	}
	if len(shown) != 3 || shown[0].Question != "resources=VCPU:8" || *shown[0].GlobalRequestID != global || shown[0].Berth != nil ||
		shown[0].API != "placement" || shown[0].Explanation == nil || shown[2].SameQuestion.Requests != 2 {
		t.Fatalf("shown = %+v", shown)
	}
	if one := must(client.ExplanationShow(t.Context(), shown[0].RequestID))(t); len(one) != 1 || one[0].RequestID != shown[0].RequestID {
		t.Errorf("shown = %+v, want the request", one)
	}
	listed := must(client.ExplanationList(t.Context(), ExplanationFilter{Kind: "candidates", Since: "1h", Sort: "-requests"}))(t)
	if len(listed) != 2 || listed[0].Question != "resources=VCPU:9" || listed[0].Requests != 2 || len(listed[0].RequestIDs) != 2 {
		t.Errorf("listed = %+v, want the more frequent query first", listed)
	}
	if page, next, err := client.ExplanationPage(t.Context(), ExplanationFilter{}, 1, ""); err != nil || len(page) != 1 {
		t.Errorf("page = %+v, next = %q, %v", page, next, err)
	}
	if one := must(client.ExplanationList(t.Context(), ExplanationFilter{Limit: 1}))(t); len(one) != 1 {
		t.Errorf("listed = %+v, want 1", one)
	}
	_, err := client.ExplanationList(t.Context(), ExplanationFilter{Reason: "luck"})
	if failed := new(Error); !errors.As(err, &failed) || failed.Status != http.StatusBadRequest {
		t.Errorf("error = %v, want a 400", err)
	}
	_, err = client.ExplanationShow(t.Context(), "req-"+uuid.NewString())
	wantErrors(t, err, ErrNotFound)
}

func TestClient_ExplanationListPages_FollowsLinks(t *testing.T) {
	t.Parallel()
	wire := &faultyTransport{Before: func(request *http.Request) (*http.Response, error) {
		body := `{"explanations":[{"id":1},{"id":2}],"explanations_links":[{"rel":"next","href":"/placement/explanations?limit=2&marker=a%2Bb"}]}`
		if request.URL.Query().Get("marker") != "" {
			body = `{"explanations":[{"id":3}]}`
		}
		return answer(request, http.StatusOK, body, versionHeader+": placement 1.39", versionHeader+": berth 1.2"), nil
	}}
	client := newClientOf(t, httptest.NewServer(nil), WithTransport(wire))
	for limit, want := range map[int][]string{
		0: {"GET /explanations?limit=1000", "GET /explanations?limit=1000&marker=a%2Bb"},
		2: {"GET /explanations?limit=2"},
		3: {"GET /explanations?limit=3", "GET /explanations?limit=1&marker=a%2Bb"},
	} {
		listed, err := client.ExplanationList(t.Context(), ExplanationFilter{Limit: limit})
		if got := wire.Requests(); err != nil || !slices.Equal(got, want) || limit != 2 && len(listed) != 3 {
			t.Errorf("limit %d: %d elements, requests = %q, want %q; %v", limit, len(listed), got, want, err)
		}
	}
}

func TestClient_ExplanationsUnsupported_ReturnErrExtensions(t *testing.T) {
	t.Parallel()
	client := newClient(t, WithTransport(withoutExtensions()))
	_, candidates := client.CandidateExplain(t.Context(), CandidateQuery{Resources: "VCPU:1"}, ExplainEmpty)
	_, question := client.QuestionExplain(t.Context(), "resources=VCPU:1")
	_, show := client.ExplanationShow(t.Context(), "req-"+uuid.NewString())
	_, list := client.ExplanationList(t.Context(), ExplanationFilter{})
	for name, err := range map[string]error{"candidates": candidates, "question": question, "show": show, "list": list} {
		if !errors.Is(err, ErrExtensions) {
			t.Errorf("%s: %v, want ErrExtensions", name, err)
		}
	}
}

// explainedRefusal adds an explanation to a 409.
func explainedRefusal(request *http.Request, got *http.Response) (*http.Response, error) {
	if got.StatusCode != http.StatusConflict {
		return got, nil
	}
	return answer(request, http.StatusConflict, `{"errors":[{"status":409,"title":"Conflict","code":"placement.undefined_code",
		"detail":"There was a conflict.\n\n Unable to allocate inventory: exceeds","explanation":{"kind":"claim","reason":"capacity","summary":"Full.","later":1}}]}`,
		versionHeader+": placement 1.39", versionHeader+": berth 1.2"), nil
}

func TestClient_ClaimExplained_ReturnsExplanationOfRefusal(t *testing.T) {
	t.Parallel()
	wire := &faultyTransport{After: explainedRefusal}
	client := newClient(t, WithTransport(wire))
	smallHost(t, client)
	wanted := ClaimRequest{Allocations: map[uuid.UUID]Resources{id(1): {"VCPU": 8}}, ProjectID: "p", UserID: "u", Type: "INSTANCE"}
	wire.Requests()
	claimed, why, err := client.ClaimExplained(t.Context(), id(50), wanted)
	if err != nil || claimed || why == nil || why.Kind != "claim" || why.Summary != "Full." {
		t.Errorf("claimed = %t, %+v, %v; want an explanation", claimed, why, err)
	}
	if text, err := json.Marshal(why); err != nil || string(text) != `{"kind":"claim","reason":"capacity","summary":"Full.","later":1}` {
		t.Errorf("JSON = %s, %v", text, err)
	}
	var versions []string
	for _, head := range wire.Headers() {
		versions = append(versions, head.Get(versionHeader))
	}
	if want := []string{"placement 1.39", "placement 1.39, berth 1.2"}; !slices.Equal(versions, want) {
		t.Errorf("versions = %q, want %q", versions, want)
	}
	wanted.Allocations[id(1)] = Resources{"VCPU": 1}
	if claimed, why, err := client.ClaimExplained(t.Context(), id(50), wanted); err != nil || !claimed || why != nil {
		t.Errorf("claimed = %t, %+v, %v; want a claim", claimed, why, err)
	}
	// A consumer without a type is written with a microversion that has no extensions.
	wanted.Type = NoType
	wire.Requests()
	if claimed, _, err := client.ClaimExplained(t.Context(), id(51), wanted); err != nil || !claimed {
		t.Errorf("claimed = %t, %v; want a claim", claimed, err)
	}
	if heads := wire.Headers(); heads[len(heads)-1].Get(versionHeader) != "placement 1.37" {
		t.Errorf("version = %q", heads[len(heads)-1].Get(versionHeader))
	}
	if claimed, err := client.Claim(t.Context(), id(52), ClaimRequest{Allocations: map[uuid.UUID]Resources{id(1): {"VCPU": 8}}, ProjectID: "p", UserID: "u", Type: "INSTANCE"}); err != nil || claimed {
		t.Errorf("claimed = %t, %v; want a rejected claim", claimed, err)
	}
}
