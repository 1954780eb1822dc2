package config

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/berthd/berth/cmd/berth/setting"
)

// docs/configuration.md has two tables, which are generated from the settings. `go test
// ./cmd/berth/config -run SettingsTables -update` rewrites them.
var update = flag.Bool("update", false, "write the tables of docs/configuration.md")

const configDocument = "../../../docs/configuration.md"

func TestDocs_SettingsTables_UpToDate(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(configDocument)
	if err != nil {
		t.Fatal(err)
	}
	want := string(text)
	for mark, table := range map[string]string{"settings": settingsTable(), "options": optionsTable()} {
		before, rest, opened := strings.Cut(want, "<!-- "+mark+" -->\n")
		_, after, closed := strings.Cut(rest, "<!-- end of "+mark+" -->\n")
		if !opened || !closed {
			t.Fatalf("the marks of %s are missing", mark)
		}
		want = before + "<!-- " + mark + " -->\n" + table + "<!-- end of " + mark + " -->\n" + after
	}
	if *update {
		if err := os.WriteFile(configDocument, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want != string(text) && !*update {
		t.Errorf("docs/configuration.md is out of date; update it with: go test ./cmd/berth/config -run SettingsTables -update")
	}
}

func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}

func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

func settingsTable() string {
	var made strings.Builder
	made.WriteString("| Flag | Environment | placement.conf | Default | Meaning |\n| --- | --- | --- | --- | --- |\n")
	for _, row := range new(Settings).Table() {
		var options []string
		for _, option := range confOptions() {
			if option.setting == row.Name {
				options = append(options, code("["+option.group+"]"+option.Name))
			}
		}
		fallback := code(row.Fallback)
		if row.Name == "db-max-connections" {
			fallback = "4 for each processor"
		}
		if row.Name == "max-searches" {
			fallback = "1 for each processor"
		}
		fmt.Fprintf(&made, "| `--%s` | `%s` | %s | %s | %s |\n", row.Name, row.Env(), strings.Join(options, ", "), fallback, cell(setting.PlainHelp(row.Help)))
	}
	return made.String()
}

func optionsTable() string {
	var made strings.Builder
	made.WriteString("| Option | Also called | What becomes of it |\n| --- | --- | --- |\n")
	for _, option := range confOptions() {
		var aliases []string
		for _, alias := range option.aliases {
			if group, name, dotted := strings.Cut(alias, "."); dotted {
				alias = "[" + group + "]" + name
			}
			aliases = append(aliases, code(alias))
		}
		meaning := code("--" + option.setting)
		if option.setting == "" {
			meaning = "no effect: " + option.unused
		}
		fmt.Fprintf(&made, "| `[%s]%s` | %s | %s |\n", option.group, option.Name, strings.Join(aliases, ", "), cell(meaning))
	}
	return made.String()
}
