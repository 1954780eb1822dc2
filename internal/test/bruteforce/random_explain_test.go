package bruteforce_test

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/berthd/berth/internal/test/bruteforce"
	"github.com/berthd/berth/server/search/explain"
)

// explainMinors selects all versions, mostly the newest.
var explainMinors = append(versions(), bruteforce.Berth, bruteforce.Berth, bruteforce.Berth, bruteforce.Berth,
	bruteforce.Berth, bruteforce.Berth, bruteforce.Berth, bruteforce.Berth, bruteforce.Berth, bruteforce.Berth,
	bruteforce.Berth, bruteforce.Berth, bruteforce.Berth, bruteforce.Berth, bruteforce.Berth, 39, 39, 39, 39)

// explainTally counts what random explanations contain.
type explainTally struct {
	sync.Mutex
	cases int
	seen  map[string]int
}

func (t *explainTally) count(of *explain.Explanation) {
	t.Lock()
	defer t.Unlock()
	t.cases++
	t.seen["reason "+string(of.Reason)]++
	for _, each := range of.Conflicts {
		t.seen["conflict "+each.Conflict]++
	}
	for _, tree := range of.Nearest {
		t.seen["stage "+tree.Stage]++
		for _, each := range tree.Missing {
			t.seen["missing "+each.Step]++
		}
	}
	for _, each := range of.Relaxations {
		name, _, _ := strings.Cut(each.Value, "=")
		for _, grouped := range []string{"required", "member_of", "in_tree"} {
			if strings.HasPrefix(name, grouped) {
				name = grouped
			}
		}
		t.seen["change "+each.Change+" "+name]++
	}
	for _, template := range explainTemplates {
		if strings.Contains(of.Summary, template) {
			t.seen["text "+template]++
		}
	}
}

// explainTemplates are fixed parts of the sentences of summaries.
var explainTemplates = []string{
	"1 host fits, with ", " hosts fit, with ", "which is no resource provider.", ", which root_required asks for.", ", which root_member_of asks for.",
	"No provider has inventory of", "No provider can ever give", "free: the most is", "No provider has the trait", "Did you mean",
	"No provider is in", "No tree passes root_required=", "No tree passes root_member_of=", "that can be reached, none has inventory",
	"that qualif", "Everything that is asked for", "a provider for each group, but", "any of the traits",
	"none is in the tree of", "none is in the aggregates of member_of", "all are in a forbidden aggregate", "none has the trait",
	"all have the forbidden trait", "none allows", "all are too small", "too much is reserved", "free. Nearest", "in no tree do they add up",
	"all required traits together", "not enough for all groups", "isolated groups need", "groups cannot be kept apart",
	"meets every same_subtree", "only with several providers of one tree", " can give ", "lacks the size", "as too much is reserved on",
	"in units that allow", "lacks inventory of", "on its root", "lacks membership in", "membership of its root", "lacks a provider without",
	"lacks a provider outside", "lacks a provider in the tree", "lacks a root without", "lacks a root outside", " instead of ",
	"With can_split=", "With group_policy=none", "Without ", "No single change", " there would be 1 candidate.",
}

// explainedKinds are what enough random explanations contain, apart from explainTemplates.
var explainedKinds = []string{
	"reason fits", "reason in_tree", "reason root", "reason amount", "reason trait", "reason aggregate", "reason no_tree", "reason together",
	"conflict in_tree_unknown", "conflict class_not_offered", "conflict amount_too_large", "conflict trait_unused",
	"conflict root_trait_unused", "conflict aggregate_empty", "conflict root_aggregate_empty", "conflict root_aggregate_forbidden",
	"conflict isolated_groups", "stage traits", "stage one_per_tree", "stage sums", "stage isolate", "stage same_subtree",
	"missing inventory", "missing in_tree", "missing member_of", "missing not_member_of", "missing required", "missing forbidden",
	"missing units", "missing size", "missing reserved", "missing used", "missing split", "missing root_required", "missing root_member_of",
	"change amount ", "change can_split ", "change replace group_policy", "change drop isolate", "change drop same_subtree",
	"change drop required", "change drop member_of", "change drop in_tree", "change drop root_required", "change drop root_member_of",
}

// enoughExplanations is the minimum number of cases whose content the tests check.
const enoughExplanations = 8000

func (t *explainTally) check(tb testing.TB) {
	tb.Helper()
	if t.cases < enoughExplanations {
		tb.Logf("skipping the check of the content: %d cases are too few", t.cases)
		return
	}
	for _, template := range explainTemplates {
		if t.seen["text "+template] == 0 {
			tb.Errorf("no summary in %d has %q", t.cases, template)
		}
	}
	for _, kind := range explainedKinds {
		if t.seen[kind] == 0 {
			tb.Errorf("no explanation in %d has %s", t.cases, kind)
		}
	}
}

// TestCandidates_RandomExplanations_KeepInvariants checks the explanations of the brute force without a server, and that
// wrong ones are found.
func TestCandidates_RandomExplanations_KeepInvariants(t *testing.T) {
	t.Parallel()
	shown := &explainTally{seen: map[string]int{}}
	rapid.Check(t, func(t *rapid.T) {
		w := worlds.Draw(t, "deployment")
		for range questionsPerDeployment {
			q := explainable(w, explainMinors).Draw(t, "question")
			query := bruteforce.Expand(q.query)
			explained := w.Explain(query, q.minor)
			if explained == nil {
				continue
			}
			shown.count(explained)
			lines := slices.Concat(w.ExplanationViolations(query, q.minor, explained), w.ExplanationDifferences(query, q.minor, explained),
				w.SmallerReductions(query, q.minor, explained))
			if lines != nil {
				t.Fatalf("%#v\n%#v\n%s\n%s", w, q, strings.Join(lines, "\n"), indented(t, explained))
			}
			name, wrong := wrongExplanation(generator{t}, explained)
			if w.ExplanationDifferences(query, q.minor, wrong) == nil {
				t.Fatalf("%#v\n%#v\nan explanation with %s is accepted", w, q, name)
			}
		}
	})
	shown.check(t)
}

// wrongExplanation returns an explanation with a mistake, and its description.
func wrongExplanation(d generator, of *explain.Explanation) (string, *explain.Explanation) {
	made := &explain.Explanation{}
	text, err := json.Marshal(of)
	if err == nil {
		err = json.Unmarshal(text, made)
	}
	if err != nil {
		d.Fatal(err)
	}
	switch kind := pick(d, "relaxation", "nearest", "part", "funnel", "fact", "summary"); {
	case kind == "relaxation" && len(made.Relaxations) > 0:
		made.Relaxations[0].Candidates++
		return kind, made
	case kind == "nearest" && len(made.Nearest) > 0:
		made.Nearest[0].Distance += 0.002
		return kind, made
	case kind == "part":
		made.Parts[0].Steps[len(made.Parts[0].Steps)-1].Trees++
		return kind, made
	case kind == "funnel":
		made.Funnel[len(made.Funnel)-1].Trees++
		return kind, made
	case kind == "fact":
		made.Facts[0].Providers++
		return kind, made
	}
	made.Summary = strings.TrimSuffix(made.Summary, ".")
	return "another summary", made
}
