package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/berthd/berth/cmd/berth/osloconf"
)

// warnings are what a person should know about the files: options that nobody knows,
// and what of the rest is not used.
func (c *placementConf) warnings(widest scope) []string {
	return append(c.unknown(), c.notes(widest)...)
}

// notes are the warnings that ask for nothing: the files say what has no effect here,
// which matters to those who take all settings.
func (c *placementConf) notes(widest scope) []string {
	var notes []string
	if widest == forServer {
		notes = c.withoutEffect()
	}
	if note := c.databaseNote(); note != "" {
		notes = append(notes, note)
	}
	return notes
}

// unknown names the options that are in no table, each with the nearest that is. An
// unknown group is named once.
func (c *placementConf) unknown() []string {
	var warnings []string
	groups := map[string]bool{}
	for _, entry := range c.entries {
		if _, known := c.optionOf(entry); known {
			continue
		}
		names := c.namesIn(entry.Group)
		if osloconf.SameGroup(entry.Group, authGroup) && slices.Contains(names, entry.Option) {
			warnings = append(warnings, fmt.Sprintf("%s:%d: [%s]%s is ignored, because auth_section says that it stands in [%s]",
				entry.Path, entry.Line, entry.Group, entry.Option, c.authSection()))
			continue
		}
		if len(names) == 0 {
			if !groups[entry.Group] {
				groups[entry.Group] = true
				warnings = append(warnings, fmt.Sprintf("%s:%d: the group [%s] is not one of this service's, so that its options are ignored; the nearest name is [%s]",
					entry.Path, entry.Line, entry.Group, nearest(entry.Group, c.groups())))
			}
			continue
		}
		warnings = append(warnings, fmt.Sprintf("%s:%d: [%s]%s is not an option of this service and is ignored; the nearest name is %s",
			entry.Path, entry.Line, entry.Group, entry.Option, nearest(entry.Option, names)))
	}
	return warnings
}

// namesIn are the names of the options of a group; none where the group is unknown.
func (c *placementConf) namesIn(group string) []string {
	if osloconf.SameGroup(c.authSection(), group) {
		group = authGroup
	}
	var names []string
	for _, option := range c.options {
		if osloconf.SameGroup(option.group, group) {
			names = append(names, option.name)
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

// withoutEffect names the options that are known and do nothing here: one warning for
// each reason.
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

// databaseNote says that the database of the files is not used, since another is named.
func (c *placementConf) databaseNote() string {
	entry, ok := osloconf.Last(c.entries, "placement_database", "connection")
	if !ok || c.databaseNamedBy == "" || entry.Text == "" {
		return ""
	}
	return fmt.Sprintf("[placement_database]connection (%s:%d) is not used: %s names the database of Berth", entry.Path, entry.Line, c.databaseNamedBy)
}
