package main

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// flagText is a flag that takes any text. Reading the value is left to load,
// because pflag stops at the first value it cannot read and load reports all.
type flagText struct {
	text, kind string
}

func (f *flagText) String() string        { return f.text }
func (f *flagText) Set(text string) error { f.text = text; return nil }
func (f *flagText) Type() string          { return f.kind }

// flagList is a flag that may be given more than once; the values are joined by commas.
type flagList struct{ flagText }

// Set adds a value to those before.
func (f *flagList) Set(text string) error {
	if f.text != "" {
		text = f.text + "," + text
	}
	f.text = text
	return nil
}

// addSettingFlags gives a command the flags of its settings.
func addSettingFlags(flags *pflag.FlagSet, widest scope) {
	flags.SortFlags = false
	for _, row := range new(Settings).table() {
		if row.scope > widest {
			continue
		}
		var value pflag.Value = &flagText{row.fallback, row.value.kind}
		if row.value.repeats {
			value = &flagList{flagText{row.fallback, row.value.kind}}
		}
		flag := flags.VarPF(value, row.name, "", row.help+" ["+row.env()+"]")
		if row.value.kind == "bool" {
			flag.NoOptDefVal = "true"
		}
	}
}

// mistake is one wrong setting: which, what was written where, which rule that
// breaks and what to do.
type mistake struct {
	setting, value, origin string
	rule
}

// Error is one sentence for the person who wrote the value.
func (m *mistake) Error() string {
	return fmt.Sprintf("%s: %q (%s) %s; %s", m.setting, m.value, m.origin, m.broken, m.remedy)
}

// mistakes are all wrong settings of one start.
type mistakes []error

// Error is one line for each mistake.
func (m mistakes) Error() string { return errors.Join(m...).Error() }

// Unwrap gives errors.Is and errors.As the single mistakes.
func (m mistakes) Unwrap() []error { return m }

// load reads the settings of a command: a flag wins over the environment, which
// wins over the files of --config-file, which win over the default. An empty variable
// counts as not set, since service managers and container files can hardly leave a
// variable out; an empty flag was typed by somebody and counts. The warnings name
// variables that start with BERTH_ and mean nothing, and options of the files that
// mean nothing or do nothing.
func load(flags *pflag.FlagSet, environ []string, widest scope) (settings *Settings, warnings []string, err error) {
	settings = &Settings{}
	variables := environment(environ)
	rows := settings.table()
	wrong := settings.openConf(rows, flags, variables)
	kept := rows[:0]
	for _, row := range rows {
		if row.scope > widest {
			continue
		}
		if broken := settings.fill(&row, flags, variables); broken != nil {
			row.wrong = true
			wrong = append(wrong, broken)
		}
		kept = append(kept, row)
	}
	settings.values = kept
	if settings.setting("database-url").text == "" {
		settings.PGVariables = libpqVariables(variables)
	}
	wrong = append(wrong, settings.brokenTogether()...)
	if len(wrong) > 0 {
		err = wrong
	}
	return settings, slices.Concat(unknownVariables(variables), settings.conf.warnings(widest), settings.unused()), err
}

// openConf reads the files that are asked before the defaults.
func (s *Settings) openConf(rows []setting, flags *pflag.FlagSet, variables map[string]string) mistakes {
	var files, dirs setting
	namedBy := ""
	for _, row := range rows {
		row.text, row.origin = find(row, flags, variables)
		switch {
		case row.name == "config-file":
			files = row
		case row.name == "config-dir":
			dirs = row
		case row.name == "database-url" && row.text != "":
			namedBy = row.origin
		}
	}
	if found := libpqVariables(variables); namedBy == "" && len(found) > 0 {
		namedBy = "environment " + strings.Join(found, ", ")
	}
	conf, wrong := openPlacementConf(files, dirs)
	conf.databaseNamedBy = namedBy
	s.conf = conf
	return wrong
}

