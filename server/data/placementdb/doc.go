// Package placementdb reads, validates and writes the database of OpenStack Placement, for import and
// export.
//
// Import copies such a database (SQLite, MySQL, PostgreSQL; read only, in one snapshot) to staging tables,
// validates the copy with SQL (sql/queries/import_validate.sql), and writes the result in one transaction.
// Export writes the tables of Berth to an empty database with the schema of OpenStack Placement. Both
// compare hashes of every table at the end. The hashes of the source are computed in Go from its own rows
// (source_summary.go), not from the copy, so that an error in one of the two implementations is detected.
//
// It is not for the meaning of the API and not part of a running server.
// docs/contract/administration.md#database-schema describes the rows of the source.
package placementdb

import (
	"fmt"
	"slices"
	"strings"
)

// Progress receives the progress of a step; total is 0 if it is unknown.
type Progress func(step string, done, total int64)

// RejectedError is the error of an import or export that wrote nothing.
type RejectedError struct{ Reason string }

// Error returns the reason, for the operator who runs the import.
func (e *RejectedError) Error() string { return e.Reason }

func refuse(format string, values ...any) error {
	return &RejectedError{fmt.Sprintf(format, values...)}
}

// MismatchError is the error of tables that must be equal and differ.
type MismatchError struct {
	// Tables are the names of the tables that differ.
	Tables []string
	// After states what the command did before the comparison.
	After string
}

// Error returns a text with the names of the tables.
func (e *MismatchError) Error() string {
	return fmt.Sprintf("%s: source and target differ in %s", e.After, strings.Join(e.Tables, ", "))
}

// The revisions of the source schema, oldest first. The first three have no consumer types.
var revisions = []string{"b4ed3a175331", "611cd6dffd7b", "b5c396305c25", "422ece571366", "a082b8bb98d0"}

// typesSince is the first revision with consumer types, Head the newest revision.
const (
	typesSince = "422ece571366"
	Head       = "a082b8bb98d0"
)

func hasTypes(revision string) bool {
	return slices.Index(revisions, revision) >= slices.Index(revisions, typesSince)
}
