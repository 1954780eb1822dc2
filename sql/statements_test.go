package sql_test

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	berthsql "github.com/berthd/berth/sql"
)

var update = flag.Bool("update", false, "write the numbers of the statements into functions/*.sql")

// token is a word, a string, a comment or a single character of an SQL text, with its offset.
type token struct {
	text string
	at   int
}

var tokens = regexp.MustCompile(`--[^\n]*|/\*(?s:.*?)\*/|'(?:[^']|'')*'|\w+|[();]`)

func tokenize(text string) []token {
	var found []token
	for _, span := range tokens.FindAllStringIndex(text, -1) {
		found = append(found, token{text[span[0]:span[1]], span[0]})
	}
	return found
}

// startsQuery are the words with which PostgreSQL executes a statement on tables. PL/pgSQL
// replaces PERFORM by SELECT.
var startsQuery = map[string]bool{
	"SELECT": true, "INSERT": true, "UPDATE": true, "DELETE": true, "WITH": true, "PERFORM": true, "LOCK": true,
}

// endsStatement are the words, outside of CASE and parentheses, behind which PL/pgSQL begins
// another statement.
var endsStatement = map[string]bool{";": true, "THEN": true, "ELSE": true, "LOOP": true, "BEGIN": true, "DECLARE": true}

// statementStarts returns the offset behind the first SQL keyword of each statement or
// expression of a function body that PostgreSQL executes as a query.
func statementStarts(body string) []int {
	var starts []int
	depth, cases, found := 0, 0, false
	for _, t := range tokenize(body) {
		switch {
		case t.text == "(":
			depth++
		case t.text == ")":
			depth--
		case t.text == "CASE":
			cases++
		case t.text == "END" && cases > 0:
			cases--
		case depth == 0 && cases == 0 && endsStatement[t.text]:
			found = false
		case startsQuery[t.text] && !found:
			found = true
			starts = append(starts, t.at+len(t.text))
		}
	}
	return starts
}

var numberComment = regexp.MustCompile(` /\* \w+ \d+/\d+ \*/`)

// numbered returns the text of a function file with the number of each statement behind its
// first keyword.
func numbered(name, text string) string {
	head, rest, ok := strings.Cut(text, "$$\n")
	if !ok {
		return text
	}
	body, tail, _ := strings.Cut(rest, "$$")
	body = numberComment.ReplaceAllString(body, "")
	starts := statementStarts(body)
	var with strings.Builder
	last := 0
	for i, start := range starts {
		fmt.Fprintf(&with, "%s /* %s %d/%d */", body[last:start], name, i+1, len(starts))
		last = start
	}
	return head + "$$\n" + with.String() + body[last:] + "$$" + tail
}

// TestFunctionSet_Statements_CarryFunctionAndNumber checks that the text of every statement in
// every function names the function, its position and how many there are, behind the first keyword:
// PL/pgSQL and pg_stat_statements drop comments before it.
func TestFunctionSet_Statements_CarryFunctionAndNumber(t *testing.T) {
	t.Parallel()
	files, err := fs.Glob(berthsql.Files, "functions/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatalf("no functions: %v", err)
	}
	for _, file := range files {
		text, err := fs.ReadFile(berthsql.Files, file)
		if err != nil {
			t.Fatal(err)
		}
		want := numbered(strings.TrimSuffix(path.Base(file), ".sql"), string(text))
		if want == string(text) {
			continue
		}
		if *update {
			if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		t.Errorf("%s: statements are not numbered; run go test ./sql -update", file)
	}
}

func TestFunctionSet_StatementStarts_FindsQueriesInStatementsAndExpressions(t *testing.T) {
	t.Parallel()
	body := `DECLARE
    v_a int := (SELECT 1);
BEGIN
    -- SELECT in a comment; /* and UPDATE */
    IF EXISTS (SELECT 2) AND (SELECT true) THEN
        v_a := CASE WHEN v_a = 1 THEN (SELECT 3) ELSE (SELECT 4) END;
    ELSIF v_b = 'SELECT 5; DELETE' THEN
        PERFORM FROM t FOR UPDATE;
    ELSE
        FOR v_a IN SELECT 6 LOOP
            WITH x AS (DELETE FROM t RETURNING a) INSERT INTO t SELECT a FROM x;
        END LOOP;
    END IF;
    RAISE EXCEPTION 'no %', v_a USING DETAIL = json_build_object('a', (SELECT 7));
    v_a := f(v_a);
    LOCK TABLE t;
    RETURN QUERY UPDATE t SET a = 1;
END`
	var found []string
	for _, start := range statementStarts(body) {
		word := strings.FieldsFunc(body[:start], func(r rune) bool { return r == ' ' || r == '(' || r == '\n' })
		found = append(found, word[len(word)-1])
	}
	if got, want := strings.Join(found, " "), "SELECT SELECT SELECT PERFORM SELECT WITH SELECT LOCK UPDATE"; got != want {
		t.Errorf("keywords = %s, want %s", got, want)
	}
}
