package deploycheck

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

// TestDocs_ComposePrometheus_ScrapesBerthAndEvaluatesAlerts runs Prometheus with the command line and the configuration
// of compose.yaml. It replaces the address of Berth and the paths in the container.
func TestDocs_ComposePrometheus_ScrapesBerthAndEvaluatesAlerts(t *testing.T) {
	t.Parallel()
	directory, address, server := t.TempDir(), freeAddress(t), serve(t)
	alerts := mountedFile(t, "prometheus", "/etc/prometheus/alerts.yaml")
	configuration := readFile(t, mountedFile(t, "prometheus", "/etc/prometheus/prometheus.yml"))
	for old, replacement := range map[string]string{`"berth:8778"`: `"` + server + `"`, "/etc/prometheus/alerts.yaml": alerts} {
		if strings.Count(configuration, old) != 1 {
			t.Fatalf("the configuration contains %s %d times, want once", old, strings.Count(configuration, old))
		}
		configuration = strings.Replace(configuration, old, replacement, 1)
	}
	file := filepath.Join(directory, "prometheus.yml")
	if err := os.WriteFile(file, []byte(configuration), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "promtool", "check", "config", file).CombinedOutput(); err != nil {
		t.Fatalf("promtool: %v\n%s", err, out)
	}
	arguments := []string{"--web.listen-address=" + address}
	paths := strings.NewReplacer("=/etc/prometheus/prometheus.yml", "="+file, "=/prometheus", "="+filepath.Join(directory, "data"))
	for _, argument := range service(t, "prometheus").Command {
		arguments = append(arguments, paths.Replace(argument))
	}
	start(t, exec.Command("prometheus", arguments...))
	await(t, 90*time.Second, func() error { return checkUp(address, server) })
	await(t, 90*time.Second, func() error { return checkRules(t, address, alerts) })
}

// checkUp returns an error unless Prometheus has scraped server.
func checkUp(address, server string) error {
	var answer struct {
		Data struct {
			Result []struct {
				Metric map[string]string
				Value  [2]any
			}
		}
	}
	if err := get("http://"+address+"/api/v1/query?query=up", &answer); err != nil {
		return err
	}
	found := answer.Data.Result
	if len(found) != 1 || found[0].Metric["job"] != "berth" || found[0].Metric["instance"] != server || found[0].Value[1] != "1" {
		return fmt.Errorf("up = %v, want 1 for the job berth", found)
	}
	return nil
}

// checkRules returns an error unless Prometheus has evaluated all rules of a file without an error.
func checkRules(t *testing.T, address, file string) error {
	t.Helper()
	type rule struct{ Alert, Name, Health, LastError string }
	var answer struct {
		Data struct{ Groups []struct{ Rules []rule } }
	}
	if err := get("http://"+address+"/api/v1/rules", &answer); err != nil {
		return err
	}
	var written struct{ Groups []struct{ Rules []rule } }
	if err := yaml.Unmarshal([]byte(readFile(t, file)), &written); err != nil {
		return err
	}
	if len(answer.Data.Groups) != len(written.Groups) || len(written.Groups) == 0 {
		return fmt.Errorf("%d groups of rules, want %d", len(answer.Data.Groups), len(written.Groups))
	}
	for g, group := range written.Groups {
		loaded := answer.Data.Groups[g].Rules
		if len(loaded) != len(group.Rules) {
			return fmt.Errorf("%d rules, want %d", len(loaded), len(group.Rules))
		}
		for r, want := range group.Rules {
			if loaded[r].Name != want.Alert || loaded[r].Health != "ok" {
				return fmt.Errorf("rule %s is %s: %s", loaded[r].Name, loaded[r].Health, loaded[r].LastError)
			}
		}
	}
	return nil
}

// datasources and providers are the provisioning files of Grafana, with the members that Berth's files use.
type datasources struct {
	APIVersion  int `yaml:"apiVersion"`
	Datasources []struct {
		Name, UID, Type, Access, URL string
		IsDefault                    bool `yaml:"isDefault"`
		Editable                     bool
		JSONData                     struct {
			TimeInterval string `yaml:"timeInterval"`
		} `yaml:"jsonData"`
	}
}

type providers struct {
	APIVersion int `yaml:"apiVersion"`
	Providers  []struct {
		Name, Type      string
		DisableDeletion bool `yaml:"disableDeletion"`
		AllowUIUpdates  bool `yaml:"allowUiUpdates"`
		Options         struct{ Path string }
	}
}

