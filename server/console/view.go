package console

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/berthd/berth/internal/draw"
)

// Frame is the data of a page: what the layout shows around it, and the Body, which the page's template shows.
type Frame struct {
	Title string
	Nav   string // the key of the current entry of the navigation: the path of its page
	Base  string // "/console", or with a base path "/placement/console"
	// Assets is the address of the assets, with their hash; Path is that of the page, with its query; Back is that to which a
	// form leads back.
	Assets, Path, Back string
	Theme              string // "light", "dark", or empty for the reader's setting
	Who                Who
	NoHistory          bool   // the caller may not read the history
	Find               string // the text in the find field
	Crumbs             []Link
	Facts              []Fact
	Actions            []Link
	AsOf               time.Time // zero: the page has no data of the API
	Every              int       // seconds between refreshes; 0: none
	Warning            string
	Body               any
}

// Who is the caller as whom the page was read.
type Who struct {
	SignedIn             bool
	User, Project, Roles string
	CanChoose            bool   // the service does not authenticate, so the caller chooses a persona
	Personas             []Link // Href is the value to post
}

// Link is a text with an address. Without an address it is a text, and in a list of options Href is the value.
type Link struct {
	Text, Href string
	Current    bool
	Count      string // the number beside a tab
	Kind       string // the classes of a button or chip
	Download   bool
}

// Fact is a part of the line below the title. Copy adds a button that copies the text, for UUIDs.
type Fact struct {
	Link
	Copy bool
}

// navigation has the entries of the top bar: the path of a page and its name.
var navigation = [][2]string{
	{"", "Overview"}, {"providers", "Providers"}, {"candidates", "Candidates"}, {"capacity", "Capacity"},
	{"consumers", "Consumers"}, {"baremetal", "Bare metal"}, {"explanations", "Explanations"}, {"history", "History"}, {"consistency", "Consistency"},
}

// Navigation returns the entries of the top bar.
func (f Frame) Navigation() []Link {
	var links []Link
	for _, entry := range navigation {
		if entry[0] != "history" || !f.NoHistory {
			links = append(links, Link{Text: entry[1], Href: strings.TrimSuffix(f.Base+"/"+entry[0], "/"), Current: f.Nav == entry[0]})
		}
	}
	return links
}

// Reference returns the address of the reference of the API.
func (f Frame) Reference() string { return strings.TrimSuffix(f.Base, "/console") + "/docs" }

// Themes returns the choices of a theme, with the values to post.
func (f Frame) Themes() []Link {
	return []Link{{Text: "System", Current: f.Theme == ""}, {Text: "Light", Href: "light", Current: f.Theme == "light"}, {Text: "Dark", Href: "dark", Current: f.Theme == "dark"}}
}

// pageSet has the parsed template of each page, by its name.
type pageSet map[string]*template.Template

// parsePages parses the templates: layout.html and parts.html once, and a copy of them with each other file, which
// defines "content" and may define parts of its own.
func parsePages(files fs.FS) (pageSet, error) {
	shared, err := template.New("console").Funcs(funcs).ParseFS(files, "templates/layout.html", "templates/parts.html")
	if err != nil {
		return nil, err
	}
	names, err := fs.Glob(files, "templates/*.html")
	if err != nil {
		return nil, err
	}
	pages := pageSet{}
	for _, name := range names {
		page := strings.TrimSuffix(path.Base(name), ".html")
		if page == "layout" || page == "parts" {
			continue
		}
		clone, err := shared.Clone()
		if err != nil {
			return nil, err
		}
		if pages[page], err = clone.ParseFS(files, name); err != nil {
			return nil, err
		}
	}
	return pages, nil
}

// render writes a page. It writes nothing if the template fails.
func (p pageSet) render(ctx context.Context, w io.Writer, page string, frame Frame) error {
	return p.renderPart(ctx, w, page, "layout", frame)
}

// renderPart writes one template of a page, for example a card that fetches itself. Escape replaces control and
// direction characters in the whole output, so that no template has to do it for each name from the network. It stops when
// ctx ends, and at maxPage.
func (p pageSet) renderPart(ctx context.Context, w io.Writer, page, part string, data any) error {
	parsed, ok := p[page]
	if !ok {
		return fmt.Errorf("unknown page %q", page)
	}
	out := pageBuffer{ctx: ctx}
	if err := parsed.ExecuteTemplate(&out, part, data); err != nil {
		return err
	}
	_, err := io.WriteString(w, draw.Escape(out.String()))
	return err
}

//go:embed assets
var assets embed.FS

//go:embed templates
var templates embed.FS

// assetHash is the hash of all assets, which is a part of their address.
var assetHash = sync.OnceValue(func() string {
	sum := sha256.New()
	_ = fs.WalkDir(assets, "assets", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			text, _ := assets.ReadFile(name) // embedded
			sum.Write([]byte(name))
			sum.Write(text)
		}
		return err
	})
	return hex.EncodeToString(sum.Sum(nil))[:12]
})

// asset sends a file. Below the hash of this program it never changes; another hash, as in a rolling upgrade, gets the
// file of this program, which browsers must not keep.
func (c *Console) asset(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("file")
	text, err := assets.ReadFile("assets/" + name)
	kind := mime.TypeByExtension(path.Ext(name))
	switch path.Ext(name) {
	case ".woff2":
		kind = "font/woff2"
	case ".css", ".js", ".svg":
	default:
		err = fs.ErrNotExist
	}
	if err != nil {
		http.Error(w, "The console has no such file.", http.StatusNotFound)
		return
	}
	if r.PathValue("hash") == assetHash() {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	} else {
		w.Header().Set("Cache-Control", "no-store")
	}
	w.Header().Del("Vary")
	w.Header().Set("Content-Type", kind)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(text))
}
