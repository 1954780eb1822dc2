package scenario

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Expectations is a list of the documented responses of an API: for each kind of request and
// microversion. It comes from the description of the API instead of its code, and some scenario
// must show each row.
type Expectations struct {
	Groups []PromiseGroup
}

// PromiseGroup is the responses to one kind of request.
type PromiseGroup struct {
	// Request is a method and a route, such as "GET /traits/{name}". The method * is any method;
	// the route (none) is every path without a route, * is every path. Names after a ?, joined by
	// &, are parameters that the query must have.
	Request string `yaml:"request"`
	// Section is the section of the description with the rows.
	Section string        `yaml:"section"`
	Rows    []Expectation `yaml:"rows"`
}

// Expectation is one row: [versions, status, code, phrase], the last two optional.
type Expectation struct {
	// Versions is "1.4", "1.4-1.9", "1.4+", "any", or "none" for a response without a version.
	Versions string
	Status   int
	// Code is the code of the error; empty: not compared.
	Code string
	// Phrase is contained in the detail of the error, or in the body of another response.
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

// ParsePromises parses a list.
func ParsePromises(text []byte) (*Expectations, error) {
	list := &Expectations{}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(&list.Groups); err != nil {
		return nil, err
	}
	return list, nil
}

// endless is greater than all minor numbers.
const endless = 1 << 20

// minors returns the first and last minor number of the versions of the row.
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

// minor parses the N of 1.N.
func minor(version string) (int, bool) {
	text, ok := strings.CutPrefix(version, "1.")
	number, err := strconv.Atoi(text)
	return number, ok && err == nil
}

// Satisfied reports whether a response is the one of the row.
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

// answeredVersion returns the version in the response; empty: none.
func answeredVersion(e *Exchange) string {
	version, _ := strings.CutPrefix(e.Header.Get(versionHeader), versionService+" ")
	return version
}

// matches reports whether a request is of the kind of the group; routes are all routes of the API.
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

// hasParams reports whether the query has parameters with all names.
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

// routeMatches compares by segment; a variable matches any segment that is not empty.
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

// Unsatisfied returns the rows that no exchange shows.
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