// decodeStrict rejects members that into lacks.
func decodeStrict(t *testing.T, file string, into any) {
	t.Helper()
	decoder := yaml.NewDecoder(strings.NewReader(readFile(t, file)))
	decoder.KnownFields(true)
	if err := decoder.Decode(into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// TestDocs_ComposeGrafana_ShowsDashboard follows the path from the dashboard to the data: the provider finds its file,
// its variable selects the default data source, and that is the service prometheus.
func TestDocs_ComposeGrafana_ShowsDashboard(t *testing.T) {
	t.Parallel()
	const dashboard = "/etc/grafana/dashboards/berth.json"
	var sources datasources
	decodeStrict(t, mountedFile(t, "grafana", "/etc/grafana/provisioning/datasources/berth.yaml"), &sources)
	if len(sources.Datasources) != 1 || sources.APIVersion != 1 {
		t.Fatalf("data sources = %v, want one", sources)
	}
	source := sources.Datasources[0]
	if source.Type != "prometheus" || source.Access != "proxy" || !source.IsDefault || source.URL != "http://prometheus:9090" {
		t.Errorf("data source = %+v, want the service prometheus as default", source)
	}
	var scraping struct {
		Global struct {
			Interval string `yaml:"scrape_interval"`
		}
	}
	text := readFile(t, mountedFile(t, "prometheus", "/etc/prometheus/prometheus.yml"))
	if err := yaml.Unmarshal([]byte(text), &scraping); err != nil || source.JSONData.TimeInterval != scraping.Global.Interval {
		t.Errorf("timeInterval = %q, scrape interval = %q (%v); want equal ones", source.JSONData.TimeInterval, scraping.Global.Interval, err)
	}
	var found providers
	decodeStrict(t, mountedFile(t, "grafana", "/etc/grafana/provisioning/dashboards/berth.yaml"), &found)
	if len(found.Providers) != 1 || found.APIVersion != 1 || found.Providers[0].Type != "file" ||
		found.Providers[0].Options.Path != path.Dir(dashboard) {
		t.Errorf("providers = %+v, want one of files in %s", found, path.Dir(dashboard))
	}
	if home := service(t, "grafana").Environment["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]; home == nil || *home != dashboard {
		t.Errorf("home dashboard = %v, want %s", home, dashboard)
	}
	checkVariable(t, readFile(t, mountedFile(t, "grafana", dashboard)), source.Type)
}

// panel is a panel of a dashboard, or a row of panels.
type panel struct {
	Title, Type string
	Datasource  struct{ Type, UID string }
	Panels      []panel
}

// checkVariable checks that panels use the variable "datasource", and that its value is the default of its type: a
// variable without a current value has that.
func checkVariable(t *testing.T, text, kind string) {
	t.Helper()
	var dashboard struct {
		Panels     []panel
		Templating struct {
			List []struct {
				Name, Type string
				// Query is a string in variables of type datasource, and an object in others.
				Query   any
				Current map[string]any
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &dashboard); err != nil {
		t.Fatal(err)
	}
	first := dashboard.Templating.List[0]
	if first.Name != "datasource" || first.Type != "datasource" || first.Query != kind || len(first.Current) != 0 {
		t.Errorf("first variable = %+v, want datasource of type %s without a current value", first, kind)
	}
	checked := 0
	for panels := dashboard.Panels; len(panels) > 0; panels = panels[1:] {
		panels = append(panels, panels[0].Panels...)
		if panels[0].Type == "row" {
			continue
		}
		if panels[0].Datasource.UID != "${datasource}" || panels[0].Datasource.Type != kind {
			t.Errorf("panel %q: data source = %v, want the variable", panels[0].Title, panels[0].Datasource)
		}
		checked++
	}
	if checked == 0 {
		t.Error("the dashboard has no panels")
	}
}

// TestDocs_AlertsOfEmptyResults_FireByLabel runs the unit tests of the rules about queries without candidates.
func TestDocs_AlertsOfEmptyResults_FireByLabel(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	for name, file := range map[string]string{
		"alerts.yaml": mountedFile(t, "prometheus", "/etc/prometheus/alerts.yaml"), "tests.yaml": "testdata/empty_results.yaml",
	} {
		if err := os.WriteFile(filepath.Join(directory, name), []byte(readFile(t, file)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.CommandContext(t.Context(), "promtool", "test", "rules", filepath.Join(directory, "tests.yaml")).CombinedOutput(); err != nil {
		t.Errorf("promtool: %v\n%s", err, out)
	}
}
