package sql

import (
	"regexp"
	"strings"
)

// Comment is the description of one database object.
type Comment struct {
	// Object is what follows COMMENT ON, such as "COLUMN traits.name".
	Object string
	Text   string
}

// Statement is the COMMENT ON statement.
func (c Comment) Statement() string {
	return "COMMENT ON " + c.Object + " IS '" + strings.ReplaceAll(c.Text, "'", "''") + "';"
}

var (
	createdTable  = regexp.MustCompile(`^CREATE (?:UNLOGGED )?TABLE (?:IF NOT EXISTS )?(\w+) \($`)
	createdType   = regexp.MustCompile(`^CREATE TYPE (\w+) AS \($`)
	createdObject = regexp.MustCompile(`^CREATE (?:OR REPLACE )?(?:UNIQUE )?(DOMAIN|VIEW|INDEX|FUNCTION|AGGREGATE)` +
		`(?: CONCURRENTLY)?(?: IF NOT EXISTS)? (\w+)(\(\w+\))?`)
	alteredTable = regexp.MustCompile(`^ALTER TABLE (?:IF EXISTS )?(\w+)`)
	addedColumn  = regexp.MustCompile(`^(?:ALTER TABLE (?:IF EXISTS )?\w+)? *ADD COLUMN (?:IF NOT EXISTS )?(\w+) `)
	column       = regexp.MustCompile(`^    (\w+) `)
	trailing     = regexp.MustCompile(`[,;)(\w'] -- (.+)$`)
)

// Comments returns the descriptions of the objects that a file of migrations, functions or
// import creates. The description of an object is the block of comment lines directly
// above it; that of a column may also stand at the end of its line. That of a function keeps
// its line breaks. Within a table, the comment of a constraint is not used.
func Comments(file string) []Comment {
	var p commentParser
	for line := range strings.Lines(file) {
		p.read(strings.TrimRight(line, "\r\n"))
	}
	return p.found
}

// commentParser reads a file line by line.
type commentParser struct {
	found []Comment
	block []string // the comment lines directly above
	table string   // the table or type whose columns are read, or that is altered
	quote bool     // within the body of a function
}

func (p *commentParser) read(line string) {
	text, isComment := strings.CutPrefix(strings.TrimSpace(line), "--")
	if !p.quote {
		if isComment && !strings.HasPrefix(text, " +goose") {
			p.block = append(p.block, strings.TrimPrefix(text, " "))
			return
		}
		if !p.object(line) && p.table != "" {
			p.member(line)
		}
		p.block = nil
	}
	if strings.Count(line, "$$")%2 == 1 {
		p.quote = !p.quote
	}
}

// object reads the line that creates or alters an object and reports whether it does.
func (p *commentParser) object(line string) bool {
	if texts := createdTable.FindStringSubmatch(line); texts != nil {
		p.table = texts[1]
		p.add("TABLE "+texts[1], "")
		return true
	}
	if texts := createdType.FindStringSubmatch(line); texts != nil {
		p.table = texts[1]
		p.add("TYPE "+texts[1], "")
		return true
	}
	if texts := createdObject.FindStringSubmatch(line); texts != nil {
		object := texts[1] + " " + texts[2]
		if texts[1] == "AGGREGATE" {
			object += texts[3]
		}
		p.table = ""
		p.add(object, "")
		return true
	}
	if altered := alteredTable.FindStringSubmatch(line); altered != nil {
		p.table = altered[1]
		p.member(line)
		return true
	}
	return false
}

// member reads a line within the parentheses of a table or type, or of ALTER TABLE.
func (p *commentParser) member(line string) {
	name := ""
	if added := addedColumn.FindStringSubmatch(strings.TrimSpace(line)); added != nil {
		name = added[1]
	} else if defined := column.FindStringSubmatch(line); defined != nil {
		name = defined[1]
	}
	if name != "" && name != strings.ToUpper(name) { // not CONSTRAINT, PRIMARY, ADD
		after := ""
		if end := trailing.FindStringSubmatch(line); end != nil {
			after = end[1]
		}
		p.add("COLUMN "+p.table+"."+name, after)
	}
	if strings.HasPrefix(line, ")") || strings.HasSuffix(line, ";") {
		p.table = ""
	}
}

func (p *commentParser) add(object, after string) {
	text := paragraphs(p.block)
	if strings.HasPrefix(object, "FUNCTION ") {
		text = strings.TrimSpace(strings.Join(p.block, "\n"))
	}
	if text == "" {
		text = after
	}
	if text != "" {
		p.found = append(p.found, Comment{object, text})
	}
}

// paragraphs joins the lines of a block to paragraphs, which empty lines separate. Items of
// a list and indented lines stay lines.
func paragraphs(block []string) string {
	var text strings.Builder
	for n, line := range block {
		switch {
		case n == 0 || line == "":
		case block[n-1] == "":
			text.WriteString("\n")
		case strings.HasPrefix(line, " ") || strings.HasPrefix(line, "* ") || strings.HasPrefix(line, "- "):
			text.WriteString("\n")
		default:
			text.WriteString(" ")
		}
		text.WriteString(line)
	}
	return strings.TrimSpace(text.String())
}
