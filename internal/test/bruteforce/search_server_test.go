package bruteforce_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/berthd/berth/internal/test/bruteforce"
	"github.com/berthd/berth/internal/test/counts"
)

// TestCandidates_SearchExamples_MatchServer sends each example of berth 1.1 to the servers, with GET and with POST.
func TestCandidates_SearchExamples_MatchServer(t *testing.T) {
	t.Parallel()
	sections := readSearchExamples(t)
	for _, section := range sections {
		t.Run(section.Title, func(t *testing.T) {
			t.Parallel()
			server := setup(t)
			for _, example := range section.Examples {
				t.Run(fmt.Sprint(example.Number), func(t *testing.T) {
					deployment := sectionOf(t, sections, section, example).parse(t)
					if err := server.load(deployment); err != nil {
						t.Fatal(err)
					}
					for at, setting := range settings {
						if setting.isCutting() {
							continue
						}
						if example.Body != "" {
							example.expectResponse(t, deployment, server.post(at, example))
							continue
						}
						q := question{query: example.Query, minor: example.Minor, setting: at}
						example.expectResponse(t, deployment, server.send(q))
						if q.hasBody = true; example.Minor == bruteforce.Berth {
							example.expectResponse(t, deployment, server.send(q))
						}
					}
				})
			}
		})
	}
}

// post sends an example with a body.
func (b *bundle) post(setting int, e example) *httptest.ResponseRecorder {
	request := httptest.NewRequestWithContext(b.ctx, http.MethodPost, "/allocation_candidates", strings.NewReader(expandNames(e.Body)))
	request.URL.RawQuery = e.Params
	request.Header.Set("Content-Type", "application/json")
	if e.Media != "" {
		request.Header.Set("Content-Type", e.Media)
	}
	return b.do(setting, request, versionHeader(e.Minor))
}

// expectResponse compares a response with an example and with the brute force.
func (e example) expectResponse(t *testing.T, deployment *bruteforce.Deployment, response *httptest.ResponseRecorder) {
	t.Helper()
	if e.Refused != nil {
		e.expectRefusal(t, response)
		return
	}
	if response.Code != http.StatusOK {
		t.Fatalf("status = %d, want 200: %s", response.Code, response.Body)
	}
	shown, err := deployment.Decode(response.Body.Bytes(), e.Minor)
	if err != nil {
		t.Fatalf("%v in %s", err, response.Body)
	}
	answer := e.ask(t, deployment)
	for _, line := range answer.Differences(shown) {
		t.Error(line)
	}
	var texts []string
	for _, candidate := range shown.Candidates {
		texts = append(texts, candidate.String())
	}
	slices.Sort(texts)
	isOne := slices.ContainsFunc(e.responses(), func(candidates []string) bool {
		return slices.Equal(texts, slices.Sorted(slices.Values(candidates)))
	})
	if !isOne {
		t.Errorf("candidates\n  %s\nnot\n  %s", strings.Join(texts, "\n  "), strings.Join(e.Candidates, "\n  "))
	}
}

func (e example) expectRefusal(t *testing.T, response *httptest.ResponseRecorder) {
	t.Helper()
	status := e.Refused.Status
	if status == 0 {
		status = http.StatusBadRequest
	}
	if response.Code != status || response.Header().Get("Allow") != e.Refused.Allow {
		t.Fatalf("status = %d, Allow = %q, want %d, %q: %s", response.Code, response.Header().Get("Allow"), status, e.Refused.Allow,
			response.Body)
	}
	if e.Refused.Detail == "" {
		return
	}
	code, detail := decodeFailure(t, response.Body.Bytes())
	if want := expandNames(e.Refused.Detail); code != e.Refused.Code || bruteforce.Phrase(detail) != want {
		t.Errorf("error = %s %s, want %s %s", code, bruteforce.Phrase(detail), e.Refused.Code, want)
	}
}

func TestCandidates_WideSplit_MatchesBruteforce(t *testing.T) {
	t.Parallel()
	server, wide := setup(t), world{wideTree(t)}
	if err := server.load(wide.Deployment); err != nil {
		t.Fatal(err)
	}
	for query := range wideSplits {
		for at := range 2 {
			q := question{query: query, minor: bruteforce.Berth, setting: at}
			if _, wrong := server.compare(wide, q); wrong != nil {
				t.Errorf("%#v\n%s", q, strings.Join(wrong, "\n"))
			}
		}
	}
}

// TestCandidates_RandomSearchQueries_MatchBruteforce compares the servers with the brute force at berth 1.1.
func TestCandidates_RandomSearchQueries_MatchBruteforce(t *testing.T) {
	t.Parallel()
	shown := newTally(searchFeatures, 40)
	t.Run("parts", func(t *testing.T) {
		for _, part := range []string{"first", "second"} {
			t.Run(part, func(t *testing.T) {
				t.Parallel()
				server := setup(t)
				rapid.Check(t, func(t *rapid.T) { server.try(t, trials(searchMinors).Draw(t, "trial"), shown) })
			})
		}
	})
	if shown.cases < enoughSearch {
		t.Logf("skipping the check of the distribution: %d cases are too few", shown.cases)
		return
	}
	shown.check(t)
}

// TestCandidates_RandomSplits_AreValidClaims claims each candidate of random queries with can_split, and deletes the
// claim again.
func TestCandidates_RandomSplits_AreValidClaims(t *testing.T) {
	t.Parallel()
	server := setup(t)
	claims := 0
	rapid.Check(t, func(t *rapid.T) {
		drawn := trials(searchMinors).Draw(t, "trial")
		if err := server.load(drawn.world.Deployment); err != nil {
			t.Fatal(err)
		}
		for _, q := range drawn.questions {
			q.query = withoutParams(q.query, "limit", "limit_per_tree")
			if answer := q.answer(drawn.world); strings.Contains(q.query, "can_split") && answer.Refused == "" {
				claims += server.claimAll(t, drawn.world, q)
			}
		}
	})
	if claims == 0 && counts.All() {
		t.Error("no candidate was claimed")
	}
}

// claimAll claims each candidate of a query for a new consumer, and returns their number.
func (b *bundle) claimAll(t *rapid.T, w world, q question) int {
	response := b.send(q)
	var read struct {
		Requests []struct {
			Allocations json.RawMessage `json:"allocations"`
			Mappings    json.RawMessage `json:"mappings"`
		} `json:"allocation_requests"`
	}
	if err := json.Unmarshal(response.Body.Bytes(), &read); err != nil || response.Code != http.StatusOK {
		t.Fatalf("%#v\n%#v\nstatus = %d, want 200: %s", w, q, response.Code, response.Body)
	}
	for i, candidate := range read.Requests {
		target := fmt.Sprintf("/allocations/00000000-0000-4000-9000-%012d", i)
		body := fmt.Sprintf(`{"allocations": %s, "mappings": %s, "consumer_generation": null, "project_id": "project", "user_id": "user", `+
			`"consumer_type": "INSTANCE"}`, candidate.Allocations, candidate.Mappings)
		for _, step := range []struct{ method, body string }{{http.MethodPut, body}, {http.MethodDelete, ""}} {
			if claimed := b.request(q.setting, step.method, target, "placement 1.39", step.body); claimed.Code != http.StatusNoContent {
				t.Fatalf("%#v\n%#v\n%s of %s: status = %d, want 204: %s", w, q, step.method, candidate.Allocations, claimed.Code, claimed.Body)
			}
		}
	}
	return len(read.Requests)
}
