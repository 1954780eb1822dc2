package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/cmd/berth/osloconf"
	"github.com/berthd/berth/cmd/berth/setting"
)

// placementConf is a configuration of OpenStack Placement: the entries of all files of
// --config-file and --config-dir, in reading order. confOptions maps its options to settings.
//
// Berth reads only files that a setting names. It does not search the default directories of
// oslo.config (/etc/placement, ~/.placement and so on): on a host with the openstack-placement
// package installed, its file would change the behavior of every berth there.
type placementConf struct {
	options []confOption
	paths   []string
	entries []osloconf.Entry
	// dirs are the directories for relative paths in the files, in search order: those of
	// --config-dir, then those of the files, the last file first.
	dirs []string
	// databaseNamedBy is the origin of a database setting that overrides the files; empty if
	// there is none.
	databaseNamedBy string
}

// openPlacementConf reads the files that the settings config-file and config-dir name. It returns
// one error for each file that cannot be read.
func openPlacementConf(files, dirs setting.Setting) (*placementConf, []error) {
	c := &placementConf{options: confOptions()}
	var wrong []error
	for _, path := range setting.SplitList(files.Text) {
		wrong = append(wrong, c.read(path, files))
		c.dirs = append([]string{filepath.Dir(path)}, c.dirs...)
	}
	for _, dir := range setting.SplitList(dirs.Text) {
		found, err := os.ReadDir(dir)
		if err != nil {
			wrong = append(wrong, unreadable(dir, dirs, err))
			continue
		}
		// ReadDir sorts by name. Editors create hidden files.
		for _, file := range found {
			if name := file.Name(); strings.HasSuffix(name, ".conf") && !strings.HasPrefix(name, ".") && !file.IsDir() {
				wrong = append(wrong, c.read(filepath.Join(dir, name), dirs))
			}
		}
	}
	c.dirs = append(setting.SplitList(dirs.Text), c.dirs...)
	return c, slices.DeleteFunc(wrong, func(err error) bool { return err == nil })
}

func (c *placementConf) read(path string, from setting.Setting) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return unreadable(path, from, err)
	}
	entries, err := osloconf.Parse(path, content)
	c.paths = append(c.paths, path)
	c.entries = append(c.entries, entries...)
	return err
}

func unreadable(path string, from setting.Setting, err error) error {
	var failed *os.PathError
	if errors.As(err, &failed) {
		err = failed.Err
	}
	return &frame.InputError{Setting: from.Name, Value: path, Origin: from.Origin, Rule: frame.Rule{
		Broken: fmt.Sprintf("cannot be read (%v)", err), Remedy: "name an existing, readable file or directory, or omit the setting",
	}}
}

// given reports whether a setting names files or a directory. A directory without files must not
// disable Keystone.
func (c *placementConf) given() bool { return len(c.dirs) > 0 }

// place returns the origin of an entry for messages.
func place(e osloconf.Entry) string {
	return fmt.Sprintf("file %s:%d [%s]%s", e.Path, e.Line, e.Group, e.Option)
}

// fromFile is the value of a setting in the files.
type fromFile struct {
	text, origin string
	// shown is the text for output if it differs.
	shown string
	// broken is the rule that the value breaks; text is then the text of the file.
	broken *frame.Rule
}

// find returns the value of a setting in the files. ok is false if the files do not set it.
func (c *placementConf) find(row setting.Setting) (found fromFile, ok bool) {
	for _, option := range c.options {
		if option.setting != row.Name || c.databaseNamedBy != "" && (row.Name == "database-url" || row.Name == "replica-url") {
			continue
		}
		entries := c.every(option)
		if len(entries) == 0 {
			continue
		}
		if found, ok = c.convert(option, row, entries); ok {
			return found, true
		}
	}
	if row.Name == "auth" && c.given() {
		return fromFile{text: AuthKeystone, origin: "default of placement.conf"}, true
	}
	return fromFile{}, false
}

