package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/cmd/berth/setting"
	"github.com/berthd/berth/server/identity/policy"
)

// PolicySettings holds the settings of the authorization policy.
type PolicySettings struct {
	Policy     policy.Options
	PolicyFile string
	PolicyDirs []string
}

// Default policy file and directory.
const (
	defaultPolicyFile  = "policy.yaml"
	fallbackPolicyFile = "policy.json"
	defaultPolicyDir   = "policy.d"
)

func (s *PolicySettings) Table() []setting.Setting {
	return []setting.Setting{
		{Name: "policy-file", Fallback: defaultPolicyFile, Scope: ForServer, Value: policyPath(&s.PolicyFile),
			Help: "policy `file`, YAML or JSON, whose rules override the defaults; reloaded when it changes. A file named by a flag or the " +
				"environment must exist. The default is searched only in the directories of --config-file, with policy.json as fallback"},
		{Name: "policy-dirs", Fallback: defaultPolicyDir, Scope: ForServer, Value: policyPaths(&s.PolicyDirs),
			Help: "`directories` of further policy files, which are read after --policy-file, in order of their names"},
		{Name: "policy-default-rule", Fallback: "default", Scope: ForServer, Value: setting.Text(&s.Policy.DefaultRule),
			Help: "`name` of the rule that replaces references to undefined rules"},
		{Name: "enforce-scope", Fallback: "true", Scope: ForServer, Value: setting.Boolean(&s.Policy.EnforceScope),
			Help: "deny system- and domain-scoped tokens on project-scoped operations"},
		{Name: "enforce-new-defaults", Fallback: "true", Scope: ForServer, Value: setting.Boolean(&s.Policy.EnforceNewDefaults),
			Help: "enforce the new policy defaults only; if false, the admin role is authorized for all operations, including POST /reshaper"},
	}
}

func policyPath(field *string) setting.Reader {
	return setting.Reader{Kind: "file", Read: func(text string) *frame.Rule {
		*field = text
		return nil
	}}
}

func policyPaths(field *[]string) setting.Reader {
	return setting.Reader{Kind: "directories", Repeats: true, Read: func(text string) *frame.Rule {
		*field = setting.SplitList(text)
		return nil
	}}
}

// policyFiles returns the files and directories of policy rules. Paths in flags and the
// environment are relative to the working directory. Paths in a configuration file, and the
// defaults, are relative to the directories of the configuration. Without a configuration file
// the defaults name no file, so that a file in the working directory has no effect.
func (s *Settings) policyFiles() policy.Files {
	var files policy.Files
	row := s.Row("policy-file")
	if s.PolicyFile != "" && s.isPathSet(row) {
		files.Main = s.resolvePath(row, s.PolicyFile)
		files.Required = isExplicit(row)
	}
	if files.Main != "" && row.Origin == setting.OriginDefault {
		files.Fallback = s.resolvePath(row, fallbackPolicyFile)
	}
	if row = s.Row("policy-dirs"); s.isPathSet(row) {
		for _, dir := range s.PolicyDirs {
			files.Dirs = append(files.Dirs, s.resolvePath(row, dir))
		}
	}
	return files
}

// isPathSet reports whether a path setting is not empty.
func (s *Settings) isPathSet(row setting.Setting) bool {
	return row.Origin != setting.OriginDefault || len(s.configDirs()) > 0
}

// resolvePath returns the absolute path of a setting. It searches a relative path of a
// configuration file in the directories of the configuration, and returns a path in the first
// directory if no file exists.
func (s *Settings) resolvePath(row setting.Setting, path string) string {
	if filepath.IsAbs(path) || isExplicit(row) {
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

// missing reports whether a file does not exist. A file that this process may not stat exists.
func missing(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// isExplicit reports whether a flag or an environment variable sets a value.
func isExplicit(row setting.Setting) bool {
	return strings.HasPrefix(row.Origin, "flag ") || strings.HasPrefix(row.Origin, "environment ")
}

// OpenPolicy reads the policy rules. It returns problems for the operator even if there is an
// error.
func (s *Settings) OpenPolicy() (*policy.Policy, []policy.Problem, error) {
	files := s.policyFiles()
	opened, problems, err := policy.Open(s.Policy, files)
	if err == nil {
		problems = append(problems, s.missingRules(files)...)
	}
	return opened, problems, err
}

// missingRules returns a problem for each configured file or directory that does not exist,
// because the defaults that apply instead may allow too much.
func (s *Settings) missingRules(files policy.Files) []policy.Problem {
	var problems []policy.Problem
	look := func(row setting.Setting, paths ...string) {
		for _, path := range paths {
			if path != "" && row.Origin != setting.OriginDefault && missing(path) {
				problems = append(problems, policy.Problem{
					Text: fmt.Sprintf("%s (%s) does not exist, so Berth reads no rules from it", path, row.Origin),
				})
			}
		}
	}
	look(s.Row("policy-file"), files.Main)
	look(s.Row("policy-dirs"), files.Dirs...)
	return problems
}
