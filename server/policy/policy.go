package policy

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/berthd/berth/server/auth"
)

// Options choose between the sets of default rules.
type Options struct {
	// EnforceNewDefaults leaves out the deprecated checks. What the operator
	// sees as the setting's default is up to the settings; the zero value here
	// accepts them.
	EnforceNewDefaults bool
}

// Policy is a set of rules. It does not change and can be shared.
type Policy struct {
	rules map[string]rule
}

// New makes the policy of the default rules.
func New(options Options) *Policy {
	rules := maps.Clone(defaults)
	for name, r := range rules {
		if r.deprecated != nil && !options.EnforceNewDefaults {
			r.check = either(r.check, r.deprecated)
		}
		rules[name] = r
	}
	return &Policy{rules: rules}
}

// Target is what an operation is performed on, as far as rules look at it.
type Target struct {
	ProjectID string
}

// TargetOf is the target of every operation but the one ruled by Usages: the
// caller's own project.
func TargetOf(caller auth.Caller) Target {
	return Target{ProjectID: caller.ProjectID}
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

// ErrUnregistered says that code asked for a rule that is not in the table.
// That is a mistake in the program, so the answer to it is 500.
var ErrUnregistered = errors.New("policy rule is not registered")

// Check returns nil if the rule allows the caller the operation, a *Denied if
// it does not, and an error that wraps ErrUnregistered if there is no such
// rule. Scope is enforced with either set of defaults: only tokens for a
// project pass.
func (p *Policy) Check(caller auth.Caller, name string, target Target) error {
	r, ok := p.rules[name]
	switch {
	case !ok:
		return fmt.Errorf("%w: %q", ErrUnregistered, name)
	case !caller.ProjectScoped() && !r.anyScope:
		return &Denied{Rule: name, Scope: true}
	case !r.check(caller, target):
		return &Denied{Rule: name}
	}
	return nil
}

// Rules lists the names of all rules in alphabetical order, so that whoever
// names rules elsewhere can be held against the table.
func (p *Policy) Rules() []string {
	return slices.Sorted(maps.Keys(p.rules))
}
