package command

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berthd/berth/cmd/berth/config"
	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/cmd/berth/version"
	"github.com/berthd/berth/server/wire/microversion"
)

// ran is the result of a command line.
type ran struct {
	code           int
	stdout, stderr string
}

func runCommand(t *testing.T, environ []string, arguments ...string) ran {
	t.Helper()
	var stdout, stderr bytes.Buffer
	host := frame.Frame{Environ: environ, Stdout: &stdout, Stderr: &stderr, Signals: frame.SystemSignals}
	code := Run(t.Context(), &host, arguments)
	return ran{code, stdout.String(), stderr.String()}
}

func TestCLI_ExitCodesAndMessages_MatchTable(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		arguments []string
		code      int
		stderr    string
	}{
		"help":                       {[]string{"serve", "--help"}, frame.ExitOK, ""},
		"no command prints the help": {nil, frame.ExitOK, ""},
		"a command with subcommands prints its help": {[]string{"db"}, frame.ExitOK, ""},
		"unknown command":               {[]string{"serv"}, frame.ExitUsage, "berth: unknown command \"serv\" for \"berth\"; did you mean 'berth serve'?\nSee 'berth --help'.\n"},
		"unknown subcommand":            {[]string{"db", "frob"}, frame.ExitUsage, "berth: unknown command \"frob\" for \"berth db\"\nSee 'berth db --help'.\n"},
		"unknown flag":                  {[]string{"config", "--bogus"}, frame.ExitUsage, "berth: unknown flag: --bogus\nSee 'berth config --help'.\n"},
		"similar flag":                  {[]string{"config", "--listn=x"}, frame.ExitUsage, "berth: unknown flag: --listn; did you mean --listen?\nSee 'berth config --help'.\n"},
		"all flags":                     {[]string{"serve", "--bogus-is-not-read", "--help-all"}, frame.ExitUsage, "berth: unknown flag: --bogus-is-not-read\nSee 'berth serve --help'.\n"},
		"unexpected argument":           {[]string{"version", "x"}, frame.ExitUsage, "berth: 'berth version' takes no arguments, but \"x\" was given\nSee 'berth version --help'.\n"},
		"unknown format":                {[]string{"version", "-o", "xml"}, frame.ExitUsage, "berth: output: \"xml\" (flag --output) is not one of the choices; write one of table, json, yaml, csv\n"},
		"unknown microversion":          {[]string{"openapi", "--microversion=1.40"}, frame.ExitUsage, "berth: microversion: \"1.40\" (flag --microversion) is not a microversion of this service; write one from 1.0 to 1.39, or latest\n"},
		"microversion of the other API": {[]string{"openapi", "--api=baremetal", "--microversion=1.0"}, frame.ExitUsage, "berth: microversion: \"1.0\" (flag --microversion) is not a microversion of this service; write one from 1.1 to 1.82, or latest\n"},
		"unknown API":                   {[]string{"openapi", "--api=compute"}, frame.ExitUsage, "berth: api: \"compute\" (flag --api) is not an API of this service; write placement or baremetal\n"},
		"conflicting flags":             {[]string{"openapi", "--all=x", "--output=y"}, frame.ExitUsage, "berth: all: \"x\" (flag --all) writes every document to a file of its own; leave --microversion and --output out\n"},
		"one invalid setting":           {[]string{"serve", "--migrate=x"}, frame.ExitUsage, "berth: migrate: \"x\" (flag --migrate) is neither true nor false; write true or false\n"},
		"several invalid settings":      {[]string{"config", "--migrate=x", "--log-format=y"}, frame.ExitUsage, "berth: 2 settings are invalid:\n  migrate: \"x\" (flag --migrate) is neither true nor false; write true or false\n  log-format: \"y\" (flag --log-format) is not one of the choices; write one of text, json, oslo\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := runCommand(t, nil, test.arguments...)
			if got.code != test.code || got.stderr != test.stderr {
				t.Errorf("exit code %d, standard error %q", got.code, got.stderr)
			}
			if test.code == frame.ExitOK && !strings.Contains(got.stdout, "Usage:") {
				t.Errorf("standard output lacks the help: %q", got.stdout)
			}
		})
	}
}

