package bruteforce_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/berthd/berth/internal/test/bruteforce"
	"github.com/berthd/berth/server/search/explain"
)

// explainVersion selects explanations.
const explainVersion = "placement 1.39, berth 1.2"

// explainVersionOf returns the header of a query or body: berth 1.3 if it has a parameter of that version.
func explainVersionOf(asked string) string {
	if strings.Contains(asked, "not_in_tree") {
		return "placement 1.39, berth 1.3"
	}
	return explainVersion
}

// explained sends a query with explain=always, and returns the explanation of a 200.
func (b *bundle) explained(w *bruteforce.Deployment, q question) (*explain.Explanation, *httptest.ResponseRecorder, error) {
	var response *httptest.ResponseRecorder
	if body := q.body(); body != "" {
		body = `{"explain": "always", ` + strings.TrimPrefix(body, "{")
		response = b.request(q.setting, http.MethodPost, "/allocation_candidates", explainVersionOf(body), body)
	} else {
		query := strings.ReplaceAll(bruteforce.Expand(q.query), " ", "+") + "&explain=always"
		response = b.request(q.setting, http.MethodGet, "/allocation_candidates?"+query, explainVersionOf(query), "")
	}
	if response.Code != http.StatusOK {
		return nil, response, nil
	}
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal(response.Body.Bytes(), &members); err != nil {
		return nil, response, err
	}
	shown, err := bruteforce.DecodeExplanation(members["explanation"])
	return shown, response, err
}

// wrongExplained returns the mistakes in the explanation of a query by the server.
func (b *bundle) wrongExplained(w world, q question) []string {
	shown, response, err := b.explained(w.Deployment, q)
	expected := q.answer(w)
	switch {
	case err != nil:
		return []string{fmt.Sprintf("%v in %s", err, response.Body)}
	case response.Code == http.StatusBadRequest && expected.Refused != "":
		return expected.DifferentError(response.Body.Bytes())
	case shown == nil || expected.Refused != "":
		return []string{fmt.Sprintf("%d: %s", response.Code, response.Body)}
	}
	query := q.asked()
	if lines := w.ExplanationDifferences(query, q.minor, shown); lines != nil {
		return lines
	}
	if lines := w.ExplanationViolations(query, q.minor, shown); lines != nil {
		return lines
	}
	return b.wrongRelaxations(q, shown)
}

// asked returns the query string of a question, or the one that is equivalent to its body.
func (q question) asked() string {
	query := bruteforce.Expand(q.query)
	if body := q.body(); body != "" {
		query, _ = bruteforce.QueryOf(body)
	}
	return query
}

// wrongRelaxations sends the query of each relaxation.
func (b *bundle) wrongRelaxations(q question, shown *explain.Explanation) []string {
	var lines []string
	for _, each := range shown.Relaxations {
		response := b.request(q.setting, http.MethodGet, "/allocation_candidates?"+each.Query+"&limit=100", explainVersionOf(each.Query), "")
		var read struct {
			Requests []json.RawMessage `json:"allocation_requests"`
		}
		err := json.Unmarshal(response.Body.Bytes(), &read)
		if err != nil || response.Code != http.StatusOK || len(read.Requests) != each.Candidates {
			lines = append(lines, fmt.Sprintf("%s: %d with %d candidates, not %d", each.Query, response.Code, len(read.Requests),
				each.Candidates))
		}
	}
	return lines
}

// TestCandidates_ExplanationExamples_MatchServer sends the query of each situation, with GET and with POST.
func TestCandidates_ExplanationExamples_MatchServer(t *testing.T) {
	t.Parallel()
	server := setup(t)
	for _, each := range readSituations(t) {
		t.Run(each.Title, func(t *testing.T) {
			deployment := each.parse(t)
			if err := server.load(deployment); err != nil {
				t.Fatal(err)
			}
			for _, hasBody := range []bool{false, true} {
				q := question{query: each.Query, minor: bruteforce.Berth, hasBody: hasBody}
				shown, response, err := server.explained(deployment, q)
				if err != nil || shown == nil {
					t.Fatalf("%d %s: %v", response.Code, response.Body, err)
				}
				if got, want := indented(t, shown), indented(t, each.want(t)); got != want {
					t.Errorf("explanation\n%s\nnot\n%s", got, want)
				}
			}
		})
	}
}

// TestCandidates_RandomExplanations_MatchBruteforce compares the explanations of a server with those of the brute force.
func TestCandidates_RandomExplanations_MatchBruteforce(t *testing.T) {
	t.Parallel()
	server, shown := setup(t), &explainTally{seen: map[string]int{}}
	rapid.Check(t, func(t *rapid.T) {
		w := worlds.Draw(t, "deployment")
		if err := server.load(w.Deployment); err != nil {
			t.Fatalf("%#v\n%v", w, err)
		}
		for range questionsPerDeployment {
			q := explainable(w, searchMinors).Draw(t, "question")
			if explained := w.Explain(q.asked(), q.minor); explained != nil {
				shown.count(explained)
			}
			if wrong := server.wrongExplained(w, q); wrong != nil {
				server.failExplained(t, w, q, wrong)
			}
		}
	})
	t.Logf("%d explanations", shown.cases)
}

// failExplained fails with the smallest case in which the explanation of the server is wrong.
func (b *bundle) failExplained(t *rapid.T, w world, q question, wrong []string) {
	smaller, asked := reduce(w, q, func(w world, q question) bool {
		return b.load(w.Deployment) == nil && b.wrongExplained(w, q) != nil
	})
	if err := b.load(smaller.Deployment); err != nil {
		t.Fatalf("%#v\n%v", smaller, err)
	}
	if reduced := b.wrongExplained(smaller, asked); reduced != nil {
		w, q, wrong = smaller, asked, reduced
	}
	t.Fatalf("%#v\n%#v\n%s", w, q, strings.Join(wrong, "\n"))
}

// TestCandidates_ExplainedRepeatedRootTrait_DroppedOnce has a trait twice in root_required: one relaxation drops both.
func TestCandidates_ExplainedRepeatedRootTrait_DroppedOnce(t *testing.T) {
	t.Parallel()
	server := setup(t)
	deployment, err := bruteforce.ParseDeployment("host  VCPU=4  traits:CUSTOM_OLD\nother  traits:CUSTOM_SSD")
	if err == nil {
		err = server.load(deployment)
	}
	if err != nil {
		t.Fatal(err)
	}
	for repeated, value := range map[string]string{"CUSTOM_SSD,CUSTOM_SSD": "CUSTOM_SSD", "!CUSTOM_OLD,!CUSTOM_OLD": "!CUSTOM_OLD"} {
		for _, hasBody := range []bool{false, true} {
			q := question{query: "resources=VCPU:1&root_required=" + repeated, minor: bruteforce.Berth, hasBody: hasBody}
			if wrong := server.wrongExplained(world{Deployment: deployment}, q); wrong != nil {
				t.Error(q.query, wrong)
			}
			shown, response, err := server.explained(deployment, q)
			if err != nil || shown == nil {
				t.Fatalf("%d %s: %v", response.Code, response.Body, err)
			}
			if len(shown.Relaxations) != 1 || shown.Relaxations[0].Value != "root_required="+value || shown.Relaxations[0].Candidates != 1 {
				t.Errorf("%s: relaxations %+v", q.query, shown.Relaxations)
			}
		}
	}
}
