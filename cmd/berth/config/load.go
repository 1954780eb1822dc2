package config

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/cmd/berth/setting"
)

// described are all settings without values: each of the many commands with flags of settings reads their names and texts.
var described = sync.OnceValue(func() []setting.Setting { return new(Settings).Table() })

// AddFlags adds the flags of all settings up to the scope widest; those of the server have groups in the help.
func AddFlags(flags *pflag.FlagSet, widest setting.Scope) {
	flags.SortFlags = false
	for _, row := range described() {
		if row.Scope > widest {
			continue
		}
		var value pflag.Value = &setting.FlagText{Text: row.Fallback, Kind: row.Value.Kind}
		if row.Value.Repeats {
			value = &setting.FlagList{FlagText: setting.FlagText{Text: row.Fallback, Kind: row.Value.Kind}}
		}
		flag := flags.VarPF(value, row.Name, "", row.Help+" ["+row.Env()+"]")
		if row.Value.Kind == "bool" {
			flag.NoOptDefVal = "true"
		}
		if widest == ForServer {
			flag.Annotations = helpAnnotations(row.Name)
		}
	}
	if widest == ForServer {
		frame.AddHelpAll(flags, helpGroupTitles())
	}
}

// Read reads the settings of a command: a flag takes precedence over the environment, the
// environment over the files of --config-file, and these over the default. An empty variable
// counts as unset, because service managers and container files can hardly omit a variable; an
// empty flag counts as set. The warnings list unknown variables that start with BERTH_, and
// options of the files that are unknown or have no effect.
func Read(f *frame.Frame, flags *pflag.FlagSet, widest setting.Scope) (settings *Settings, warnings []string, err error) {
	settings = &Settings{}
	variables := frame.Environment(f.Environ)
	rows := settings.Table()
	wrong := settings.openConf(rows, flags, variables)
	kept := rows[:0]
	for _, row := range rows {
		if row.Scope > widest {
			continue
		}
		if broken := settings.fill(&row, flags, variables); broken != nil {
			row.Wrong = true
			wrong = append(wrong, broken)
		}
		kept = append(kept, row)
	}
	settings.values = kept
	if broken := settings.readDatabaseURLFile(); broken != nil {
		wrong = append(wrong, broken)
	}
	if settings.Row("database-url").Text == "" {
		settings.PGVariables = libpqVariables(variables)
	}
	wrong = append(wrong, settings.validateCombination()...)
	if len(wrong) > 0 {
		err = wrong
	}
	return settings, slices.Concat(UnknownVariables(f), settings.Conf.warnings(widest), settings.unused()), err
}

// openConf reads the configuration files, whose values take precedence over the defaults.
func (s *Settings) openConf(rows []setting.Setting, flags *pflag.FlagSet, variables map[string]string) frame.InputErrors {
	var files, dirs setting.Setting
	namedBy := ""
	for _, row := range rows {
		row.Text, row.Origin = find(row, flags, variables)
		switch {
		case row.Name == "config-file":
			files = row
		case row.Name == "config-dir":
			dirs = row
		case (row.Name == "database-url" || row.Name == "database-url-file") && row.Text != "":
			namedBy = row.Origin
		}
	}
	if found := libpqVariables(variables); namedBy == "" && len(found) > 0 {
		namedBy = "environment " + strings.Join(found, ", ")
	}
	conf, wrong := openPlacementConf(files, dirs)
	conf.databaseNamedBy = namedBy
	s.Conf = conf
	return wrong
}

// fill sets the text and origin of a row and stores its value into the field of the setting.
func (s *Settings) fill(row *setting.Setting, flags *pflag.FlagSet, variables map[string]string) error {
	row.Text, row.Origin = find(*row, flags, variables)
	if row.Origin == setting.OriginDefault {
		if found, ok := s.Conf.find(*row); ok {
			row.Text, row.Origin = found.text, found.origin
			if found.broken != nil {
				// The row keeps the masked text of an invalid value: only the parser of the file
				// knows where a password ends in it.
				row.Text = cmp.Or(found.shown, found.text)
				return &frame.InputError{Setting: row.Name, Value: cmp.Or(found.shown, found.text), Origin: found.origin, Rule: *found.broken}
			}
		}
	}
	if broken := row.Value.Read(row.Text); broken != nil {
		return &frame.InputError{Setting: row.Name, Value: row.Shown(), Origin: row.Origin, Rule: *broken}
	}
	return nil
}

