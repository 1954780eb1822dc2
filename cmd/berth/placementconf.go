package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/berthd/berth/cmd/berth/osloconf"
)

// placementConf is the configuration of the service before: the entries of all files
// of --config-file and --config-dir, in the order in which they were read. What an
// option means here is in confOptions.
//
// Files are read only when somebody names them. The usual places (/etc/placement,
// ~/.placement and so on) are not searched: a machine may have the old package
// installed, and then its file would change what every berth there does, unasked.
type placementConf struct {
	options []confOption
	paths   []string
	entries []osloconf.Entry
	// dirs are where relative paths in the files are looked for, in this order: those
	// of --config-dir, then those of the files, the last of which wins.
	dirs []string
	// databaseNamedBy is the origin that names the database instead of the files;
	// empty when that is left to them.
	databaseNamedBy string
}

// openPlacementConf reads the files that the settings config-file and config-dir name.
// The error joins all that cannot be read.
func openPlacementConf(files, dirs setting) (*placementConf, []error) {
	c := &placementConf{options: confOptions()}
	var wrong []error
	for _, path := range splitList(files.text) {
		wrong = append(wrong, c.read(path, files))
		c.dirs = append([]string{filepath.Dir(path)}, c.dirs...)
	}
	for _, dir := range splitList(dirs.text) {
		found, err := os.ReadDir(dir)
		if err != nil {
			wrong = append(wrong, unreadable(dir, dirs, err))
			continue
		}
		// ReadDir sorts by name. Hidden files are those of editors.
		for _, file := range found {
			if name := file.Name(); strings.HasSuffix(name, ".conf") && !strings.HasPrefix(name, ".") && !file.IsDir() {
				wrong = append(wrong, c.read(filepath.Join(dir, name), dirs))
			}
		}
	}
	c.dirs = append(splitList(dirs.text), c.dirs...)
	return c, slices.DeleteFunc(wrong, func(err error) bool { return err == nil })
}

func (c *placementConf) read(path string, from setting) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return unreadable(path, from, err)
	}
	entries, err := osloconf.Parse(path, content)
	c.paths = append(c.paths, path)
	c.entries = append(c.entries, entries...)
	return err
}

func unreadable(path string, from setting, err error) error {
	var failed *os.PathError
	if errors.As(err, &failed) {
		err = failed.Err
	}
	return &mistake{from.name, path, from.origin, rule{
		fmt.Sprintf("cannot be read (%v)", err), "name what exists and may be read, or leave the setting out",
	}}
}

// given says whether somebody named files, or a directory of them: one that turns out
// to hold none must not switch Keystone off.
func (c *placementConf) given() bool { return len(c.dirs) > 0 }

// place is the origin of an entry, for people.
func place(e osloconf.Entry) string {
	return fmt.Sprintf("file %s:%d [%s]%s", e.Path, e.Line, e.Group, e.Option)
}

// fromFile is what the files say about a setting.
type fromFile struct {
	text, origin string
	// shown is the text for people where it differs.
	shown string
	// broken is the rule that the file breaks; text is then the file's.
	broken *rule
}

// find looks a setting up. ok is false when the files say nothing about it.
func (c *placementConf) find(row setting) (found fromFile, ok bool) {
	for _, option := range c.options {
		if option.setting != row.name || c.databaseNamedBy != "" && (row.name == "database-url" || row.name == "replica-url") {
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
	if row.name == "auth" && c.given() {
		return fromFile{text: authKeystone, origin: "default of placement.conf"}, true
	}
	return fromFile{}, false
}

// convert makes the value of a setting out of the entries of an option; the last
// counts unless the option may be given more than once. ok is false for a value that
// means the same as none.
func (c *placementConf) convert(option confOption, row setting, entries []osloconf.Entry) (found fromFile, ok bool) {
	last := entries[len(entries)-1]
	found.origin = place(last)
	texts := []string{}
	for _, entry := range entries {
		text, err := c.expand(entry)
		if err != nil {
			found.text, found.shown = entry.Text, hideIf(row.value.secret, entry.Text)
			found.broken = &rule{err.Error(), "write the value itself, or $$ for a dollar sign"}
			if row.value.secret {
				// What looks like a name is a part of the secret.
				found.broken.broken = "has a dollar sign, which begins the name of an option here, and there is no such option"
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
	return inKind(row.value.kind, found)
}

func hideIf(secret bool, text string) string {
	if secret && text != "" {
		return mask
	}
	return text
}

// inKind writes a value of the file as our readers want it.
func inKind(kind string, found fromFile) (fromFile, bool) {
	switch kind {
	case "bool":
		value, ok := osloconf.Bool(found.text)
		if !ok {
			found.broken = &rule{"is neither true nor false", "write true or false"}
			return found, true
		}
		found.text = fmt.Sprint(value)
	case "duration":
		// The files count seconds.
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
			if option.name != name || !osloconf.SameGroup(option.group, group) {
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

// every finds the entries of an option under all its names. The name of today wins
// over those of before, wherever they stand, unless all of them count.
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
	return append(found, osloconf.Every(c.entries, group, option.name)...)
}

// authSection is the group that holds what the service signs in with.
func (c *placementConf) authSection() string {
	section, ok := osloconf.Last(c.entries, authGroup, "auth_section")
	if !ok || section.Text == "" {
		return authGroup
	}
	return section.Text
}

// optionOf is the option that an entry sets, under whichever name.
func (c *placementConf) optionOf(entry osloconf.Entry) (confOption, bool) {
	for _, option := range c.options {
		if slices.ContainsFunc(c.every(option), func(e osloconf.Entry) bool { return e == entry }) {
			return option, true
		}
	}
	return confOption{}, false
}

// configDirs are the directories in which relative paths of the configuration are
// looked for, the first first; none where no file is named.
func (s *Settings) configDirs() []string {
	if s.conf == nil {
		return nil // settings that were not loaded
	}
	return s.conf.dirs
}
