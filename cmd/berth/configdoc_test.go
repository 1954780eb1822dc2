package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// The document of all settings has two tables, which are made of the same data as the
// program. `go test ./cmd/berth -run Document -update` writes them anew.
const configDocument = "../../docs/configuration.md"

func TestTheDocumentOfSettingsIsUpToDate(t *testing.T) {
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
			t.Fatalf("the marks of %s are gone", mark)
		}
		want = before + "<!-- " + mark + " -->\n" + table + "<!-- end of " + mark + " -->\n" + after
	}
	if *updateSessions {
		if err := os.WriteFile(configDocument, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want != string(text) && !*updateSessions {
		t.Errorf("docs/configuration.md is not that of this program; write it anew with: go test ./cmd/berth -run Document -update")
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
	for _, row := range new(Settings).table() {
		var options []string
		for _, option := range confOptions() {
			if option.setting == row.name {
				options = append(options, code("["+option.group+"]"+option.name))
			}
		}
		fallback := code(row.fallback)
		if row.name == "db-max-connections" {
			fallback = "4 for each processor"
		}
		fmt.Fprintf(&made, "| `--%s` | `%s` | %s | %s | %s |\n", row.name, row.env(), strings.Join(options, ", "), fallback, cell(plainHelp(row.help)))
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
		fmt.Fprintf(&made, "| `[%s]%s` | %s | %s |\n", option.group, option.name, strings.Join(aliases, ", "), cell(meaning))
	}
	return made.String()
}
