package scenario

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Expectations is a list of what an API promises: which request can be answered how,
// at which microversions. It is written from the API's description, not from its
// code, and every row of it must be seen in some scenario.
type Expectations struct {
	Groups []PromiseGroup
}

// PromiseGroup is what one kind of request can be answered with.
type PromiseGroup struct {
	// Request is a method and a route, such as "GET /traits/{name}". The method *
	// is any; the route (none) is every path that no route has, * is every path.
	// Names behind a ?, joined by &, are parameters that the query must have.
	Request string `yaml:"request"`
	// Section of the description that the rows come from.
	Section string        `yaml:"section"`
	Rows    []Expectation `yaml:"rows"`
}

// Expectation is one row: [versions, status, code, phrase], the last two optional.
type Expectation struct {
	// Versions is "1.4", "1.4-1.9", "1.4+", "any", or "none" for an answer that
	// names no version.
	Versions string
	Status   int
	// Code is the error's; empty: not looked at.
	Code string
	// Phrase stands in the error's detail, or in the body of another answer.
	Phrase string
}

// UnmarshalYAML implements yaml.Unmarshaler.
func (p *Expectation) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind != yaml.SequenceNode || len(node.Content) < 2 || len(node.Content) > 4 {
		return fmt.Errorf("line %d: a row is [versions, status, code, phrase]", node.Line)
	}
	fields := make([]string, 4)
	for i, field := range node.Content {
		fields[i] = field.Value // as it is spelled: 1.10 is not 1.1
	}
	status, err := strconv.Atoi(fields[1])
	if err != nil {
		return fmt.Errorf("line %d: %w", node.Line, err)
	}
	*p = Expectation{Versions: fields[0], Status: status, Code: fields[2], Phrase: fields[3]}
	if _, _, ok := p.minors(); !ok && p.Versions != "any" && p.Versions != "none" {
		return fmt.Errorf("line %d: versions %q are not understood", node.Line, p.Versions)
	}
	return nil
}

func (p Expectation) String() string {
	return strings.TrimRight(fmt.Sprintf("%s -> %d %s %s", p.Versions, p.Status, p.Code, p.Phrase), " ")
}

// ParsePromises reads a list.
func ParsePromises(text []byte) (*Expectations, error) {
	list := &Expectations{}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(&list.Groups); err != nil {
		return nil, err
	}
	return list, nil
}

// endless is above all minor numbers.
const endless = 1 << 20

// minors are the first and last minor number of the row's versions.
func (p Expectation) minors() (first, last int, ok bool) {
	from, to, isRange := strings.Cut(p.Versions, "-")
	if text, open := strings.CutSuffix(p.Versions, "+"); open {
		first, ok = minor(text)
		return first, endless, ok
	}
	if first, ok = minor(from); !ok || !isRange {
		return first, first, ok
	}
	last, ok = minor(to)
	return first, last, ok && first < last
}

// minor reads the N of 1.N.
func minor(version string) (int, bool) {
	text, ok := strings.CutPrefix(version, "1.")
	number, err := strconv.Atoi(text)
	return number, ok && err == nil
}

// Satisfied tells whether an answer is one that the row promises.
func (p Expectation) Satisfied(e *Exchange) bool {
	code, text, failed := e.failure()
	if !failed {
		text = string(e.Body)
	}
	return e.Status == p.Status && p.covers(answeredVersion(e)) && strings.Contains(text, p.Phrase) &&
		(p.Code == "" || code != nil && *code == p.Code)
}

func (p Expectation) covers(version string) bool {
	if p.Versions == "any" {
		return true
	}
	if p.Versions == "none" {
		return version == ""
	}
	first, last, _ := p.minors()
	number, ok := minor(version)
	return ok && first <= number && number <= last
}

// answeredVersion is what the answer says it speaks; empty: nothing.
func answeredVersion(e *Exchange) string {
	version, _ := strings.CutPrefix(e.Header.Get(versionHeader), versionService+" ")
	return version
}

// matches tells whether a request is of the group's kind; routes are all that
// there are.
func (g PromiseGroup) matches(e *Exchange, routes []string) bool {
	method, route, _ := strings.Cut(g.Request, " ")
	route, params, _ := strings.Cut(route, "?")
	if method != "*" && method != e.Method || !hasParams(e.Target, params) {
		return false
	}
	switch route {
	case "*":
		return true
	case "(none)":
		for _, known := range routes {
			if routeMatches(known, e.Target) {
				return false
			}
		}
		return true
	}
	return routeMatches(route, e.Target)
}

// hasParams tells whether the query has parameters of all these names.
func hasParams(target, names string) bool {
	_, query, _ := strings.Cut(target, "?")
	for name := range strings.SplitSeq(names, "&") {
		found := name == ""
		for pair := range strings.SplitSeq(query, "&") {
			given, _, _ := strings.Cut(pair, "=")
			found = found || given == name
		}
		if !found {
			return false
		}
	}
	return true
}

// routeMatches compares segment by segment; a variable takes any but an empty one.
func routeMatches(route, target string) bool {
	path, _, _ := strings.Cut(target, "?")
	want, got := strings.Split(route, "/"), strings.Split(path, "/")
	if len(want) != len(got) {
		return false
	}
	for i, segment := range want {
		variable := strings.HasPrefix(segment, "{")
		if variable && got[i] == "" || !variable && got[i] != segment {
			return false
		}
	}
	return true
}

// Unsatisfied lists the rows that no exchange shows.
func (l *Expectations) Unsatisfied(seen []*Exchange, routes []string) []string {
	var broken []string
	for _, group := range l.Groups {
		var matching []*Exchange
		for _, exchange := range seen {
			if group.matches(exchange, routes) {
				matching = append(matching, exchange)
			}
		}
		for _, row := range group.Rows {
			if !row.shownBy(matching) {
				broken = append(broken, group.Request+" "+row.String())
			}
		}
	}
	return broken
}

func (p Expectation) shownBy(seen []*Exchange) bool {
	for _, exchange := range seen {
		if p.Satisfied(exchange) {
			return true
		}
	}
	return false
}
