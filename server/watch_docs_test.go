package server_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/data/postgres"
)

// exported returns every metric of a server after requests for everything: its type, and the labels of its
// series.
func exported(t *testing.T) map[string]series {
	t.Helper()
	s := newWatched(t, func(opening *postgres.Options, _ *server.Options) { opening.SlowQuery = time.Nanosecond })
	s.exercise()
	found := map[string]series{}
	for name, family := range s.metrics() {
		labels := map[string]bool{}
		for _, sample := range family.samples {
			for label := range sample.labels {
				if label != "le" { // of the buckets of histograms
					labels[label] = true
				}
			}
		}
		found[name] = series{family.kind, slices.Sorted(maps.Keys(labels))}
	}
	return found
}

type series struct {
	kind   string
	labels []string
}

// documentedMetric matches a row of the tables in docs/monitoring.md.
var documentedMetric = regexp.MustCompile("(?m)^\\| `(berth_\\w+)` \\| (\\w+) \\| ([^|]*) \\| [^|]+ \\|$")

func TestDocs_Monitoring_ListsEveryMetric(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/monitoring.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]series{}
	for _, row := range documentedMetric.FindAllStringSubmatch(string(page), -1) {
		labels := strings.FieldsFunc(row[3], func(r rune) bool { return strings.ContainsRune("`, –", r) })
		slices.Sort(labels)
		documented[row[1]] = series{row[2], labels}
	}
	for name, there := range exported(t) {
		if !strings.HasPrefix(name, "berth_") {
			continue
		}
		said, ok := documented[name]
		if !ok || said.kind != there.kind || !slices.Equal(said.labels, there.labels) {
			t.Errorf("%s is a %s with labels %q; the documentation has %v", name, there.kind, there.labels, said)
		}
		delete(documented, name)
	}
	for name := range documented {
		t.Errorf("%s is documented but does not exist", name)
	}
}

// queries returns the queries of the dashboard and the alerts, by their location.
func queries(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	text, err := os.ReadFile("../docs/grafana/berth.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
		Templating struct {
			List []struct{ Name, Definition string }
		}
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	for _, panel := range dashboard.Panels {
		for i, target := range panel.Targets {
			found[fmt.Sprintf("panel %q, query %d", panel.Title, i)] = target.Expr
		}
	}
	for _, variable := range dashboard.Templating.List {
		if asked, ok := strings.CutPrefix(variable.Definition, "label_values("); ok {
			found["variable "+variable.Name] = strings.TrimSuffix(asked[:strings.LastIndex(asked, ",")], ")")
		}
	}
	for _, rule := range alerts(t) {
		found["alert "+rule.Alert] = rule.Expr
		for name, text := range rule.Annotations {
			for i, query := range annotationQuery.FindAllStringSubmatch(text, -1) {
				found[fmt.Sprintf("%s of alert %s, query %d", name, rule.Alert, i)] = strings.ReplaceAll(query[1], "%q", `"berth"`)
			}
		}
	}
	return found
}

// annotationQuery matches a query in the template of an annotation.
var annotationQuery = regexp.MustCompile(`printf "([^"]*)"[^}|]*\| query`)

type alertRule struct {
	Alert, Expr, For    string
	Labels, Annotations map[string]string
}

func alerts(t *testing.T) []alertRule {
	t.Helper()
	text, err := os.ReadFile("../docs/grafana/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Groups []struct{ Rules []alertRule } }
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	var rules []alertRule
	for _, group := range file.Groups {
		rules = append(rules, group.Rules...)
	}
	return rules
}

// metricName matches the names of Berth's metrics in a query.
var metricName = regexp.MustCompile(`\bberth_\w+`)

// TestDocs_Metrics_AreInDashboardOrAlert finds metrics that no panel and no alert uses. The queries themselves are
// parsed in promql_test.go.
func TestDocs_Metrics_AreInDashboardOrAlert(t *testing.T) {
	t.Parallel()
	all := queries(t)
	if len(all) < 50 {
		t.Errorf("found %d queries, want at least 50", len(all))
	}
	used := map[string]bool{}
	for _, query := range all {
		for _, name := range metricName.FindAllString(query, -1) {
			for _, suffix := range []string{"", "_bucket", "_sum", "_count"} {
				used[strings.TrimSuffix(name, suffix)] = true
			}
		}
	}
	// These metrics only explain others that are in a panel.
	exempt := []string{
		"berth_http_requests_in_flight_max", "berth_postgres_info", "berth_postgres_server_version_num", "berth_postgres_in_recovery",
		"berth_postgres_connected_standbys", "berth_postgres_replication_lag_bytes", "berth_resource_inventory", "berth_resource_providers",
		"berth_resource_classes_truncated", "berth_collector_failures_total", "berth_db_pool_acquires_total",
	}
	for name := range exported(t) {
		if strings.HasPrefix(name, "berth_") && !used[name] && !slices.Contains(exempt, name) {
			t.Errorf("%s is in no panel and no alert", name)
		}
	}
}

func TestDocs_Alerts_Explained(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/monitoring.md")
	if err != nil {
		t.Fatal(err)
	}
	severities := []string{"page", "warning", "info"}
	for _, rule := range alerts(t) {
		if !strings.Contains(string(page), "| `"+rule.Alert+"` | "+rule.Labels["severity"]+" |") {
			t.Errorf("%s (%s) is not documented", rule.Alert, rule.Labels["severity"])
		}
		if !slices.Contains(severities, rule.Labels["severity"]) || rule.Annotations["summary"] == "" || rule.For == "" {
			t.Errorf("%s lacks something: %+v", rule.Alert, rule)
		}
	}
}

// TestMetrics_FloodOfMadeUpTokens_NoAlertPages checks that alerts that page do not use results of
// validations that a client can cause.
func TestMetrics_FloodOfMadeUpTokens_NoAlertPages(t *testing.T) {
	t.Parallel()
	for _, rule := range alerts(t) {
		if rule.Labels["severity"] != "page" {
			continue
		}
		for _, result := range []string{"malformed", "invalid", "queue_full", "timed_out"} {
			if strings.Contains(rule.Expr, "berth_keystone_token_validations_total") && !regexp.MustCompile(`result=~?"(error|circuit_open|\|)+"`).MatchString(rule.Expr) ||
				strings.Contains(rule.Expr, result) {
				t.Errorf("%s pages for %s: %s", rule.Alert, result, rule.Expr)
			}
		}
		if strings.Contains(rule.Expr, "5..") && !strings.Contains(rule.Expr, `operation!="authentication"`) {
			t.Errorf("%s pages for requests that were not authenticated: %s", rule.Alert, rule.Expr)
		}
	}
}
