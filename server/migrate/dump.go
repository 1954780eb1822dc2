package migrate

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
)

// Dump is the schema of a database as pg_dump writes it, without what differs
// between versions of PostgreSQL or between runs. It is kept as sql/schema.sql,
// so that a review sees what a migration really does. pgDump is the path of a
// pg_dump at least as new as the server.
func Dump(ctx context.Context, pgDump, databaseURL string) (string, error) {
	command := exec.CommandContext(ctx, pgDump,
		"--schema-only", "--no-owner", "--no-privileges", "--dbname="+databaseURL)
	var problems bytes.Buffer
	command.Stderr = &problems
	dump, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("pg_dump: %w: %s", err, strings.TrimSpace(problems.String()))
	}
	return schemaHeader + normaliseDump(string(dump)), nil
}

const schemaHeader = "-- The schema of a migrated database. Generated: do not edit.\n\n"

// volatileLine matches lines of a dump that say something about the programs
// or the session instead of the schema. They stand at the beginning of a line;
// bodies of functions are indented or begin otherwise.
var volatileLine = regexp.MustCompile(
	`(?m)^(SET [a-z_]+ = .*;|SELECT pg_catalog\.set_config\('search_path'.*;|\\(un)?restrict .*|` +
		`-- Dumped (from|by) .*|-- PostgreSQL database dump( complete)?)\n`)

// emptyComment is what remains of the boxes around such lines.
var emptyComment = regexp.MustCompile(`(?m)^--\n(--\n)+`)

var blankLines = regexp.MustCompile(`\n{3,}`)

func normaliseDump(dump string) string {
	dump = volatileLine.ReplaceAllString(dump, "")
	dump = emptyComment.ReplaceAllString(dump, "")
	dump = blankLines.ReplaceAllString(dump, "\n\n")
	return strings.Trim(dump, "\n") + "\n"
}
