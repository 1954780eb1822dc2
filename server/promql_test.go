//go:build client

package server_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// promQuery is a query as parsed by Prometheus; see tools/promql.
type promQuery struct {
	Error     string
	Selectors []struct {
		Metric string
		Labels []string
	}
	Groupings []string
}

// parsePromQL parses queries with Prometheus' own parser. It replaces Grafana's interval by 5 minutes.
func parsePromQL(t *testing.T, texts map[string]string) map[string]promQuery {
	t.Helper()
	sent := map[string]string{}
	for name, text := range texts {
		sent[name] = strings.ReplaceAll(text, "$__rate_interval", "5m")
	}
	input, err := json.Marshal(sent)
	if err != nil {
		t.Fatal(err)
	}
	parse := exec.CommandContext(t.Context(), "go", "run", ".")
	parse.Dir = "../tools/promql"
	var complaints bytes.Buffer
	parse.Stdin, parse.Stderr = bytes.NewReader(input), &complaints
	output, err := parse.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", parse, err, &complaints)
	}
	var found map[string]promQuery
	if err := json.Unmarshal(output, &found); err != nil {
		t.Fatal(err)
	}
	return found
}

// problems returns the errors of a query, given the metrics that the server exports.
func (q promQuery) problems(exported map[string]series) (found []string) {
	if q.Error != "" {
		return []string{q.Error}
	}
	labels := []string{"job", "instance"}
	for _, selector := range q.Selectors {
		metric, known := metricOf(selector.Metric, exported)
		if !known {
			found = append(found, fmt.Sprintf("there is no metric %q", selector.Metric))
		}
		labels = append(labels, metric.labels...)
		if strings.HasSuffix(selector.Metric, "_bucket") {
			labels = append(labels, "le")
		}
		for _, label := range selector.Labels {
			if label != "job" && label != "instance" && !slices.Contains(metric.labels, label) {
				found = append(found, fmt.Sprintf("%s has no label %q", selector.Metric, label))
			}
		}
	}
	for _, label := range q.Groupings {
		if !slices.Contains(labels, label) {
			found = append(found, fmt.Sprintf("no selected metric has a label %q", label))
		}
	}
	if len(q.Selectors) == 0 {
		found = append(found, "the query selects no metric")
	}
	return found
}

// metricOf returns the metric of a name in a query; histograms have suffixes.
func metricOf(name string, exported map[string]series) (series, bool) {
	if metric, ok := exported[name]; ok {
		return metric, metric.kind != "histogram"
	}
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		if base, ok := strings.CutSuffix(name, suffix); ok && exported[base].kind == "histogram" {
			return exported[base], true
		}
	}
	return series{}, false
}

// fileMetric matches the names of the metrics that berth reconcile writes to its --metrics-file.
var fileMetric = regexp.MustCompile(`"(berth_reconcile_\w+)"`)

// addFileMetrics adds the metrics that no server exports.
func addFileMetrics(t *testing.T, to map[string]series) {
	t.Helper()
	source, err := os.ReadFile("../cmd/berth/reconcile/metrics.go")
	if err != nil {
		t.Fatal(err)
	}
	names := fileMetric.FindAllStringSubmatch(string(source), -1)
	if len(names) != 3 {
		t.Errorf("found metrics = %q, want 3", names)
	}
	for _, name := range names {
		to[name[1]] = series{"gauge", []string{"source", "finding"}}
	}
}

func TestDocs_DashboardAndAlerts_ParseAndQueryExistingMetrics(t *testing.T) {
	t.Parallel()
	exported, texts := exported(t), queries(t)
	addFileMetrics(t, exported)
	for where, parsed := range parsePromQL(t, texts) {
		for _, problem := range parsed.problems(exported) {
			t.Errorf("%s: %s\n\t%s", where, problem, texts[where])
		}
	}
}

func TestDocs_InvalidPromQL_Detected(t *testing.T) {
	t.Parallel()
	exported := map[string]series{"a_total": {"counter", []string{"x"}}, "b": {"histogram", []string{"y"}}}
	want := map[string]string{
		`sum by (x) (rate(a_total{x=~"1|2"}[$__rate_interval]))`:    "",
		`histogram_quantile(0.9, sum by (le) (rate(b_bucket[5m])))`: "",
		`a_total{job="berth",instance=~"$i"} > 1`:                   "",
		`rate(c_total[5m])`:               `there is no metric "c_total"`,
		`rate(a_total{y="1"}[5m])`:        `a_total has no label "y"`,
		`sum by (y) (a_total)`:            `no selected metric has a label "y"`,
		`sum by (le) (rate(b_count[5m]))`: `no selected metric has a label "le"`,
		`b`:                               `there is no metric "b"`,
		`vector(1) > 0`:                   "the query selects no metric",
		`rate(a_total{x="1"}[5m]`:         "parse error",
		`rate(a_total)`:                   "parse error",
		`a_total{x}`:                      "parse error",
	}
	texts := map[string]string{}
	for text := range want {
		texts[text] = text
	}
	for text, parsed := range parsePromQL(t, texts) {
		got := strings.Join(parsed.problems(exported), "; ")
		if want[text] == "" && got != "" || !strings.Contains(got, want[text]) {
			t.Errorf("%s: problems = %q, want %q", text, got, want[text])
		}
	}
}
