package policy

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/berthd/berth/server/auth"
)

// Options choose between the sets of default rules, and how they are applied.
type Options struct {
	// EnforceNewDefaults leaves out the deprecated checks. What the operator
	// sees as the setting's default is up to the settings; the zero value here
	// accepts them.
	EnforceNewDefaults bool
	// AnyScope lets tokens for the system or a domain pass where the rule allows
	// their roles. The zero value demands a token for a project.
	AnyScope bool
	// DefaultRule is asked in place of a rule that is referred to and not defined;
	// empty, or not defined either: nobody is allowed.
	DefaultRule string
}

// Policy is the set of rules in force. It can be shared; where it was opened with files
// the rules change when the files do, all at once.
type Policy struct {
	options Options
	files   Files
	current atomic.Pointer[ruleSet]

	// reading is held by whoever reads the files; seen is how they looked then.
	reading sync.Mutex
	seen    []seenFile
}

// New makes the policy of the default rules.
func New(options Options) *Policy {
	p := &Policy{options: options}
	set, _, _ := makeRuleSet(options, nil)
	p.current.Store(set)
	return p
}

// Target is what an operation is performed on, as far as rules look at it.
type Target struct {
	// ProjectID is %(project_id)s; empty: what is asked about is of no project.
	ProjectID string
	// UserID is %(user_id)s; empty: the target has no such attribute, and a
	// comparison with it is false.
	UserID string
}

// value gives an attribute of the target; empty: it is there and holds nothing.
func (t Target) value(name string) (value string, ok bool) {
	switch name {
	case targetProject:
		return t.ProjectID, true
	case targetUser:
		return t.UserID, t.UserID != ""
	}
	return "", false
}

// TargetOf is the target of every operation but the one ruled by Usages: the
// caller's own project, and the caller.
func TargetOf(caller auth.Caller) Target {
	return Target{ProjectID: caller.ProjectID, UserID: caller.UserID}
}

// Denied says that a rule forbids the operation. The answer to it is 403.
type Denied struct {
	Rule string
	// Scope tells that the token is of the wrong kind, and the roles were not
	// looked at.
	Scope bool
}

// Error is the text for the answer. A token of the wrong scope gets the bare
// name of the rule, a quirk of the wire that is kept.
func (d *Denied) Error() string {
	if d.Scope {
		return d.Rule
	}
	return "Policy does not allow " + d.Rule + " to be performed."
}

// ErrUnregistered says that code asked for a rule that is not in the table of
// defaults. That is a mistake in the program, so the answer to it is 500.
var ErrUnregistered = errors.New("policy rule is not registered")

// Check returns nil if the rule allows the caller the operation, a *Denied if
// it does not, and an error that wraps ErrUnregistered if there is no such
// rule. Scope is enforced with either set of defaults: only tokens for a
// project pass.
func (p *Policy) Check(caller auth.Caller, name string, target Target) error {
	found, err := p.current.Load().find(name)
	switch {
	case err != nil:
		return err
	case p.outOfScope(&caller, found):
		return &Denied{Rule: name, Scope: true}
	case !found.check.allows(&caller, target):
		return &Denied{Rule: name}
	}
	return nil
}

func (p *Policy) outOfScope(caller *auth.Caller, found *rule) bool {
	return !p.options.AnyScope && !found.registered.anyScope && !caller.ProjectScoped()
}

// find gives a rule that operations may ask for. Rules that only files know are for
// other rules.
func (s *ruleSet) find(name string) (*rule, error) {
	found := s.rules[name]
	if found == nil || found.registered == nil {
		return nil, fmt.Errorf("%w: %q", ErrUnregistered, name)
	}
	return found, nil
}

// Rules lists the names of all rules that operations or defaults use, in alphabetical
// order, so that whoever names rules elsewhere can be held against the table.
func (p *Policy) Rules() []string {
	names := make([]string, len(defaults))
	for i := range defaults {
		names[i] = defaults[i].name
	}
	slices.Sort(names)
	return names
}

// Rule is a rule for people to read.
type Rule struct {
	Name string
	// Check is what holds now, Default what would hold without files, Deprecated what
	// is accepted beside the default where the new defaults are not enforced. The last two
	// are empty where there is no such thing.
	Check, Default, Deprecated string
	// File and Line are where the check was read; empty and 0: it is the default.
	File string
	Line int
	// AnyScope says that the rule does not look at what the token is for.
	AnyScope bool
}

// List gives the rules in force: those of the table in its order, then those that only
// the files know, by name.
func (p *Policy) List() []Rule {
	set := p.current.Load()
	var list []Rule
	for i := range defaults {
		list = append(list, set.rules[defaults[i].name].describe())
	}
	known := len(list)
	for _, r := range set.rules {
		if r.registered == nil {
			list = append(list, r.describe())
		}
	}
	slices.SortFunc(list[known:], func(a, b Rule) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return list
}

func (r *rule) describe() Rule {
	made := Rule{Name: r.name, Check: r.check.String(), File: r.file, Line: r.line}
	if r.registered != nil {
		made.Default, made.Deprecated, made.AnyScope = r.registered.check, r.registered.deprecated, r.registered.anyScope
	}
	return made
}
