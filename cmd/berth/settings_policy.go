package main

import (
	"fmt"
	"path/filepath"
	"slices"
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
// directory of that file. Without such a file the defaults name nothing: a file that
// lies about where berth is started decides nothing unasked.
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
	return row.origin != originDefault || s.configDir() != ""
}

func (s *Settings) seenFrom(row setting, path string) string {
	if filepath.IsAbs(path) || typed(row) {
		return path
	}
	return filepath.Join(s.configDir(), path)
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
	row := s.setting("policy-file")
	if err == nil && files.Main != "" && row.origin != originDefault && !slices.Contains(opened.Paths(), files.Main) {
		problems = append(problems, policy.Problem{
			Text: fmt.Sprintf("%s (%s) does not exist, so no rule is read from it", files.Main, row.origin),
		})
	}
	return opened, problems, err
}
