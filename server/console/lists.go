package console

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
)

// maxRows is the number of rows of a page of a list, and maxExported that of an export.
const (
	maxRows     = 100
	maxExported = 1000
)

// listPage is the body of a page with a list: a tree table, a plain table, or commands to copy.
type listPage struct {
	Tabs     []Link
	Action   string
	Filters  []Input
	Title    string
	Tree     *Tree
	Table    *Table
	Commands []Link
	Empty    Message
	Pager    Pager
	Exports  []Link
}

// Table is a plain table. The links of the first cells open the rows.
type Table struct {
	Caption string
	Heads   []Cell
	Rows    []Row
}

// Row is a row of a table; Mode is "mark" for a highlighted one.
type Row struct {
	Mode  string
	First Cell
	Cells []Cell
}

// apiPage is a page of the lists of the API that the console shows.
type apiPage struct {
	Providers     []client.ListedProvider `json:"resource_providers"`
	Consumers     []client.ListedConsumer `json:"consumers"`
	Sums          []client.CapacitySum    `json:"capacity"`
	AsOf          time.Time               `json:"as_of"`
	ProviderLinks []struct{ Href string } `json:"resource_providers_links"`
	ConsumerLinks []struct{ Href string } `json:"consumers_links"`
	CapacityLinks []struct{ Href string } `json:"capacity_links"`
	Total         *struct {
		Count int64
		Exact bool
	}
	// kind is that of an export: ".json" (already sent), ".csv", or empty.
	kind string
}

// list requests the page of a list that the address selects. For an address that ends in .json it sends the response.
func (v *visit) list(of string, query url.Values) (found apiPage, err error) {
	found.kind = path.Ext(v.r.URL.Path)
	for name, values := range query {
		if values[0] == "" {
			delete(query, name)
		}
	}
	query.Set("limit", strconv.Itoa(maxRows))
	if found.kind != "" {
		query.Set("limit", strconv.Itoa(maxExported))
	}
	if marker := v.query("marker"); marker != "" {
		query.Set("marker", marker)
	}
	var raw json.RawMessage
	if err := v.c.api.Get(v.ctx(), &raw, of, query); err != nil {
		return found, err
	}
	if found.kind == ".json" {
		v.export("application/json", raw)
	}
	return found, json.Unmarshal(raw, &found)
}

// pager returns the line below a page of a list with a number of rows.
func (v *visit) pager(p apiPage, rows int, what string) Pager {
	pager := Pager{Text: number(int64(rows)) + " " + what}
	if p.Total != nil {
		pager.Text = number(int64(rows)) + " of " + number(p.Total.Count) + " " + what
		if !p.Total.Exact {
			pager.Text = number(int64(rows)) + " of " + number(p.Total.Count) + "+ " + what
		}
	}
	for _, link := range append(append(p.ProviderLinks, p.ConsumerLinks...), p.CapacityLinks...) {
		if next, err := url.Parse(link.Href); err == nil {
			pager.Next = v.with("marker", next.Query().Get("marker"))
		}
	}
	if v.query("marker") != "" {
		pager.First = v.with("marker", "")
	}
	return pager
}

// exports returns the links to the exports of the page at a path, with its parameters.
func (v *visit) exports(path string, kinds ...string) []Link {
	links := make([]Link, len(kinds))
	for i, kind := range kinds {
		links[i] = Link{Text: strings.ToUpper(kind), Href: v.base + path + "." + kind + strings.TrimPrefix(v.with(), v.base+v.r.URL.Path), Download: true}
	}
	return links
}

// export sends a file to download.
func (v *visit) export(contentType string, body []byte) {
	v.done = true
	v.w.Header().Set("Content-Disposition", `attachment; filename="`+path.Base(v.r.URL.Path)+`"`)
	send(v.w, 200, contentType, bytes.NewBuffer(body))
}

// exportCSV sends rows as CSV. Cells that a spreadsheet would execute begin with a quote.
func (v *visit) exportCSV(heads string, rows [][]any) error {
	var body bytes.Buffer
	out := csv.NewWriter(&body)
	_ = out.Write(strings.Split(heads, ",")) // to memory
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, value := range row {
			if cells[i] = fmt.Sprint(value); strings.ContainsAny(cells[i][:min(1, len(cells[i]))], "=+-@\t\r") {
				cells[i] = "'" + cells[i]
			}
		}
		_ = out.Write(cells)
	}
	out.Flush()
	v.export("text/csv; charset=utf-8", body.Bytes())
	return out.Error()
}

// idOf returns the UUID in the path, which may end in the kind of an export.
func (v *visit) idOf() (uuid.UUID, error) {
	text := v.r.PathValue("uuid")
	id, err := uuid.Parse(strings.TrimSuffix(text, path.Ext(text)))
	if err != nil {
		return id, invalid("%q is not a UUID.", text)
	}
	return id, nil
}
