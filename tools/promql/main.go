// Command promql parses PromQL queries with Prometheus' own parser.
//
// It reads a JSON object of queries by name from standard input and writes an object with what each query selects.
// It is a program of the tools module, so that Prometheus is no dependency of Berth.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// query is what a PromQL expression selects and groups by.
type query struct {
	// Error is the parser's error; the other fields are then empty.
	Error string `json:"error,omitempty"`
	// Selectors are the vector selectors in the order of the query.
	Selectors []selector `json:"selectors,omitempty"`
	// Groupings are the labels of by, without, on and ignoring.
	Groupings []string `json:"groupings,omitempty"`
}

// selector is a metric name with the labels of its matchers.
type selector struct {
	Metric string   `json:"metric"`
	Labels []string `json:"labels,omitempty"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "promql:", err)
		os.Exit(1)
	}
}

func run() error {
	var texts map[string]string
	if err := json.NewDecoder(os.Stdin).Decode(&texts); err != nil {
		return err
	}
	found := map[string]query{}
	for name, text := range texts {
		found[name] = parse(text)
	}
	return json.NewEncoder(os.Stdout).Encode(found)
}

func parse(text string) (found query) {
	expression, err := parser.NewParser(parser.Options{}).ParseExpr(text)
	if err != nil {
		return query{Error: err.Error()}
	}
	parser.Inspect(expression, func(node parser.Node, _ []parser.Node) error {
		switch part := node.(type) {
		case *parser.VectorSelector:
			made := selector{Metric: part.Name}
			for _, matcher := range part.LabelMatchers {
				if matcher.Name != labels.MetricName {
					made.Labels = append(made.Labels, matcher.Name)
				}
			}
			found.Selectors = append(found.Selectors, made)
		case *parser.AggregateExpr:
			found.Groupings = append(found.Groupings, part.Grouping...)
		case *parser.BinaryExpr:
			if part.VectorMatching != nil {
				found.Groupings = append(found.Groupings, part.VectorMatching.MatchingLabels...)
			}
		}
		return nil
	})
	return found
}
