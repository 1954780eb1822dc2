package bruteforce_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/berthd/berth/internal/test/bruteforce"
	"github.com/berthd/berth/server/explain"
)

// situation is a deployment and a query with its complete explanation in JSON.
type situation struct {
	Title, Deployment, Query, Explanation string
}

// situations is the number of situations in testdata/explain.yaml.
const situations = 6

func readSituations(t *testing.T) []situation {
	t.Helper()
	text, err := os.ReadFile("testdata/explain.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var read []situation
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(&read); err != nil {
		t.Fatal(err)
	}
	if len(read) != situations {
		t.Fatalf("%d situations, want %d", len(read), situations)
	}
	return read
}

// want returns the explanation of a situation.
func (s situation) want(t *testing.T) *explain.Explanation {
	t.Helper()
	var read explain.Explanation
	decoder := json.NewDecoder(strings.NewReader(s.Explanation))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&read); err != nil {
		t.Fatalf("%s: %v", s.Title, err)
	}
	return &read
}

func (s situation) parse(t *testing.T) *bruteforce.Deployment {
	t.Helper()
	deployment, err := bruteforce.ParseDeployment(s.Deployment)
	if err != nil {
		t.Fatalf("%s: %v", s.Title, err)
	}
	return deployment
}

// indented returns JSON with one member in each line.
func indented(t testing.TB, of any) string {
	t.Helper()
	text, err := json.MarshalIndent(of, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestCandidates_BruteforceExplanations_MatchExamples(t *testing.T) {
	t.Parallel()
	for _, each := range readSituations(t) {
		got := indented(t, each.parse(t).Explain(bruteforce.Expand(each.Query), bruteforce.Berth))
		if want := indented(t, each.want(t)); got != want {
			t.Errorf("%s: explanation\n%s\nnot\n%s", each.Title, got, want)
		}
	}
}

// explainPagePath is the page of the situations, explainPageHead its head, with ´ in place of the backquotes of Markdown.
const (
	explainPagePath = "../../../docs/contract/berth/explain-examples.md"
	explainPageHead = `# Worked examples of explanations

<!-- Generated from internal/test/bruteforce/testdata/explain.yaml by
go test ./internal/test/bruteforce -run Page -update -->

The rules are in [Explanations](explain.md). The explanations are complete except for ´made_at´ and ´took_ms´. White space
is not part of the contract.

The notation is that of [the worked examples of allocation candidates](../allocation-candidates-examples.md): ´{X}´ is the
UUID of aggregate X.
`
)

// TestCandidates_ExplanationsPage_MatchesData compares the page of explanations with the situations.
func TestCandidates_ExplanationsPage_MatchesData(t *testing.T) {
	t.Parallel()
	page := &strings.Builder{}
	page.WriteString(strings.ReplaceAll(explainPageHead, "´", "`"))
	for _, each := range readSituations(t) {
		fmt.Fprintf(page, "\n## %s\n\n```\n%s```\n\n`%s`\n\n```json\n%s```\n", each.Title, each.Deployment, each.Query, each.Explanation)
	}
	comparePageText(t, explainPagePath, page.String())
}
