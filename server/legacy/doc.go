// Package legacy is the database of the Python service: read, judged, written.
//
// Import copies such a database (SQLite, MySQL, PostgreSQL; read only, all tables of
// one moment) beside our tables, has SQL judge it (sql/queries/legacy_judge.sql), and
// writes what is left in one transaction. Export writes our tables into an empty
// database as that service has them. Both compare hashes of every table at the end;
// those of the source are made from its own rows in Go (survey.go), not from the copy,
// so that a mistake in one of the two ways shows.
//
// It is not for the meaning of the API and not part of a running server. What a row of
// the old schema is stands in the wire contract, section policy-config-admin 6.
package legacy

import (
	"fmt"
	"slices"
	"strings"
)

// Progress is told how far a step is; total is 0 where it is not known.
type Progress func(step string, done, total int64)

// RefusedError says why nothing was written.
type RefusedError struct{ Reason string }

// Error is for the person who runs the import.
func (e *RefusedError) Error() string { return e.Reason }

func refuse(format string, values ...any) error {
	return &RefusedError{fmt.Sprintf(format, values...)}
}

// MismatchError says that two sides differ that must not.
type MismatchError struct {
	// Tables are those whose rows differ.
	Tables []string
	// After is what had been done.
	After string
}

// Error names the tables.
func (e *MismatchError) Error() string {
	return fmt.Sprintf("%s: the two sides differ in %s", e.After, strings.Join(e.Tables, ", "))
}

// Revisions of the old schema, oldest first. The first three have no consumer types.
var revisions = []string{"b4ed3a175331", "611cd6dffd7b", "b5c396305c25", "422ece571366", "a082b8bb98d0"}

// typesSince is the first with consumer types, Head the newest.
const (
	typesSince = "422ece571366"
	Head       = "a082b8bb98d0"
)

func hasTypes(revision string) bool {
	return slices.Index(revisions, revision) >= slices.Index(revisions, typesSince)
}
