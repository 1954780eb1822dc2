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
	"github.com/berthd/berth/server/store"
)

// exported is every metric of a service of which everything was asked: its type, and
// the labels that its series have.
func exported(t *testing.T) map[string]series {
	t.Helper()
	s := newWatched(t, func(opening *store.Options, _ *server.Options) { opening.SlowQuery = time.Nanosecond })
	s.exercise()
	found := map[string]series{}
	for name, family := range s.metrics() {
		labels := map[string]bool{}
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				labels[label.GetName()] = true
			}
		}
		found[name] = series{strings.ToLower(family.GetType().String()), slices.Sorted(maps.Keys(labels))}
	}
	return found
}

type series struct {
	kind   string
	labels []string
}

// documentedMetric is a row of the tables in docs/watching.md.
var documentedMetric = regexp.MustCompile("(?m)^\\| `(berth_\\w+)` \\| (\\w+) \\| ([^|]*) \\| [^|]+ \\|$")

func TestThePageNamesEveryMetricWithItsTypeAndLabels(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/watching.md")
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
			t.Errorf("%s is a %s with labels %q; the page says %v", name, there.kind, there.labels, said)
		}
		delete(documented, name)
	}
	for name := range documented {
		t.Errorf("%s is documented, and there is no such metric", name)
	}
}

// queries are what dashboard and alerts ask for, by where it stands.
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
	}
	return found
}

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

// The words of PromQL that occur in the queries. A query is taken apart by hand and
// only as far as to find names and labels: the real parser comes with all of Prometheus,
// its storage and cloud clients included, for one test.
var (
	promWord     = regexp.MustCompile(`[a-zA-Z_:][a-zA-Z0-9_:]*`)
	promMatchers = regexp.MustCompile(`^\{([^}]*)\}`)
	promMatcher  = regexp.MustCompile(`^\s*([a-zA-Z_]\w*)\s*(=~|!~|!=|=)\s*"[^"]*"\s*$`)
	promGrouping = regexp.MustCompile(`\b(by|without|on|ignoring)\s*\(([^)]*)\)`)
	promRange    = regexp.MustCompile(`\[(\$__rate_interval|\d+[smhd])\]`)
)

var promFunctions = []string{"rate", "sum", "max", "min", "count", "histogram_quantile", "absent"}

// ask finds what is wrong with a query.
func ask(query string, there map[string]series) (wrong []string) {
	for _, pair := range []string{"()", "{}", "[]"} {
		if strings.Count(query, pair[:1]) != strings.Count(query, pair[1:]) {
			wrong = append(wrong, "its brackets "+pair+" do not match")
		}
	}
	labels := map[string]bool{"job": true, "instance": true}
	var grouped []string
	rest := promGrouping.ReplaceAllStringFunc(query, func(part string) string {
		grouped = append(grouped, strings.FieldsFunc(promGrouping.FindStringSubmatch(part)[2], func(r rune) bool { return r == ',' || r == ' ' })...)
		return ""
	})
	rest = promRange.ReplaceAllString(rest, "")
	asked := 0
	for rest != "" {
		at := promWord.FindStringIndex(rest)
		if at == nil {
			break
		}
		name := rest[at[0]:at[1]]
		rest = rest[at[1]:]
		if name == "and" || slices.Contains(promFunctions, name) && strings.HasPrefix(strings.TrimSpace(rest), "(") {
			continue
		}
		metric, known := find(name, there)
		if !known {
			wrong = append(wrong, "there is no metric "+name)
		}
		asked++
		for _, label := range metric.labels {
			labels[label] = true
		}
		if strings.HasSuffix(name, "_bucket") {
			labels["le"] = true
		}
		matchers := promMatchers.FindStringSubmatch(rest)
		if matchers == nil {
			continue
		}
		rest = rest[len(matchers[0]):]
		for matcher := range strings.SplitSeq(matchers[1], ",") {
			parts := promMatcher.FindStringSubmatch(matcher)
			if parts == nil {
				wrong = append(wrong, "this is no matcher: "+matcher)
			} else if parts[1] != "job" && parts[1] != "instance" && !slices.Contains(metric.labels, parts[1]) {
				wrong = append(wrong, name+" has no label "+parts[1])
			}
		}
	}
	for _, label := range grouped {
		if !labels[label] {
			wrong = append(wrong, "nothing that is asked for has a label "+label)
		}
	}
	if asked == 0 {
		wrong = append(wrong, "it asks for nothing")
	}
	return wrong
}

