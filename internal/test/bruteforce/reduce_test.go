package bruteforce_test

import (
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/berthd/berth/internal/test/bruteforce"
)

// reduce removes all parts of a case that are not necessary for its failure. It works on the
// notation and the query, because rapid would shrink thousands of drawn bits and stop early.
func reduce(w world, q question, fails func(world, question) bool) (world, question) {
	for smaller := true; smaller; {
		smaller = false
		for text := range shorterDeployments(w.String()) {
			parsed, err := bruteforce.ParseDeployment(text)
			if err != nil {
				continue
			}
			numberByUUID(parsed)
			if len(parsed.Providers) > 0 && fails(world{parsed}, q) {
				w, smaller = world{parsed}, true
				break
			}
		}
		for asked := range simplerQuestions(q) {
			if fails(w, asked) {
				q, smaller = asked, true
				break
			}
		}
	}
	return w, q
}

// shorterDeployments returns the deployments without one provider, property or usage. Some have
// children without a parent, which ParseDeployment rejects.
func shorterDeployments(text string) iter.Seq[string] {
	lines := slices.Collect(strings.Lines(text))
	return func(yield func(string) bool) {
		for i, line := range lines {
			with := func(replaced string) string {
				return strings.Join(slices.Concat(lines[:i], []string{replaced}, lines[i+1:]), "")
			}
			if !isAboveAnother(lines, i) && !yield(with("")) {
				return
			}
			for shorter := range shorterLines(line) {
				if !yield(with(shorter)) {
					return
				}
			}
		}
	}
}

// isAboveAnother reports whether the next line is a child of the provider of a line, or another
// line refers to it.
func isAboveAnother(lines []string, i int) bool {
	indent := func(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }
	return i+1 < len(lines) && indent(lines[i+1]) > indent(lines[i])
}

// shorterLines returns the line without a word, without an element of a list, or with a default
// value in an inventory.
func shorterLines(line string) iter.Seq[string] {
	indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
	words := strings.Fields(line)
	return func(yield func(string) bool) {
		for i := 1; i < len(words); i++ {
			with := func(replaced ...string) string {
				return indent + strings.Join(slices.Concat(words[:i], replaced, words[i+1:]), "  ") + "\n"
			}
			if !yield(with()) {
				return
			}
			kind, list, isList := strings.Cut(words[i], ":")
			if !isList {
				usual, _, isUnusual := strings.Cut(words[i], "(")
				if isUnusual && !yield(with(usual)) {
					return
				}
				continue
			}
			for shorter := range shorterLists(list) {
				if !yield(with(kind + ":" + shorter)) {
					return
				}
			}
		}
	}
}

// shorterLists returns the lists without one of several elements.
func shorterLists(list string) iter.Seq[string] {
	elements := strings.Split(list, ",")
	return func(yield func(string) bool) {
		for i := range elements {
			if len(elements) > 1 && !yield(strings.Join(slices.Concat(elements[:i], elements[i+1:]), ",")) {
				return
			}
		}
	}
}

// simplerQuestions returns the query without a parameter or an element, for the first server, with GET, or at
// the newest version.
func simplerQuestions(q question) iter.Seq[question] {
	params := strings.Split(q.query, "&")
	return func(yield func(question) bool) {
		for i, param := range params {
			with := func(replaced ...string) question {
				shorter := q
				shorter.query = strings.Join(slices.Concat(params[:i], replaced, params[i+1:]), "&")
				return shorter
			}
			if len(params) > 1 && !yield(with()) {
				return
			}
			name, list, _ := strings.Cut(param, "=")
			for shorter := range shorterLists(list) {
				if !yield(with(name + "=" + shorter)) {
					return
				}
			}
		}
		first, newest, plain := q, q, q
		first.setting, newest.minor, plain.hasBody = 0, max(q.minor, 39), false
		_ = (q == first || yield(first)) && (q == newest || yield(newest)) && (q == plain || yield(plain))
	}
}

func TestCandidates_BruteforceFailure_ReducedToMinimum(t *testing.T) {
	t.Parallel()
	deployment, err := bruteforce.ParseDeployment(`
t0  VCPU=8  MEMORY_MB=4  traits:CUSTOM_FAST,SHARES  aggs:A
  t0a  VGPU=4(reserved=1)  SRIOV_NET_VF=8  aggs:A,B
    t0a0  VCPU=2
t1  DISK_GB=4  traits:SHARES  aggs:A
used: t0a VGPU:1
used: t0 VCPU:1
`)
	if err != nil {
		t.Fatal(err)
	}
	q := question{query: "resources=VCPU:1,VGPU:1&required=!CUSTOM_RAID&limit=3", minor: 20, setting: 1}
	// The fake failure occurs for children with VGPU in aggregate B.
	w, q := reduce(world{deployment}, q, func(w world, q question) bool {
		at := w.Named("t0a")
		return strings.Contains(q.query, "VGPU:1") && at != nil && at.Parent != "" &&
			at.Inventories["VGPU"].Total > 0 && slices.Contains(w.aggregatesOf(at), "B")
	})
	if w.String() != "t0\n  t0a  VGPU=4  aggs:B\n" || q != (question{query: "resources=VGPU:1", minor: 39}) {
		t.Errorf("%#v\n%#v", w, q)
	}
}
