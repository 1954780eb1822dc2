package policy

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/berthd/berth/server/identity/auth"
)

// Options selects the default rules and how they apply.
type Options struct {
	// EnforceNewDefaults disables the deprecated checks.
	EnforceNewDefaults bool
	// EnforceScope requires a token of a scope that the rule accepts.
	EnforceScope bool
	// DefaultRule replaces a rule that is referred to and not defined. If it is empty or not defined
	// either, such a reference denies every caller.
	DefaultRule string
}

// Defaults returns the options of berth serve without settings.
func Defaults() Options {
	return Options{EnforceNewDefaults: true, EnforceScope: true, DefaultRule: "default"}
}

// Policy is the set of current rules. It is safe for concurrent use. If it was opened with files, Watch
// and Refresh replace all rules at once when the files change.
type Policy struct {
	options Options
	files   Files
	current atomic.Pointer[ruleSet]

	// reading protects the loading of files; seen is their state when they were loaded.
	reading sync.Mutex
	seen    []seenFile
}

// New returns a policy with the default rules.
func New(options Options) *Policy {
	p := &Policy{options: options}
	set, _, _ := makeRuleSet(options, nil)
	p.current.Store(set)
	return p
}

// Target contains the attributes of the target of an operation that rules use.
type Target struct {
	// ProjectID is %(project_id)s; empty: the target belongs to no project.
	ProjectID string
	// UserID is %(user_id)s; empty: the target has no such attribute, and a comparison with it is false.
	UserID string
	// NodeOwner and NodeLessee are %(node.owner)s and %(node.lessee)s, projects of a bare metal node;
	// AllocationOwner is %(allocation.owner)s, the project of a node allocation. Empty: the target has no
	// such attribute.
	NodeOwner, NodeLessee, AllocationOwner string
	// Unread reports that the projects of the node and of the allocation are not loaded yet. A decision
	// that needs one of them is a denial.
	Unread bool
}

// value returns an attribute of the target. ok reports whether the target has it; its value may be empty.
func (t Target) value(name string) (value string, ok bool) {
	switch name {
	case targetProject:
		return t.ProjectID, true
	case targetUser:
		return t.UserID, t.UserID != ""
	case targetNodeOwner:
		return t.NodeOwner, t.NodeOwner != ""
	case targetNodeLessee:
		return t.NodeLessee, t.NodeLessee != ""
	case targetAllocationOwner:
		return t.AllocationOwner, t.AllocationOwner != ""
	}
	return "", false
}

// unread reports whether an attribute is not loaded yet.
func (t Target) unread(name string) bool {
	return t.Unread && (name == targetNodeOwner || name == targetNodeLessee || name == targetAllocationOwner)
}

// TargetOf returns the target of every operation except the one with the rule Usages: the caller and the
// caller's project.
func TargetOf(caller auth.Caller) Target {
	return Target{ProjectID: caller.ProjectID, UserID: caller.UserID}
}

// Denied is the error of an operation that a rule denies. It leads to 403.
type Denied struct {
	Rule string
	// Scope reports that the rule does not accept the scope of the token, so that the roles were not
	// checked.
	Scope bool
}

// Error returns the text of the response. For a token with the wrong scope it is only the name of the
// rule, as in OpenStack Placement.
func (d *Denied) Error() string {
	if d.Scope {
		return d.Rule
	}
	return "Policy does not allow " + d.Rule + " to be performed."
}

// ErrUnregistered is the error for a rule that is not in the table of defaults. It is a defect of the
// program and leads to 500.
var ErrUnregistered = errors.New("policy rule is not registered")

// Check returns nil if the rule permits the operation, a *Denied if it does not, and an error that wraps
// ErrUnregistered if there is no such rule. It checks the scope with either set of defaults: a token
// passes if the rule accepts its scope.
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
	return p.options.EnforceScope && found.registered.scopes&scopeOf(caller) == 0
}

// find returns a rule that operations may use. Rules that only files define are for references from other
// rules.
func (s *ruleSet) find(name string) (*rule, error) {
	found := s.rules[name]
	if found == nil || found.registered == nil {
		return nil, fmt.Errorf("%w: %q", ErrUnregistered, name)
	}
	return found, nil
}

// Rules returns the names of all rules that operations or defaults use, in alphabetical order, for tests
// that compare other lists with the table.
func (p *Policy) Rules() []string {
	names := make([]string, len(defaults))
	for i := range defaults {
		names[i] = defaults[i].name
	}
	slices.Sort(names)
	return names
}

// Rule describes a rule for users.
type Rule struct {
	Name string
	// Check is the current check, Default the check without policy files, and Deprecated the check that
	// applies in addition unless the new defaults are enforced. Default and Deprecated may be empty.
	Check, Default, Deprecated string
	// File and Line are the source of the check; empty and 0: it is the default.
	File string
	Line int
	// AnyScope reports that the rule ignores the scope of the token.
	AnyScope bool
	// Scopes lists the token scopes that the rule accepts: system, domain, project. It is nil for rules
	// that only files define.
	Scopes []string
}

// List returns the current rules: those of the table in its order, then those that only files define, by
// name.
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
	result := Rule{Name: r.name, Check: r.check.String(), File: r.file, Line: r.line}
	if r.registered != nil {
		result.Default, result.Deprecated = r.registered.parsed(true).String(), r.registered.deprecated
		result.AnyScope, result.Scopes = r.registered.scopes == anyScope, r.registered.scopes.names()
	}
	return result
}
