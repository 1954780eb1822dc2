package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/berthd/berth/server/policy"
)

// policySettings say what callers may do.
type policySettings struct {
	EnforceNewDefaults bool
	EnforceScope       bool
	PolicyFile         string
	PolicyDirs         []string
	PolicyDefaultRule  string
}

// Where rules are looked for when nobody says where.
const (
	defaultPolicyFile  = "policy.yaml"
	fallbackPolicyFile = "policy.json"
	defaultPolicyDir   = "policy.d"
)

func (s *policySettings) table() []setting {
	return []setting{
		{name: "policy-file", fallback: defaultPolicyFile, scope: forServer, value: policyPath(&s.PolicyFile),
			help: "`file` of rules, YAML or JSON, that replace the default rules; read again when it changes. One named by a flag or the " +
				"environment must exist. The default is looked for beside --config-file only, and policy.json in its place"},
		{name: "policy-dirs", fallback: defaultPolicyDir, scope: forServer, value: policyPaths(&s.PolicyDirs),
			help: "`directories` with more files of rules, which are read after --policy-file, sorted by name"},
		{name: "policy-default-rule", fallback: "default", scope: forServer, value: text(&s.PolicyDefaultRule),
			help: "`name` of the rule that stands in for those that rules refer to and nobody defined"},
		{name: "enforce-scope", fallback: "true", scope: forServer, value: boolean(&s.EnforceScope),
			help: "refuse tokens for the system or a domain where an operation is a matter of projects"},
		{name: "enforce-new-defaults", fallback: "true", scope: forServer, value: boolean(&s.EnforceNewDefaults),
			help: "use the new policy defaults only; false lets the admin role do everything again, reshaping included"},
	}
}

func policyPath(field *string) reader {
	return reader{kind: "file", read: func(text string) *rule {
		*field = text
		return nil
	}}
}

func policyPaths(field *[]string) reader {
	return reader{kind: "directories", repeats: true, read: func(text string) *rule {
		*field = splitList(text)
		return nil
	}}
}

// policyFiles says where rules are looked for. What a person types is seen from where
// it is typed; what stands in a configuration file, and the defaults, from the
// directories of the configuration. Without such a file the defaults name nothing: a
// file that lies about where berth is started decides nothing unasked.
func (s *Settings) policyFiles() policy.Files {
	var files policy.Files
	row := s.setting("policy-file")
	if s.PolicyFile != "" && s.counts(row) {
		files.Main = s.seenFrom(row, s.PolicyFile)
		files.Required = typed(row)
	}
	if files.Main != "" && row.origin == originDefault {
		files.Fallback = s.seenFrom(row, fallbackPolicyFile)
	}
	if row = s.setting("policy-dirs"); s.counts(row) {
		for _, dir := range s.PolicyDirs {
			files.Dirs = append(files.Dirs, s.seenFrom(row, dir))
		}
	}
	return files
}

// counts says whether a setting of a path names anything.
func (s *Settings) counts(row setting) bool {
	return row.origin != originDefault || len(s.configDirs()) > 0
}

// seenFrom is where a path leads: what is relative in a configuration file is looked
// for in one directory after the other. What is nowhere would be in the first.
func (s *Settings) seenFrom(row setting, path string) string {
	if filepath.IsAbs(path) || typed(row) {
		return path
	}
	dirs := s.configDirs()
	for _, dir := range dirs {
		if found := filepath.Join(dir, path); !missing(found) {
			return found
		}
	}
	return filepath.Join(dirs[0], path)
}

// missing says that there is no such file. One that may not be looked at is there.
func missing(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// typed says whether a setting was given for this very start.
func typed(row setting) bool {
	return strings.HasPrefix(row.origin, "flag ") || strings.HasPrefix(row.origin, "environment ")
}

// openPolicy reads the rules. The problems are for people to see, whatever the error.
func (s *Settings) openPolicy() (*policy.Policy, []policy.Problem, error) {
	files := s.policyFiles()
	opened, problems, err := policy.Open(policy.Options{
		EnforceNewDefaults: s.EnforceNewDefaults, AnyScope: !s.EnforceScope, DefaultRule: s.PolicyDefaultRule,
	}, files)
	if err == nil {
		problems = append(problems, s.missingRules(files)...)
	}
	return opened, problems, err
}

// missingRules tells of files and directories that somebody named and that are not
// there: the defaults in their place may allow too much.
func (s *Settings) missingRules(files policy.Files) []policy.Problem {
	var problems []policy.Problem
	look := func(row setting, paths ...string) {
		for _, path := range paths {
			if path != "" && row.origin != originDefault && missing(path) {
				problems = append(problems, policy.Problem{
					Text: fmt.Sprintf("%s (%s) does not exist, so no rule is read from it", path, row.origin),
				})
			}
		}
	}
	look(s.setting("policy-file"), files.Main)
	look(s.setting("policy-dirs"), files.Dirs...)
	return problems
}