// fill gives a row its text and origin, and the field behind it its value.
func (s *Settings) fill(row *setting, flags *pflag.FlagSet, variables map[string]string) error {
	row.text, row.origin = find(*row, flags, variables)
	if row.origin == originDefault {
		if found, ok := s.conf.find(*row); ok {
			row.text, row.origin = found.text, found.origin
			if found.broken != nil {
				// What cannot be used is kept as people may see it: where a password
				// ends in it is known to who read the file only.
				row.text = cmp.Or(found.shown, found.text)
				return &mistake{row.name, cmp.Or(found.shown, found.text), found.origin, *found.broken}
			}
		}
	}
	if broken := row.value.read(row.text); broken != nil {
		return &mistake{row.name, row.shown(), row.origin, *broken}
	}
	return nil
}

const originDefault = "default"

// placementConfigDir is the variable that names the directory of placement.conf for
// the service before.
const placementConfigDir = "OS_PLACEMENT_CONFIG_DIR"

// find returns the text of a setting and where it came from, the files aside.
func find(row setting, flags *pflag.FlagSet, variables map[string]string) (text, origin string) {
	if flag := flags.Lookup(row.name); flag != nil && flag.Changed {
		return flag.Value.String(), "flag --" + row.name
	}
	if text := variables[row.env()]; text != "" {
		return text, "environment " + row.env()
	}
	if dir := variables[placementConfigDir]; dir != "" && row.name == "config-file" {
		return filepath.Join(dir, "placement.conf"), "environment " + placementConfigDir
	}
	return row.fallback, originDefault
}

// setting returns a row that was loaded; an empty one when the command does not
// take it.
func (s *Settings) setting(name string) setting {
	for _, row := range s.values {
		if row.name == name {
			return row
		}
	}
	return setting{name: name}
}

func environment(environ []string) map[string]string {
	variables := make(map[string]string, len(environ))
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		variables[name] = value
	}
	return variables
}

// libpqVariables lists those of PostgreSQL's own variables that name a database.
// PGUSER or PGPASSWORD alone say who, not where, so they choose nothing.
func libpqVariables(variables map[string]string) []string {
	var found []string
	for _, name := range []string{"PGHOST", "PGDATABASE", "PGSERVICE"} {
		if variables[name] != "" {
			found = append(found, name)
		}
	}
	return found
}

// Variables of the tests and tools of the project; they share the prefix and are no
// settings.
var testVariables = []string{"BERTH_TEST_DATABASE_URL", "BERTH_VET_DATABASE_URL", "BERTH_CONFORMANCE"}

// unknownVariables warns of variables that look like settings. They do not stop
// the start: a newer or older berth may know them, and environments are shared.
func unknownVariables(variables map[string]string) []string {
	known := slices.Concat(testVariables, connectVariables(), agentVariables())
	for _, row := range new(Settings).table() {
		known = append(known, row.env())
	}
	var warnings []string
	for name := range variables {
		if strings.HasPrefix(name, "BERTH_") && !slices.Contains(known, name) {
			warnings = append(warnings, fmt.Sprintf(
				"the environment variable %s is not a setting of this version and is ignored; the nearest name is %s", name, nearest(name, known)))
		}
	}
	slices.Sort(warnings)
	return warnings
}

// nearest returns the known name with the fewest letters to change.
func nearest(name string, known []string) string {
	return slices.MinFunc(known, func(a, b string) int {
		return distance(name, a) - distance(name, b)
	})
}

// distance counts the letters to add, remove, replace or swap with their neighbour.
func distance(a, b string) int {
	before, row := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next := make([]int, len(b)+1)
		next[0] = i + 1
		for j := range len(b) {
			change := row[j]
			if a[i] != b[j] {
				change++
			}
			next[j+1] = min(change, next[j]+1, row[j+1]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row = row, next
	}
	return row[len(b)]
}
