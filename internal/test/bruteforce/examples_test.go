package bruteforce_test

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/berthd/berth/internal/test/bruteforce"
)

// section is a deployment with its examples.
type section struct {
	Title, Note string
	Deployment  string
	// Ordered reports whether candidates are in the order of the response.
	Ordered  bool
	Examples []example
}

// example is a query with all its candidates.
type example struct {
	Number     int
	Query      string
	Minor      int
	Candidates []string
	// Summaries are names of providers.
	Summaries []string
	Refused   *refusal
	// Any is the number of candidates of a response, if it has any of those listed; 0: all.
	Any int
	// Use is the letter of the section with the deployment, Body the body of a POST and As the number of the example
	// with the same response.
	Use, Body string
	As        int
	// Params are in the URL of a POST. Media is its content type, by default JSON.
	Params, Media string
	// Why explains the result, Differs what OpenStack Placement returns instead.
	Why, Differs string
}

// refusal is an error response. The default status is 400.
type refusal struct {
	Status              int
	Code, Detail, Allow string
}

// files maps the files of examples to their number of examples.
var files = map[string]int{"examples.yaml": 95, "further.yaml": 28}

// searchFile has the examples of berth 1.1.
const (
	searchFile     = "search.yaml"
	searchExamples = 127
)

// readExamples parses the sections of all files.
func readExamples(t *testing.T) []section {
	t.Helper()
	var all []section
	for _, name := range slices.Sorted(maps.Keys(files)) {
		all = append(all, readFile(t, name, files[name], 39)...)
	}
	return all
}

// readFile parses a file with a number of examples, whose default version is minor.
func readFile(t *testing.T, name string, count, minor int) []section {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var sections []section
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(&sections); err != nil {
		t.Fatal(err)
	}
	number := 0
	for _, each := range sections {
		for i := range each.Examples {
			number++
			if each.Examples[i].Number != number {
				t.Fatalf("%s: example %d follows %d", name, each.Examples[i].Number, number-1)
			}
			if each.Examples[i].Minor == 0 {
				each.Examples[i].Minor = minor
			}
		}
	}
	if number != count {
		t.Fatalf("%s: %d examples, not %d", name, number, count)
	}
	return sections
}

func (s section) parse(t *testing.T) *bruteforce.Deployment {
	t.Helper()
	deployment, err := bruteforce.ParseDeployment(s.Deployment)
	if err != nil {
		t.Fatalf("%s: %v", s.Title, err)
	}
	return deployment
}

// expect compares candidates and summaries with those of the example, in any order.
func (e example) expect(t *testing.T, candidates []bruteforce.Candidate, summaries map[string]bruteforce.Summary) {
	t.Helper()
	var found []string
	for _, candidate := range candidates {
		found = append(found, candidate.String())
	}
	sort := func(list []string) []string { return slices.Sorted(slices.Values(list)) }
	if wanted := sort(e.Candidates); !slices.Equal(sort(found), wanted) {
		t.Errorf("%s at 1.%d: candidates\n  %s\nnot\n  %s", e.Query, e.Minor,
			strings.Join(sort(found), "\n  "), strings.Join(wanted, "\n  "))
	}
	if shown := slices.Sorted(maps.Keys(summaries)); !slices.Equal(shown, sort(e.Summaries)) {
		t.Errorf("%s at 1.%d: summaries of %s, not %s", e.Query, e.Minor, shown, e.Summaries)
	}
}

func TestCandidates_BruteforceExamples_MatchExpected(t *testing.T) {
	t.Parallel()
	for _, section := range readExamples(t) {
		deployment := section.parse(t)
		for _, example := range section.Examples {
			answer := deployment.Ask(bruteforce.Expand(example.Query), example.Minor)
			if isRefused := answer.Refused != ""; isRefused != (example.Refused != nil) {
				t.Errorf("%s: refused: %t (%s)", example.Query, isRefused, answer.Refused)
			}
			example.expect(t, answer.Candidates, answer.Summaries(answer.Candidates))
		}
	}
}

func TestCandidates_BruteforceExamples_MatchServer(t *testing.T) {
	t.Parallel()
	for _, section := range readExamples(t) {
		t.Run(section.Title, func(t *testing.T) {
			t.Parallel()
			server, deployment := setup(t), section.parse(t)
			numberByUUID(deployment)
			if err := server.load(deployment); err != nil {
				t.Fatal(err)
			}
			for _, example := range section.Examples {
				t.Run(fmt.Sprint(example.Number), func(t *testing.T) {
					for at, setting := range settings {
						if !setting.isCutting() {
							example.try(t, server, deployment, at)
						}
					}
				})
			}
		})
	}
}

// try sends the query of an example to the server of a setting. It also compares each status 200
// with the brute force, because the examples do not contain usages, traits and parents.
func (e example) try(t *testing.T, server *bundle, deployment *bruteforce.Deployment, at int) {
	t.Helper()
	answer := server.get(at, e.Query, e.Minor)
	if e.Refused != nil {
		code, detail := "", ""
		if answer.Code == http.StatusBadRequest {
			code, detail = decodeFailure(t, answer.Body.Bytes())
		}
		// Below 1.23 errors have no codes.
		if answer.Code != http.StatusBadRequest || e.Minor >= 23 && code != e.Refused.Code || !strings.Contains(detail, e.Refused.Detail) {
			t.Errorf("%s at 1.%d, %s: %d %s %s\nnot 400 %s %s", e.Query, e.Minor, settings[at].name,
				answer.Code, code, detail, e.Refused.Code, e.Refused.Detail)
		}
		return
	}
	if answer.Code != http.StatusOK {
		t.Fatalf("%s at 1.%d, %s: %d %s", e.Query, e.Minor, settings[at].name, answer.Code, answer.Body)
	}
	shown, err := deployment.Decode(answer.Body.Bytes(), e.Minor)
	if err != nil {
		t.Fatalf("%s at 1.%d, %s: %v in %s", e.Query, e.Minor, settings[at].name, err, answer.Body)
	}
	e.expect(t, shown.Candidates, shown.Summaries)
	for _, line := range deployment.Ask(bruteforce.Expand(e.Query), e.Minor).Differences(shown) {
		t.Error(line)
	}
}
