package bruteforce

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/berthd/berth/server/search/explain"
)

// DecodeExplanation parses an explanation of a server. Unknown members, and missing made_at and took_ms, are errors. The
// result is without these two.
func DecodeExplanation(text []byte) (*explain.Explanation, error) {
	read := &explain.Explanation{}
	if err := decodeStrictly(text, read); err != nil {
		return nil, err
	}
	if read.MadeAt == nil || read.TookMS == nil {
		return nil, errors.New("made_at or took_ms is missing")
	}
	read.MadeAt, read.TookMS = nil, nil
	return read, nil
}

// ExplanationDifferences returns one line for each difference between the explanation of a query and the correct one. The
// amounts that were tried may differ: what they promise is checked. The text of query is compared as a query.
func (d *Deployment) ExplanationDifferences(rawQuery string, minor int, shown *explain.Explanation) []string {
	want := d.Explain(rawQuery, minor)
	if want == nil {
		return []string{"a refused query is explained"}
	}
	got, expected := *shown, *want
	lines := d.relaxationDifferences(want, &got, minor)
	if lines == nil && !sameText(want.Relaxations, shown.Relaxations) {
		// The summary names the first two relaxations, whose amounts may differ.
		got.Summary, expected.Summary = firstWords(got.Summary, shown), firstWords(expected.Summary, want)
	}
	got.Relaxations, expected.Relaxations = nil, nil
	got.Nearest = withSameRounding(got.Nearest, expected.Nearest)
	return append(lines, memberDifferences(&got, &expected)...)
}

// firstWords returns a summary up to the sentences of relaxations.
func firstWords(summary string, of *explain.Explanation) string {
	for _, each := range of.Relaxations[:min(len(of.Relaxations), 2)] {
		summary = strings.TrimSuffix(summary, " "+relaxationText(each))
		if len(of.Relaxations) > 1 {
			summary = strings.Replace(summary, " "+relaxationText(each), "", 1)
		}
	}
	return summary
}

// withSameRounding returns trees with the distances of others where these differ by less than the last decimal.
func withSameRounding(got, want []explain.Tree) []explain.Tree {
	got = slices.Clone(got)
	for i := range min(len(got), len(want)) {
		if math.Abs(got[i].Distance-want[i].Distance) < 0.0011 {
			got[i].Distance = want[i].Distance
		}
	}
	return got
}

// memberDifferences compares the members of two explanations, each as JSON.
func memberDifferences(got, want *explain.Explanation) []string {
	lines := []string(nil)
	found, expected := membersOf(got), membersOf(want)
	for _, name := range sorted(slices.Concat(keys(found), keys(expected))) {
		if string(found[name]) != string(expected[name]) {
			lines = append(lines, fmt.Sprintf("%s: %s", name, found[name]), fmt.Sprintf("  not %s", expected[name]))
		}
	}
	return lines
}

func keys(of map[string]json.RawMessage) []string {
	var all []string
	for key := range of {
		all = append(all, key)
	}
	return all
}

func membersOf(of *explain.Explanation) map[string]json.RawMessage {
	var members map[string]json.RawMessage
	text, err := json.Marshal(of)
	if err == nil {
		err = json.Unmarshal(text, &members)
	}
	if err != nil {
		panic(err)
	}
	return members
}

func sameText(a, b any) bool { return fmt.Sprintf("%+v", a) == fmt.Sprintf("%+v", b) }