// find gives the metric that a name in a query belongs to: those of histograms have
// endings.
func find(name string, there map[string]series) (series, bool) {
	if metric, ok := there[name]; ok {
		return metric, metric.kind != "histogram"
	}
	for _, ending := range []string{"_bucket", "_sum", "_count"} {
		if whole, cut := strings.CutSuffix(name, ending); cut && there[whole].kind == "histogram" {
			return there[whole], true
		}
	}
	return series{}, false
}

func TestDashboardAndAlertsAskOnlyForWhatThereIs(t *testing.T) {
	t.Parallel()
	there := exported(t)
	all := queries(t)
	if len(all) < 50 {
		t.Errorf("only %d queries were found", len(all))
	}
	used := map[string]bool{}
	for where, query := range all {
		for _, wrong := range ask(query, there) {
			t.Errorf("%s: %s\n\t%s", where, wrong, query)
		}
		for _, word := range promWord.FindAllString(query, -1) {
			used[strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(word, "_bucket"), "_sum"), "_count")] = true
		}
	}
	// What nobody looks at, but for what stands beside something that is looked at.
	aside := []string{
		"berth_http_requests_limit", "berth_postgres_info", "berth_postgres_version_number", "berth_postgres_in_recovery",
		"berth_postgres_standbys", "berth_postgres_replication_lag_bytes", "berth_resource_total", "berth_resource_providers",
		"berth_resource_classes_untold", "berth_look_failures_total", "berth_sql_connections_acquired_total",
	}
	for name := range there {
		if strings.HasPrefix(name, "berth_") && !used[name] && !slices.Contains(aside, name) {
			t.Errorf("%s is in no panel and no alert", name)
		}
	}
}

func TestAQueryThatIsWrongIsFound(t *testing.T) {
	t.Parallel()
	there := map[string]series{"a_total": {"counter", []string{"x"}}, "b": {"histogram", []string{"y"}}}
	for query, want := range map[string]string{
		`sum by (x) (rate(a_total{x=~"1|2"}[5m]))`:                  "",
		`histogram_quantile(0.9, sum by (le) (rate(b_bucket[5m])))`: "",
		`rate(c_total[5m])`:               "there is no metric c_total",
		`rate(a_total{y="1"}[5m])`:        "a_total has no label y",
		`sum by (y) (a_total)`:            "nothing that is asked for has a label y",
		`sum by (le) (rate(b_count[5m]))`: "nothing that is asked for has a label le",
		`b`:                               "there is no metric b",
		`rate(a_total{x="1"}[5m]`:         "its brackets () do not match",
		`a_total{x}`:                      "this is no matcher: x",
		`1 > 0`:                           "it asks for nothing",
		`a_total{job="berth",instance=~"$i"} > 1`: "",
	} {
		if got := strings.Join(ask(query, there), "; "); got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
}

func TestEveryAlertIsExplained(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/watching.md")
	if err != nil {
		t.Fatal(err)
	}
	severities := []string{"page", "warning", "info"}
	for _, rule := range alerts(t) {
		if !strings.Contains(string(page), "| `"+rule.Alert+"` | "+rule.Labels["severity"]+" |") {
			t.Errorf("%s (%s) is not explained", rule.Alert, rule.Labels["severity"])
		}
		if !slices.Contains(severities, rule.Labels["severity"]) || rule.Annotations["summary"] == "" || rule.For == "" {
			t.Errorf("%s lacks something: %+v", rule.Alert, rule)
		}
	}
}
