package bruteforce_test

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/berthd/berth/internal/test/bruteforce"
)

// readSearchExamples parses the examples of berth 1.1. Examples with a body have the deployment of another section, and
// the result of another example.
func readSearchExamples(t *testing.T) []section {
	t.Helper()
	sections := readFile(t, searchFile, searchExamples, bruteforce.Berth)
	numbered := map[int]example{}
	for _, each := range sections {
		for _, example := range each.Examples {
			numbered[example.Number] = example
		}
	}
	for _, each := range sections {
		for i := range each.Examples {
			if example := &each.Examples[i]; example.As > 0 {
				same := numbered[example.As]
				example.Candidates, example.Summaries, example.Any, example.Refused = same.Candidates, same.Summaries, same.Any, same.Refused
			}
		}
	}
	return sections
}

// sectionOf returns the section whose deployment an example uses.
func sectionOf(t *testing.T, sections []section, own section, e example) section {
	t.Helper()
	if e.Use == "" {
		return own
	}
	for _, each := range sections {
		if strings.HasPrefix(each.Title, e.Use+".") {
			return each
		}
	}
	t.Fatalf("no section %s", e.Use)
	return section{}
}

// expandNames replaces the names of aggregates in braces in a text with other braces.
func expandNames(text string) string {
	return regexp.MustCompile(`\{([A-Z][A-Z0-9]+)\}`).ReplaceAllStringFunc(text, bruteforce.Expand)
}

// responses returns the correct responses of an example, with candidates as text. " or " separates alternatives.
func (e example) responses() [][]string {
	all := [][]string{{}}
	for _, entry := range e.Candidates {
		var extended [][]string
		for _, response := range all {
			if e.Any > 0 {
				extended = append(extended, response)
			}
			for alternative := range strings.SplitSeq(entry, " or ") {
				extended = append(extended, append(slices.Clone(response), alternative))
			}
		}
		all = extended
	}
	return slices.DeleteFunc(all, func(response []string) bool { return e.Any > 0 && len(response) != e.Any })
}

// listed returns all candidates in the example.
func (e example) listed() []string {
	var all []string
	for _, entry := range e.Candidates {
		all = append(all, strings.Split(entry, " or ")...)
	}
	return slices.Sorted(slices.Values(all))
}

// ask returns the answer of the brute force to the query or the body of an example.
func (e example) ask(t *testing.T, deployment *bruteforce.Deployment) *bruteforce.Response {
	t.Helper()
	if e.Body == "" {
		return deployment.Ask(bruteforce.Expand(e.Query), e.Minor)
	}
	query, refusal := bruteforce.QueryOf(expandNames(e.Body))
	if refusal != nil {
		return &bruteforce.Response{Refused: refusal.Detail, Code: refusal.Code}
	}
	return deployment.Ask(query, e.Minor)
}

func TestCandidates_BruteforceSearchExamples_MatchExpected(t *testing.T) {
	t.Parallel()
	sections := readSearchExamples(t)
	for _, section := range sections {
		for _, example := range section.Examples {
			if example.Params == "" && (example.Body == "" || example.Minor > 39) && example.Media == "" {
				used := sectionOf(t, sections, section, example)
				example.expectBruteforce(t, used.parse(t), used.Ordered)
			}
		}
	}
}

// expectBruteforce compares the brute force with an example.
func (e example) expectBruteforce(t *testing.T, deployment *bruteforce.Deployment, isOrdered bool) {
	t.Helper()
	answer := e.ask(t, deployment)
	if e.Refused != nil || answer.Refused != "" {
		isRight := e.Refused != nil && answer.Code == e.Refused.Code && strings.HasPrefix(answer.Refused, expandNames(e.Refused.Detail))
		if e.Minor > 39 && !isRight {
			t.Errorf("%d: %s %q\nnot %+v", e.Number, answer.Code, answer.Refused, e.Refused)
		}
		return
	}
	correct := map[string]bruteforce.Candidate{}
	for _, candidate := range answer.Candidates {
		correct[candidate.String()] = candidate
	}
	if found := slices.Sorted(maps.Keys(correct)); answer.Limit == 0 && !slices.Equal(found, e.listed()) {
		t.Fatalf("%d: candidates\n  %s\nnot\n  %s", e.Number, strings.Join(found, "\n  "), strings.Join(e.listed(), "\n  "))
	}
	for _, response := range e.responses() {
		var shown []bruteforce.Candidate
		for _, text := range response {
			shown = append(shown, correct[text])
		}
		if lines := answer.Differences(&bruteforce.ServerResponse{Candidates: shown, Summaries: answer.Summaries(shown)}); lines != nil {
			t.Errorf("%d: %s", e.Number, strings.Join(lines, "\n"))
		}
		if summarized := slices.Sorted(maps.Keys(answer.Summaries(shown))); e.Any == 0 && !slices.Equal(summarized, e.Summaries) {
			t.Errorf("%d: summaries of %s, not %s", e.Number, summarized, e.Summaries)
		}
		slices.Reverse(shown)
		reversed := &bruteforce.ServerResponse{Candidates: shown, Summaries: answer.Summaries(shown)}
		if isOrdered && len(shown) > 1 && answer.Differences(reversed) == nil {
			t.Errorf("%d: the brute force accepts the reversed order", e.Number)
		}
	}
}

// TestCandidates_BruteforceSearchExamples_SameWithBody compares the answer to each query with that to its body.
func TestCandidates_BruteforceSearchExamples_SameWithBody(t *testing.T) {
	t.Parallel()
	for _, section := range readSearchExamples(t) {
		for _, example := range section.Examples {
			body, ok := bodyOf(bruteforce.Expand(example.Query))
			if example.Body != "" || example.Minor < bruteforce.Berth || !ok {
				continue
			}
			deployment := section.parse(t)
			query, refusal := bruteforce.QueryOf(body)
			if refusal != nil {
				t.Fatalf("%d: %s: %+v", example.Number, body, refusal)
			}
			got, want := deployment.Ask(query, example.Minor), deployment.Ask(bruteforce.Expand(example.Query), example.Minor)
			if listed(got.Candidates) != listed(want.Candidates) || got.Refused != want.Refused {
				t.Errorf("%d: %s:\n%s %s\nnot\n%s %s", example.Number, query, got.Refused, listed(got.Candidates), want.Refused,
					listed(want.Candidates))
			}
		}
	}
}