// relaxationDifferences compares relaxations. That of an amount may have another amount, if its query has the candidates
// that it names; the others are those of the judge.
func (d *Deployment) relaxationDifferences(want, got *explain.Explanation, minor int) []string {
	var lines []string
	for _, each := range got.Relaxations {
		if count, more := d.candidatesOf(each, minor); count != each.Candidates || more != each.More {
			lines = append(lines, fmt.Sprintf("relaxation %s: %d candidates, not %d", each.Query, each.Candidates, count))
		}
	}
	isOther := func(r explain.Relaxation) bool { return r.Change != "amount" }
	if first := slices.IndexFunc(got.Relaxations, isOther); first >= 0 && !isOther(got.Relaxations[len(got.Relaxations)-1]) {
		lines = append(lines, "relaxations: an amount follows another change")
	}
	names := func(of []explain.Relaxation, isAmount bool) []string {
		var all []string
		for _, each := range of {
			if (each.Change == "amount") == isAmount {
				all = append(all, d.changeName(each, minor))
			}
		}
		return all
	}
	for _, isAmount := range []bool{false, true} {
		found, expected := names(got.Relaxations, isAmount), names(want.Relaxations, isAmount)
		if !slices.Equal(found, expected) {
			lines = append(lines, fmt.Sprintf("relaxations: %q", found), fmt.Sprintf("        not: %q", expected))
		}
	}
	return lines
}

// changeName returns a text of what a relaxation changes: of an amount the class, of others all members.
func (d *Deployment) changeName(of explain.Relaxation, minor int) string {
	if of.Change == "amount" {
		return fmt.Sprint(of.Groups, of.Class, of.From)
	}
	return fmt.Sprint(of.Change, of.Groups, of.Class, of.Value, of.Needs, " ", normalQuery(of.Query, minorOf(of, minor)))
}

// minorOf returns the version at which the query of a relaxation is sent.
func minorOf(of explain.Relaxation, minor int) int {
	if of.Needs != "" {
		return Berth
	}
	return minor
}

// normalQuery returns the text of a query that is the same for equivalent ones.
func normalQuery(query string, minor int) string {
	if minor == Berth {
		if parsed, refusal := parseExtended(query); refusal == nil {
			return parsed.normalText()
		}
	} else if parsed, err := parse(query, minor); err == nil {
		return parsed.normalText()
	}
	return "invalid: " + query
}

// normalText returns the query string with the suffixes of each set in order, each once.
func (r *request) normalText() string {
	made := r.clone()
	for i := range made.isolated {
		made.isolated[i] = sorted(made.isolated[i])
	}
	for i := range made.subtrees {
		made.subtrees[i].inside, made.subtrees[i].outside = sorted(made.subtrees[i].inside), sorted(made.subtrees[i].outside)
	}
	return made.queryText()
}

// candidatesOf returns the number of candidates of the query of a relaxation up to the limit.
func (d *Deployment) candidatesOf(of explain.Relaxation, minor int) (count int, more bool) {
	at := minorOf(of, minor)
	answer := d.Ask(of.Query, at)
	if answer.Refused != "" {
		return -1, false
	}
	e := &explainer{search: &search{Deployment: d, request: answer.request}, minor: at}
	count, _ = e.found(answer.request)
	return count, count == maxRelaxation
}

// SmallerReductions returns the amounts between from and to of each relaxation of an amount that give candidates, too. For
// a query with one part of one group and one class, which is not split, and no candidates, there are none.
func (d *Deployment) SmallerReductions(rawQuery string, minor int, of *explain.Explanation) []string {
	answer := d.Ask(rawQuery, minor)
	if len(of.Parts) != 1 || len(of.Parts[0].Groups) != 1 || of.Parts[0].CanSplit || of.Reason == explain.Fits {
		return nil
	}
	e := &explainer{search: &search{Deployment: d, request: answer.request}, answer: answer, minor: minor}
	e.parts = e.partsOfRequest()
	e.stages = e.funnelStages()
	e.countStages()
	var lines []string
	for _, each := range of.Relaxations {
		if each.Change != "amount" || len(e.rooms(e.parts[0], each.Class)) > maxRooms {
			continue
		}
		for amount := each.To + 1; amount < min(each.From, each.To+1000); amount++ {
			changed := e.request.clone()
			changed.group(each.Groups[0]).resources[each.Class] = amount
			if count, _ := e.found(changed); count > 0 {
				lines = append(lines, fmt.Sprintf("relaxation %s: %d %s give %d candidates, too", each.Query, amount, each.Class, count))
			}
		}
	}
	return lines
}
