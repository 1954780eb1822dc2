package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/cmd/berth/osloconf"
	"github.com/berthd/berth/cmd/berth/setting"
)

// warnings returns the warnings about the files: unknown options, and options without effect.
func (c *placementConf) warnings(widest setting.Scope) []string {
	return append(c.unknown(), c.Notes(widest)...)
}

// Notes returns the warnings that require no action: options without effect in Berth. They matter
// to commands that take all settings.
func (c *placementConf) Notes(widest setting.Scope) []string {
	var notes []string
	if widest == ForServer {
		notes = c.withoutEffect()
	}
	if note := c.databaseNote(); note != "" {
		notes = append(notes, note)
	}
	return notes
}

// unknown returns a warning for each unknown option, with the nearest known name, and one for
// each unknown group.
func (c *placementConf) unknown() []string {
	var warnings []string
	groups := map[string]bool{}
	for _, entry := range c.entries {
		if _, known := c.optionOf(entry); known {
			continue
		}
		names := c.namesIn(entry.Group)
		if osloconf.SameGroup(entry.Group, authGroup) && slices.Contains(names, entry.Option) {
			warnings = append(warnings, fmt.Sprintf("%s:%d: [%s]%s is ignored, because auth_section names the group [%s]",
				entry.Path, entry.Line, entry.Group, entry.Option, c.authSection()))
			continue
		}
		if len(names) == 0 {
			if !groups[entry.Group] {
				groups[entry.Group] = true
				warnings = append(warnings, fmt.Sprintf("%s:%d: the group [%s] is unknown, so that its options are ignored; the nearest name is [%s]",
					entry.Path, entry.Line, entry.Group, frame.Nearest(entry.Group, c.groups())))
			}
			continue
		}
		warnings = append(warnings, fmt.Sprintf("%s:%d: [%s]%s is not a known option and is ignored; the nearest name is %s",
			entry.Path, entry.Line, entry.Group, entry.Option, frame.Nearest(entry.Option, names)))
	}
	return warnings
}

// namesIn returns the names of the options of a group; none if the group is unknown.
func (c *placementConf) namesIn(group string) []string {
	if osloconf.SameGroup(c.authSection(), group) {
		group = authGroup
	}
	var names []string
	for _, option := range c.options {
		if osloconf.SameGroup(option.group, group) {
			names = append(names, option.Name)
		}
	}
	return names
}

func (c *placementConf) groups() []string {
	var groups []string
	for _, option := range c.options {
		if !slices.Contains(groups, option.group) {
			groups = append(groups, option.group)
		}
	}
	return groups
}

// withoutEffect returns one warning per reason for the known options that have no effect in
// Berth.
func (c *placementConf) withoutEffect() []string {
	var reasons []string
	options := map[string][]string{}
	for _, entry := range c.entries {
		option, known := c.optionOf(entry)
		if !known || option.unused == "" || option.quiet || slices.Contains(option.same, strings.ToLower(entry.Text)) {
			continue
		}
		if options[option.unused] == nil {
			reasons = append(reasons, option.unused)
		}
		name := fmt.Sprintf("[%s]%s (%s:%d)", entry.Group, entry.Option, entry.Path, entry.Line)
		options[option.unused] = append(options[option.unused], name)
	}
	var warnings []string
	for _, reason := range reasons {
		verb := "has"
		if len(options[reason]) > 1 {
			verb = "have"
		}
		warnings = append(warnings, fmt.Sprintf("%s %s no effect: %s", strings.Join(options[reason], ", "), verb, reason))
	}
	return warnings
}

// databaseNote returns a note if another setting overrides the database of the files.
func (c *placementConf) databaseNote() string {
	entry, ok := osloconf.Last(c.entries, "placement_database", "connection")
	if !ok || c.databaseNamedBy == "" || entry.Text == "" {
		return ""
	}
	return fmt.Sprintf("[placement_database]connection (%s:%d) is not used: %s names the database of Berth", entry.Path, entry.Line, c.databaseNamedBy)
}
