// Package policy decides whether a caller may perform an operation. Every operation
// names one rule; a rule is a check in the language of oslo.policy; the defaults are
// replaced, name by name, by what stands in the operator's policy files.
//
// It is not for finding out who calls (package auth does that), nor for writing the
// 403, nor for choosing which files there are: that is the program's. It asks no other
// server: checks of the kind http: are refused where they are read.
//
// The language is our own work because no library for it is kept up: oslo.policy itself
// is Python; of databus23/goslo.policy, the one in Go that was found, no version could be
// had; general engines (OPA, casbin, cedar) would want every operator's files
// rewritten. What such a library would have to bring along as well, the defaults with
// their deprecated halves, scope, and files that change, is most of this package.
//
// A text becomes a tree of checks once (token.go, parse.go), and its rules are tied
// together once (ruleset.go); a decision (evaluate.go) walks the tree and allocates
// nothing. Where the reference fails while it decides, which its clients see as a 500,
// the answer here is no.
//
// The rules are those of the wire contract, section POLICY 1; the sentences of
// a denial are in section HTTP 8. docs/policy.md is for operators.
package policy