func TestCLI_Config_PrintsOriginsAndMasksPasswords(t *testing.T) {
	t.Parallel()
	environ := []string{"BERTH_DATABASE_URL=postgres://u:hunter2@h/d", "BERTH_LOG_LEVEL=warn", "BERTH_LOGLEVEL=x"}
	got := runCommand(t, environ, "config", "--listen", "localhost:1", "--output", "json")
	if got.code != frame.ExitOK {
		t.Fatalf("exit code %d: %s", got.code, got.stderr)
	}
	wantWarning := "berth: warning: ignoring the unknown environment variable BERTH_LOGLEVEL; the nearest name is BERTH_LOG_LEVEL\n"
	if got.stderr != wantWarning {
		t.Errorf("standard error %q", got.stderr)
	}
	var document struct {
		Settings []config.ConfigRow
		Database string
	}
	if err := json.Unmarshal([]byte(got.stdout), &document); err != nil {
		t.Fatal(err)
	}
	byName := map[string][2]string{}
	for _, row := range document.Settings {
		byName[row.Name] = [2]string{row.Value, row.Origin}
	}
	for name, want := range map[string][2]string{
		"listen":       {"localhost:1", "flag --listen"},
		"database-url": {"postgres://u:***@h/d", "environment BERTH_DATABASE_URL"},
		"log-level":    {"warn", "environment BERTH_LOG_LEVEL"},
		"log-format":   {"text", "default"},
	} {
		if byName[name] != want {
			t.Errorf("%s = %q, want %q", name, byName[name], want)
		}
	}
	if len(byName) != len(new(config.Settings).Table()) || document.Database != "postgres://u:***@h/d" {
		t.Errorf("%d settings, database %q", len(byName), document.Database)
	}
	table := runCommand(t, environ, "config")
	if strings.Contains(table.stdout+got.stdout, "hunter2") {
		t.Error("the output contains the password")
	}
	if !strings.Contains(table.stdout, "\nDatabase: postgres://u:***@h/d\n") {
		t.Errorf("the table lacks the database:\n%s", table.stdout)
	}
}

func TestCLI_Version_PrintsBuildInfo(t *testing.T) {
	t.Parallel()
	got := runCommand(t, nil, "version", "--output", "json")
	var b version.Build
	if err := json.Unmarshal([]byte(got.stdout), &b); err != nil || b != version.This() {
		t.Errorf("exit code %d, %q: %v", got.code, got.stdout, err)
	}
}

func TestCLI_OpenAPI_PrintsSameAsFiles(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	if got := runCommand(t, nil, "openapi", "--all", directory); got.code != frame.ExitOK {
		t.Fatalf("exit code %d: %s", got.code, got.stderr)
	}
	files, err := filepath.Glob(filepath.Join(directory, "1.*.json"))
	if err != nil || len(files) != len(microversion.All()) {
		t.Errorf("files = %d, want %d; %v", len(files), len(microversion.All()), err)
	}
	baremetalDir := t.TempDir()
	if got := runCommand(t, nil, "openapi", "--api", "baremetal", "--all", baremetalDir); got.code != frame.ExitOK {
		t.Fatalf("exit code %d: %s", got.code, got.stderr)
	}
	for version, of := range map[string]string{"1.1": "1.1", "1.82": "1.82", "latest": "1.82", "1.81": "1.77"} {
		written, err := os.ReadFile(filepath.Join(baremetalDir, of+".json"))
		if err != nil {
			t.Fatal(err)
		}
		if got := runCommand(t, nil, "openapi", "--api=baremetal", "--microversion", version); got.stdout != string(written) {
			t.Errorf("document of Bare Metal %s differs from that of %s: exit code %d, %s", version, of, got.code, got.stderr)
		}
	}
	for api, extension := range map[string]string{"placement": "1.1", "baremetal": "1.0"} {
		extended := t.TempDir()
		if got := runCommand(t, nil, "openapi", "--api", api, "--berth", "latest", "--all", extended); got.code != frame.ExitOK {
			t.Fatalf("exit code %d: %s", got.code, got.stderr)
		}
		written, err := os.ReadFile(filepath.Join(extended, extension+".json"))
		if err != nil {
			t.Fatal(err)
		}
		if got := runCommand(t, nil, "openapi", "--api", api, "--berth", extension); got.stdout != string(written) {
			t.Errorf("document of %s with extensions %s: exit code %d, %s", api, extension, got.code, got.stderr)
		}
	}
	for _, arguments := range [][]string{{"--berth", "1.99"}, {"--berth", "1.0"}, {"--berth", "1.1", "--microversion", "1.39"}, {"--berth", " "}} {
		if got := runCommand(t, nil, append([]string{"openapi"}, arguments...)...); got.code != frame.ExitUsage || !strings.Contains(got.stderr, "--berth") {
			t.Errorf("%q: exit code %d, %s", arguments, got.code, got.stderr)
		}
	}
	for _, version := range []string{"1.0", "1.39"} {
		written, err := os.ReadFile(filepath.Join(directory, version+".json"))
		if err != nil {
			t.Fatal(err)
		}
		got := runCommand(t, nil, "openapi", "--microversion", version)
		var document struct{ OpenAPI string }
		if err := json.Unmarshal(written, &document); err != nil || !strings.HasPrefix(document.OpenAPI, "3.1") || got.stdout != string(written) {
			t.Errorf("%s: OpenAPI %q, %v", version, document.OpenAPI, err)
		}
	}
}