// convert converts the entries of an option to the value of a setting. It uses the last entry
// unless the option is multi-valued. ok is false for a value that means the same as none.
func (c *placementConf) convert(option confOption, row setting.Setting, entries []osloconf.Entry) (found fromFile, ok bool) {
	last := entries[len(entries)-1]
	found.origin = place(last)
	texts := []string{}
	for _, entry := range entries {
		text, err := c.expand(entry)
		if err != nil {
			found.text, found.shown = entry.Text, hideIf(row.Value.Secret, entry.Text)
			found.broken = &frame.Rule{Broken: err.Error(), Remedy: "write the value itself, or $$ for a dollar sign"}
			if row.Value.Secret {
				// The apparent option name is a part of the secret.
				found.broken.Broken = "contains a dollar sign, which starts a reference to an option, and the option does not exist"
			}
			return found, true
		}
		texts = append(texts, text)
	}
	found.text = texts[len(texts)-1]
	if option.multi {
		found.text = strings.Join(texts, ",")
	}
	if option.read != nil {
		return option.read(c, found)
	}
	return inKind(row.Value.Kind, found)
}

func hideIf(secret bool, text string) string {
	if secret && text != "" {
		return setting.Mask
	}
	return text
}

// inKind converts a value of the file to the syntax of the setting.
func inKind(kind string, found fromFile) (fromFile, bool) {
	switch kind {
	case "bool":
		value, ok := osloconf.Bool(found.text)
		if !ok {
			found.broken = &frame.Rule{Broken: "is neither true nor false", Remedy: "write true or false"}
			return found, true
		}
		found.text = fmt.Sprint(value)
	case "duration":
		// Durations in the files are in seconds.
		if found.text != "" && strings.Trim(found.text, "0123456789") == "" {
			found.text += "s"
		}
		return found, found.text != ""
	case "number":
		return found, found.text != ""
	}
	return found, true
}

// expand replaces the references in a value.
func (c *placementConf) expand(entry osloconf.Entry) (string, error) {
	return osloconf.Expand(entry.Group, entry.Text, func(group, name string) (string, bool) {
		for _, option := range c.options {
			if option.Name != name || !osloconf.SameGroup(option.group, group) {
				continue
			}
			if entries := c.every(option); len(entries) > 0 {
				return entries[len(entries)-1].Text, true
			}
			return option.fallback, true
		}
		return "", false
	})
}

// every returns the entries of an option under all its names. The current name wins over
// deprecated names, in any position, unless the option is multi-valued.
func (c *placementConf) every(option confOption) []osloconf.Entry {
	group := option.group
	if option.plugin {
		group = c.authSection()
	}
	var found []osloconf.Entry
	for _, alias := range slices.Backward(option.aliases) {
		of, name, dotted := strings.Cut(alias, ".")
		if !dotted {
			of, name = group, alias
		}
		found = append(found, osloconf.Every(c.entries, of, name)...)
	}
	return append(found, osloconf.Every(c.entries, group, option.Name)...)
}

// authSection returns the group with the credentials for Keystone.
func (c *placementConf) authSection() string {
	section, ok := osloconf.Last(c.entries, authGroup, "auth_section")
	if !ok || section.Text == "" {
		return authGroup
	}
	return section.Text
}

// optionOf returns the option that an entry sets, by current or deprecated name.
func (c *placementConf) optionOf(entry osloconf.Entry) (confOption, bool) {
	for _, option := range c.options {
		if slices.ContainsFunc(c.every(option), func(e osloconf.Entry) bool { return e == entry }) {
			return option, true
		}
	}
	return confOption{}, false
}

// configDirs returns the directories for relative paths of the configuration in search order;
// none if no file is named.
func (s *Settings) configDirs() []string {
	if s.Conf == nil {
		return nil // settings that were not loaded
	}
	return s.Conf.dirs
}
