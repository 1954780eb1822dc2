package console

import (
	"bytes"
	"html/template"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/internal/draw"
)

// maxRows is the number of rows of a page of a list, and maxExported that of an export.
const maxRows, maxExported = 100, 1000

// listPage is the body of a page with a form of filters and a list: a tree table, a plain table, reasons, or commands to
// copy; or with a card. Bar and Legend are above the list.
type listPage struct {
	Title                   string
	Tabs, Commands, Exports []Link
	Filters                 []Input
	Card                    *Card
	Bar                     template.HTML
	Legend                  []Swatch
	Suggested               []string // aggregates
	Notice                  *Notice
	Tree                    *Tree
	Table                   *Table
	Reasons                 []Reason
	Empty                   Message
	Pager                   Pager
}

// list requests the page of a list that the address selects, and sends it if the address ends in .json.
func (v *visit) list(path string, query url.Values) (client.ListPage, error) {
	limit := maxRows
	if v.kind() != "" {
		limit = maxExported
	}
	query["limit"], query["marker"] = []string{strconv.Itoa(limit)}, []string{v.query("marker")}
	if v.kind() == ".json" {
		return client.ListPage{}, v.exportJSON(path, query)
	}
	return v.c.api.ListPage(v.ctx(), path, query)
}

// pager returns the line below a page of a list with a number of rows.
func (v *visit) pager(page client.ListPage, rows int, noun string) Pager {
	pager := Pager{Text: counted(int64(rows), noun)}
	if page.Total != nil {
		more := map[bool]string{false: "+"}[page.Total.Exact]
		pager.Text = number(int64(rows)) + " of " + number(page.Total.Count) + more + " " + noun + "s"
	}
	if page.Marker != "" {
		if page.Total == nil {
			pager.Text += " on this page, more on the next"
		}
		pager.Next = v.with("marker", page.Marker)
	}
	if v.query("marker") != "" {
		pager.First = v.with("marker", "")
	}
	return pager
}

// part returns the bounds of the part of a list from the number in the address on, and a pager with the links to others.
func (v *visit) part(all, most int) (from, end int, pager Pager) {
	from, _ = strconv.Atoi(v.query("from"))
	from = min(max(from, 0), all)
	end = min(from+most, all)
	pager.First = map[bool]string{true: v.with("from", "")}[from > 0]
	pager.Next = map[bool]string{true: v.with("from", strconv.Itoa(end))}[end < all]
	return from, end, pager
}

// choices returns a list field with the values of a parameter of the address.
func (v *visit) choices(name, label, all string, values ...string) Input {
	field := Input{ID: name, Name: name, Label: label, Options: []Link{{Text: all}}}
	for _, value := range values {
		field.Options = append(field.Options, Link{Text: value, Href: value, Current: value == v.query(name)})
	}
	return field
}

// input completes a text field with the value of the parameter of its name, and with its fault.
func (v *visit) input(field Input) Input {
	field.ID, field.Value = field.Name, v.query(field.Name)
	if text, ok := v.faults[field.Name]; ok {
		field.Invalid, field.Hint = true, text
	}
	return field
}

// entry returns a text field.
func (v *visit) entry(name, label string) Input { return v.input(Input{Name: name, Label: label}) }

// filters returns text fields for parameters; the first, q, is for the beginnings that it names.
func (v *visit) filters(beginnings string, names ...string) []Input {
	inputs := []Input{{ID: "q", Name: "q", Label: "begins with", Type: "search", Value: v.query("q"), Placeholder: beginnings}}
	for _, name := range names {
		inputs = append(inputs, v.entry(name, name))
	}
	return inputs
}

// kind returns the kind of the export that the address asks for: ".json", ".csv", ".svg", or "" for the page.
func (v *visit) kind() string { return path.Ext(v.r.URL.Path) }

// exports returns the links to the exports of an address of the console.
func exports(address string, kinds ...string) (links []Link) {
	path, query, has := strings.Cut(address, "?")
	for _, kind := range kinds {
		links = append(links, Link{Text: strings.ToUpper(kind), Href: path + "." + kind + map[bool]string{true: "?"}[has] + query})
	}
	return links
}

// export sends a file to download.
func (v *visit) export(contentType string, body []byte) error {
	if len(body) > maxExport {
		return invalid("The export would have more than 16 MiB. Narrow it by the filters of its page, or request the data from the API.")
	}
	v.done = true
	v.w.Header().Set("Content-Disposition", `attachment; filename="`+path.Base(v.r.URL.Path)+`"`)
	send(v.w, http.StatusOK, contentType, bytes.NewBuffer(body))
	return nil
}

// exportJSON sends a response of the API.
func (v *visit) exportJSON(path string, query url.Values) error {
	raw, err := v.c.api.ListText(v.ctx(), path, query)
	if err != nil {
		return err
	}
	return v.export("application/json", raw)
}

func (v *visit) exportCSV(heads string, rows [][]any) error {
	var body bytes.Buffer
	_ = draw.CSV(&body, heads, rows) // to memory
	return v.export("text/csv; charset=utf-8", body.Bytes())
}

// parseID returns the UUID of a text, or uuid.Nil if that is empty.
func parseID(text string) (uuid.UUID, error) {
	if text == "" {
		return uuid.Nil, nil
	}
	id, err := uuid.Parse(text)
	if err != nil || len(text) > len(id.String()) { // in braces, for which uuid takes any character, or a URN
		return id, invalid("%q is not a UUID.", text)
	}
	return id, nil
}
