// Package policy decides whether a caller may perform an operation. Every
// operation of the Placement API names one rule, and each rule stands in a
// fixed table of named checks.
//
// It is not for finding out who calls (package auth does that) nor for writing
// the 403. It has no rule language and reads no files: an entry of the table is
// a name and a check, so rules from elsewhere can replace entries by name
// without changing what is here.
//
// The rules are those of the wire contract, section POLICY 1; the sentences of
// a denial are in section HTTP 8.
package policy
