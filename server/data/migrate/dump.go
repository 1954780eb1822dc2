package migrate

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
)

// Dump returns the schema of a database as pg_dump writes it, without what differs between versions of PostgreSQL or
// between runs. The repository keeps it as sql/schema.sql, so that a review shows the effect of a migration. pgDump is
// the path of a pg_dump at least as new as the server.
func Dump(ctx context.Context, pgDump, databaseURL string) (string, error) {
	command := exec.CommandContext(ctx, pgDump,
		"--schema-only", "--no-owner", "--no-privileges", "--dbname="+databaseURL)
	var problems bytes.Buffer
	command.Stderr = &problems
	dump, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("pg_dump: %w: %s", err, strings.TrimSpace(problems.String()))
	}
	return schemaHeader + normalizeDump(string(dump)), nil
}

const schemaHeader = "-- The schema of a migrated database. Generated: do not edit.\n\n"

// volatileLine matches lines of a dump that describe the programs or the session instead of the schema. It lists the
// settings one by one, because a function may contain a line that begins with SET as well.
var volatileLine = regexp.MustCompile(
	`(?m)^(SET (statement_timeout|lock_timeout|idle_in_transaction_session_timeout|transaction_timeout|` +
		`client_encoding|standard_conforming_strings|check_function_bodies|xmloption|client_min_messages|` +
		`row_security|default_tablespace|default_table_access_method) = .*;|` +
		`SELECT pg_catalog\.set_config\('search_path'.*;|\\(un)?restrict .*|` +
		`-- Dumped (from|by) .*|-- PostgreSQL database dump( complete)?)\n`)

// emptyComment is what remains of the boxes around such lines.
var emptyComment = regexp.MustCompile(`(?m)^--\n(--\n)+`)

var blankLines = regexp.MustCompile(`\n{3,}`)

func normalizeDump(dump string) string {
	dump = volatileLine.ReplaceAllString(dump, "")
	dump = emptyComment.ReplaceAllString(dump, "")
	dump = blankLines.ReplaceAllString(dump, "\n\n")
	return strings.Trim(dump, "\n") + "\n"
}
