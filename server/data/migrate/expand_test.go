package migrate_test

import (
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"

	berthsql "github.com/berthd/berth/sql"
)

// contraction matches the mark of a migration that removes what no released version uses any more. The mark is a line
// of the comment at its head and states the reason.
var contraction = regexp.MustCompile(`(?m)^-- Contraction: \S+`)

// destructive are changes to objects that the previous version reads or writes.
var destructive = []struct {
	pattern *regexp.Regexp
	why     string
}{
	{regexp.MustCompile(`(?i)\bDROP\s+(TABLE|COLUMN|VIEW|MATERIALIZED\s+VIEW|TYPE|SCHEMA|SEQUENCE|FUNCTION|TRIGGER)\b`), "drops what the previous version may use"},
	{regexp.MustCompile(`(?i)^\s*ALTER\s+TABLE\b.*?\bDROP\s+(?:IF\s+EXISTS\s+)?(?:[a-z_"]+)\s*(?:,|CASCADE|RESTRICT|$)`), "drops a column that the previous version may use"},
	{regexp.MustCompile(`(?i)\bRENAME\s+(TO|COLUMN|CONSTRAINT|[a-z_"]+\s+TO)\b`), "renames what the previous version may use"},
	{regexp.MustCompile(`(?i)\bALTER\s+(COLUMN\s+)?[a-z_"]+\s+(SET\s+DATA\s+)?TYPE\b`), "changes the type of a column"},
	{regexp.MustCompile(`(?i)\bSET\s+NOT\s+NULL\b`), "makes a column mandatory that the previous version may leave out"},
	{regexp.MustCompile(`(?i)\bDROP\s+DEFAULT\b`), "drops a default that the previous version may rely on"},
	{regexp.MustCompile(`(?i)^\s*TRUNCATE\b`), "empties a table"},
	{regexp.MustCompile(`(?i)^\s*ALTER\s+TABLE\b.*\bADD\s+(CONSTRAINT|CHECK|UNIQUE|EXCLUDE|FOREIGN|PRIMARY)\b`), "rejects rows that the previous version may write"},
	{regexp.MustCompile(`(?i)^\s*CREATE\s+UNIQUE\s+INDEX\b`), "rejects rows that the previous version may write"},
}

var (
	addColumn = regexp.MustCompile(`(?i)\bADD\s+(?:COLUMN\s+)?(?:IF\s+NOT\s+EXISTS\s+)?[a-z_"]+\s+[^,]*\bNOT\s+NULL\b[^,]*`)
	hasValue  = regexp.MustCompile(`(?i)\b(DEFAULT|GENERATED)\b`)
	alters    = regexp.MustCompile(`(?i)^\s*ALTER\s+TABLE\s+(?:IF\s+EXISTS\s+)?(?:ONLY\s+)?([a-z_".]+)`)
	indexes   = regexp.MustCompile(`(?i)^\s*CREATE\s+UNIQUE\s+INDEX\b.*?\bON\s+([a-z_".]+)`)
	creates   = regexp.MustCompile(`(?i)^\s*CREATE\s+TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?([a-z_".]+)`)
	comments  = regexp.MustCompile(`--[^\n]*|(?s:/\*.*?\*/)`)
	bodies    = regexp.MustCompile(`(?s)\$\$.*?\$\$`)
	quotes    = regexp.MustCompile(`'(?:[^']|'')*'`)
)

// refusals returns why a version that does not know a migration may fail after it.
func refusals(text string) []string {
	if contraction.MatchString(text) {
		return nil
	}
	plain := quotes.ReplaceAllString(bodies.ReplaceAllString(comments.ReplaceAllString(text, ""), "$$$$"), "''")
	var found, own []string
	for statement := range strings.SplitSeq(plain, ";") {
		statement = strings.Join(strings.Fields(statement), " ")
		if made := creates.FindStringSubmatch(statement); made != nil {
			own = append(own, made[1])
			continue
		}
		for _, pattern := range []*regexp.Regexp{alters, indexes} {
			// No older version uses objects that the same migration creates.
			if of := pattern.FindStringSubmatch(statement); of != nil && slices.Contains(own, of[1]) {
				statement = ""
			}
		}
		for _, rule := range destructive {
			if rule.pattern.MatchString(statement) {
				found = append(found, rule.why+": "+statement)
				break
			}
		}
		for _, column := range addColumn.FindAllString(statement, -1) {
			if !hasValue.MatchString(column) {
				found = append(found, "adds a mandatory column without a default: "+statement)
			}
		}
	}
	return found
}

func TestMigration_IncompatibleStatement_Detected(t *testing.T) {
	t.Parallel()
	for statement, refused := range map[string]bool{
		"ALTER TABLE traits ADD COLUMN color text":                                            false,
		"ALTER TABLE traits ADD COLUMN color text NOT NULL DEFAULT ''":                        false,
		"ALTER TABLE traits ADD COLUMN color text NOT NULL":                                   true,
		"ALTER TABLE traits ADD a int DEFAULT 1, ADD COLUMN b int NOT NULL":                   true,
		"ALTER TABLE traits ADD COLUMN n int GENERATED ALWAYS AS (1) STORED NOT NULL":         false,
		"CREATE TABLE a (b int NOT NULL); ALTER TABLE a ADD CONSTRAINT c CHECK (b > 0)":       false,
		"CREATE TABLE a (b int); CREATE UNIQUE INDEX c ON a (b)":                              false,
		"CREATE UNIQUE INDEX CONCURRENTLY c ON traits (name)":                                 true,
		"CREATE INDEX CONCURRENTLY c ON traits (name)":                                        false,
		"ALTER TABLE traits ADD CONSTRAINT c CHECK (name <> '')":                              true,
		"alter table traits\n  drop column name":                                              true,
		"ALTER TABLE traits DROP name":                                                        true,
		"ALTER TABLE traits DROP CONSTRAINT c":                                                false,
		"DROP TABLE traits":                                                                   true,
		"DROP INDEX traits_name_idx":                                                          false,
		"DROP FUNCTION old(int)":                                                              true,
		"ALTER TABLE traits RENAME TO properties":                                             true,
		"ALTER TABLE traits RENAME name TO title":                                             true,
		"ALTER TABLE traits ALTER COLUMN name TYPE varchar(9)":                                true,
		"ALTER TABLE traits ALTER name SET NOT NULL":                                          true,
		"-- DROP TABLE traits\nSELECT 'DROP TABLE traits', $$ DROP TABLE traits $$":           false,
		"-- Contraction: 2.0 and later read it no more.\nALTER TABLE traits DROP COLUMN name": false,
	} {
		if found := refusals(statement + ";"); (len(found) > 0) != refused {
			t.Errorf("%s: %q", statement, found)
		}
	}
}

// TestMigration_AllFiles_OnlyExpand: version N runs on the schema of N+1 while the operator upgrades the servers of a
// cloud one after the other, so a migration only adds. A migration one release later removes what is unused, and has
// the mark.
func TestMigration_AllFiles_OnlyExpand(t *testing.T) {
	t.Parallel()
	files, err := fs.Glob(berthsql.Files, "migrations/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatalf("%q, %v", files, err)
	}
	for _, name := range files {
		text, err := fs.ReadFile(berthsql.Files, name)
		if err != nil {
			t.Fatal(err)
		}
		for _, why := range refusals(string(text)) {
			t.Errorf("%s %s\nkeep the object for one release, or mark the file with '-- Contraction: ' and the reason why nothing needs it", name, why)
		}
	}
}