// readDatabaseURLFile sets database-url to the content of --database-url-file.
func (s *Settings) readDatabaseURLFile() error {
	file := s.Row("database-url-file")
	if file.Text == "" {
		return nil
	}
	wrong := func(broken, remedy string) error {
		return &frame.InputError{Setting: file.Name, Value: file.Text, Origin: file.Origin, Rule: frame.Rule{Broken: broken, Remedy: remedy}}
	}
	i := slices.IndexFunc(s.values, func(row setting.Setting) bool { return row.Name == "database-url" })
	row := &s.values[i]
	if row.Text != "" {
		return wrong("is set beside --database-url ("+row.Origin+"), but only one of them may be set", "remove one of them")
	}
	content, err := os.ReadFile(file.Text)
	if err != nil {
		return wrong(fmt.Sprintf("cannot be read (%v)", err), "name a file that this user may read")
	}
	found := strings.TrimRight(string(content), "\r\n")
	if found == "" {
		return wrong("is empty", "write the database URL into the file")
	}
	row.Text, row.Origin = found, "file "+file.Text
	if broken := row.Value.Read(row.Text); broken != nil {
		row.Wrong = true
		return &frame.InputError{Setting: row.Name, Value: row.Shown(), Origin: row.Origin, Rule: *broken}
	}
	return nil
}

// placementConfigDir is the variable with which OpenStack Placement finds the directory of
// placement.conf.
const placementConfigDir = "OS_PLACEMENT_CONFIG_DIR"

// find returns the text of a setting and its origin, without the configuration files.
func find(row setting.Setting, flags *pflag.FlagSet, variables map[string]string) (text, origin string) {
	if flag := flags.Lookup(row.Name); flag != nil && flag.Changed {
		return flag.Value.String(), "flag --" + row.Name
	}
	if text := variables[row.Env()]; text != "" {
		return text, "environment " + row.Env()
	}
	if dir := variables[placementConfigDir]; dir != "" && row.Name == "config-file" {
		return filepath.Join(dir, "placement.conf"), "environment " + placementConfigDir
	}
	return row.Fallback, setting.OriginDefault
}

// Row returns the row of a setting; an empty row if the command does not have the setting.
func (s *Settings) Row(name string) setting.Setting {
	for _, row := range s.values {
		if row.Name == name {
			return row
		}
	}
	return setting.Setting{Name: name}
}

// libpqVariables returns the PG* variables in the environment that select a database. PGUSER and
// PGPASSWORD do not select one.
func libpqVariables(variables map[string]string) []string {
	var found []string
	for _, name := range []string{"PGHOST", "PGDATABASE", "PGSERVICE"} {
		if variables[name] != "" {
			found = append(found, name)
		}
	}
	return found
}

// testVariables are variables of the project's tests and tools, which share the prefix but are
// not settings.
var testVariables = []string{"BERTH_TEST_BROWSER", "BERTH_TEST_DATABASE_URL", "BERTH_TEST_POSTGRES_BINARIES", "BERTH_VET_DATABASE_URL", "BERTH_CONFORMANCE"}

// UnknownVariables returns a warning for each unknown variable that starts with BERTH_. Such
// variables are not errors, because another version of Berth may know them.
func UnknownVariables(f *frame.Frame) []string {
	known := slices.Concat(testVariables, f.Variables)
	for _, row := range new(Settings).Table() {
		known = append(known, row.Env())
	}
	var warnings []string
	for name := range frame.Environment(f.Environ) {
		if strings.HasPrefix(name, "BERTH_") && !slices.Contains(known, name) {
			warnings = append(warnings, fmt.Sprintf(
				"ignoring the unknown environment variable %s; the nearest name is %s", name, frame.Nearest(name, known)))
		}
	}
	slices.Sort(warnings)
	return warnings
}

// Load reads the settings of a command and prints the warnings on standard error.
func Load(f *frame.Frame, c *cobra.Command, widest setting.Scope) (*Settings, error) {
	settings, warnings, err := Read(f, c.Flags(), widest)
	for _, warning := range warnings {
		fmt.Fprintf(f.Stderr, "berth: warning: %s\n", warning)
	}
	return settings, err
}
