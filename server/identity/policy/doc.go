// Package policy decides whether a caller may perform an operation. Every operation names one rule. A rule
// is a check in the language of oslo.policy. The policy files of the operator replace the defaults rule by
// rule.
//
// It does not authenticate callers (package auth does), write the 403, or choose the policy files: the
// program does. It sends no requests to other servers: it rejects checks of the kind http: when it reads
// them.
//
// Berth implements the language itself because no library for it is maintained: oslo.policy is Python; of
// databus23/goslo.policy, the one found in Go, no version was available; general engines (OPA, casbin,
// cedar) would require operators to rewrite their files. The defaults with their deprecated checks, scopes
// and reloading of files, which such a library would need in addition, are most of this package.
//
// A text is parsed to a tree of checks once (token.go, parse.go), and the rules are linked once
// (ruleset.go). A decision (evaluate.go) walks the tree and allocates no memory. Where oslo.policy fails
// during a decision, which its clients see as a 500, this package denies.
//
// The rules are those of docs/contract/policy.md; the texts of a denial are in
// docs/contract/http.md#status-403. docs/policy.md is for operators.
package policy
