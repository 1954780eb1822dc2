package bruteforce_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/berthd/berth/internal/test/bruteforce"
)

// questionsPerDeployment is the number of queries per load of the database. rapid draws 100
// deployments in each of two parts, so these are 2000 cases. -rapid.checks or RAPID_CHECKS sets the
// number of deployments: 500 are 10,000 cases.
const questionsPerDeployment = 10

// parts are the parallel parts of the test, each with its own database and minor versions.
var parts = []struct {
	name   string
	minors []int
}{
	{"at the newest versions", []int{39, 39, 38, 39, 37, 36}},
	{"at all versions", versions()},
}

// versions are all minor versions with candidates, the newest first.
func versions() []int {
	var minors []int
	for minor := 39; minor >= 10; minor-- {
		minors = append(minors, minor)
	}
	return minors
}

// trial is a deployment with its queries.
type trial struct {
	world     world
	questions []question
}

// GoString returns an empty text, so that rapid does not print a case before reduce has shrunk it.
func (t trial) GoString() string {
	return fmt.Sprintf("%d questions to %d providers", len(t.questions), len(t.world.Providers))
}

func trials(minors []int) *rapid.Generator[trial] {
	return rapid.Custom(func(t *rapid.T) trial {
		drawn := trial{world: worlds.Draw(t, "deployment")}
		for range questionsPerDeployment {
			drawn.questions = append(drawn.questions, questions(drawn.world, minors).Draw(t, "question"))
		}
		return drawn
	})
}

// enough is the minimum number of cases whose distribution the tests check: that of rapid's default. The cases of a
// deployment are similar, so a rare feature is missing by chance in a few hundred cases.
const enough = 2000

func TestCandidates_RandomQueries_MatchBruteforce(t *testing.T) {
	t.Parallel()
	shown := newTally(features, 50)
	t.Run("parts", func(t *testing.T) {
		for _, part := range parts {
			t.Run(part.name, func(t *testing.T) {
				t.Parallel()
				server := setup(t)
				rapid.Check(t, func(t *rapid.T) { server.try(t, trials(part.minors).Draw(t, "trial"), shown) })
			})
		}
	})
	if shown.cases < enough {
		t.Logf("skipping the check of the distribution: %d cases are too few", shown.cases)
		return
	}
	shown.check(t)
}

// TestCandidates_RandomQueries_CoverEveryRule checks the generator of queries without a server.
func TestCandidates_RandomQueries_CoverEveryRule(t *testing.T) {
	t.Parallel()
	shown := newTally(features, 50)
	rapid.Check(t, func(t *rapid.T) {
		for _, part := range parts {
			drawn := trials(part.minors).Draw(t, "trial")
			for _, q := range drawn.questions {
				shown.count(drawn.world, q, q.answer(drawn.world))
			}
		}
	})
	if shown.cases >= enough {
		shown.check(t)
	}
}

// try compares the server with the brute force, and fails on a difference.
func (b *bundle) try(t *rapid.T, drawn trial, shown *tally) {
	if err := b.load(drawn.world.Deployment); err != nil {
		t.Fatalf("%#v\n%v", drawn.world, err)
	}
	for _, q := range drawn.questions {
		expected, wrong := b.compare(drawn.world, q)
		shown.count(drawn.world, q, expected)
		if wrong == nil {
			continue
		}
		w, q := reduce(drawn.world, q, b.fails)
		if err := b.load(w.Deployment); err != nil {
			t.Fatalf("%#v\n%v", w, err)
		}
		if expected, reduced := b.compare(w, q); reduced != nil {
			t.Fatalf("%#v\n%#v\n%s\n%s", w, q, strings.Join(reduced, "\n"), listed(expected.Candidates))
		}
		t.Fatalf("intermittent difference with %#v:\n%#v\n%s", drawn.world, q, strings.Join(wrong, "\n"))
	}
}

// fails reports whether the server is wrong about a case. It repeats the query to a server that
// shuffles candidates.
func (b *bundle) fails(w world, q question) bool {
	if b.load(w.Deployment) != nil {
		return false
	}
	for range map[bool]int{false: 1, true: 6}[settings[q.setting].random] {
		if _, wrong := b.compare(w, q); wrong != nil {
			return true
		}
	}
	return false
}

// compare returns the answer of the brute force, and the differences of the response of the server. With a maximum, it
// sends the query twice, because the server remembers which trees it found first.
func (b *bundle) compare(w world, q question) (expected *bruteforce.Response, wrong []string) {
	expected = settings[q.setting].apply(q.answer(w))
	wrong = b.differences(w, q, expected)
	if len(wrong) == 0 && settings[q.setting].most > 0 {
		wrong = b.differences(w, q, expected)
	}
	return expected, wrong
}

// differences sends a query and returns the differences of the response.
func (b *bundle) differences(w world, q question, expected *bruteforce.Response) []string {
	answer := b.send(q)
	switch {
	case answer.Code == http.StatusBadRequest && expected.Refused != "":
		return expected.DifferentError(answer.Body.Bytes())
	case answer.Code != http.StatusOK:
		return []string{fmt.Sprintf("%d: %s", answer.Code, answer.Body)}
	}
	shown, err := w.Decode(answer.Body.Bytes(), q.minor)
	if err != nil {
		return []string{err.Error() + " in " + answer.Body.String()}
	}
	return expected.Differences(shown)
}

// listed returns candidates as text, if they are few.
func listed(candidates []bruteforce.Candidate) string {
	var lines strings.Builder
	fmt.Fprintf(&lines, "%d candidates are right", len(candidates))
	for _, candidate := range candidates[:min(20, len(candidates))] {
		lines.WriteString("\n  " + candidate.String())
	}
	return lines.String()
}
