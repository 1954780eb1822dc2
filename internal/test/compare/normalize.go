package main

import (
	"net/http"
	"regexp"
	"strings"
	"time"
)

// variable is everything that the comparison leaves out, because it differs between two runs of the same build. UUIDs are
// not here: see normalizer.
var variable = []struct {
	what        string
	pattern     *regexp.Regexp
	replacement func(string) string
}{
	{"the time of a response", regexp.MustCompile(`(?m)^Date: .*$`), constant("Date: DATE")},
	{"durations", regexp.MustCompile(`"took_ms":\d+`), constant(`"took_ms":MS`)},
	{"durations for people", regexp.MustCompile(`\([0-9.]+(µs|ms|s)\)`), constant("(…ms)")},
	{"times of explanations, of any precision", regexp.MustCompile(`"made_at": ?"20[^"]*"`), constant(`"made_at":"TIME"`)},
	{"times of the run in headers", regexp.MustCompile(`[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} 20\d\d \d\d:\d\d:\d\d GMT`), recent(http.TimeFormat)},
	{"times of the run in queries of commands, of any precision", regexp.MustCompile(`20\d\d-\d\d-\d\dT\d\d%3A\d\d%3A\d\d(\.\d+)?Z`), inQuery},
	{"times of the run", regexp.MustCompile(`20\d\d-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?`), recent(time.DateTime)},
}

func constant(text string) func(string) string { return func(string) string { return text } }

// runTime is the maximum distance of times of the run from now. Other times come from requests, and are compared.
const runTime = 48 * time.Hour

// inQuery replaces times of the run that are escaped.
func inQuery(text string) string {
	whole, _, _ := strings.Cut(strings.ReplaceAll(text, "%3A", ":"), ".")
	if replaced := recent(time.DateTime)(strings.TrimSuffix(whole, "Z")); replaced == "TIME" {
		return replaced
	}
	return text
}

// recent replaces times of the run. It keeps whether a time has a fraction of microseconds or less, or one of nanoseconds.
func recent(layout string) func(string) string {
	return func(text string) string {
		whole, fraction, _ := strings.Cut(text, ".")
		parsed, err := time.Parse(layout, strings.Replace(whole, "T", " ", 1))
		if layout == http.TimeFormat {
			parsed, err = time.Parse(layout, text)
		}
		switch {
		case err != nil || time.Since(parsed).Abs() > runTime:
			return text
		case fraction == "":
			return "TIME"
		case len(fraction) <= len("000000"):
			return "TIME.MICROSECONDS"
		}
		return "TIME.NANOSECONDS"
	}
}

var uuidForm = regexp.MustCompile(`(?i)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// normalizer makes the texts of two services comparable. A UUID that the old build generated corresponds to the one that the
// new build generated in the same place, from its first occurrence on; this includes request IDs. A UUID that the other side
// has too is not generated.
type normalizer struct {
	// seen are the UUIDs of the old side and of the new side.
	seen [2]map[string]bool
	// toNew has the UUID of the new build for one of the old build; fromNew is its inverse.
	toNew, fromNew map[string]string
}

func newNormalizer() *normalizer {
	return &normalizer{seen: [2]map[string]bool{{}, {}}, toNew: map[string]string{}, fromNew: map[string]string{}}
}

// sent notes the UUIDs of texts that both sides have.
func (n *normalizer) sent(texts ...string) {
	for side, text := range texts {
		for _, id := range uuidForm.FindAllString(text, -1) {
			n.seen[side][id] = true
		}
	}
}

// pair returns two texts that are equal if the builds behave equally.
func (n *normalizer) pair(old, new string) (string, string) {
	for _, one := range variable {
		old, new = one.pattern.ReplaceAllStringFunc(old, one.replacement), one.pattern.ReplaceAllStringFunc(new, one.replacement)
	}
	n.sent(old, new)
	before, after := uuidForm.FindAllString(old, -1), uuidForm.FindAllString(new, -1)
	for i := range min(len(before), len(after)) {
		a, b := before[i], after[i]
		if a != b && !n.seen[1][a] && !n.seen[0][b] && n.toNew[a] == "" && n.fromNew[b] == "" {
			n.toNew[a], n.fromNew[b] = b, a
		}
	}
	old = uuidForm.ReplaceAllStringFunc(old, func(id string) string {
		if other := n.toNew[id]; other != "" {
			return other
		}
		return id
	})
	return old, new
}
