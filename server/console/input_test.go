package console

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"html/template"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// unsized is a form of an unknown length.
type unsized struct{ io.Reader }

// largePages are the pages with a field into which a user pastes a document.
var largePages = []string{"POST /candidates/claim", "POST /compare"}

func TestLimits_ConsoleForms_AreBounded(t *testing.T) {
	t.Parallel()
	s := newSite(t, noauth2, nil)
	fields := strings.Repeat("a&", maxFields)
	visited, large := 0, []string{}
	for _, pattern := range s.c.patterns {
		method, path, _ := strings.Cut(pattern, " ")
		if method != http.MethodPost || path == "/start" || path == "/sign-out" { // they read no form
			continue
		}
		visited++
		limit := s.c.inputs[pattern].maxForm
		if limit > maxForm {
			large = append(large, pattern)
		}
		for _, c := range []struct {
			body string
			want int
			text string
		}{
			{strings.Repeat("a", int(limit)+1), http.StatusRequestEntityTooLarge, "The form is larger than"},
			{fields, http.StatusBadRequest, "The form has 33 fields, of which a page reads at most 32."},
		} {
			for _, body := range []io.Reader{strings.NewReader(c.body), unsized{strings.NewReader(c.body)}} {
				w := s.post(path, body)
				if path == "/sign-in" { // of a service that authenticates its callers
					w = newSite(t, nil, nil).post(path, body)
				}
				wantStatus(t, w, c.want)
				wantText(t, w, c.text)
			}
		}
	}
	if slices.Sort(large); visited < 5 || !slices.Equal(large, largePages) {
		t.Errorf("%d pages read a form, and %q a large one, want %q", visited, large, largePages)
	}
}

// post sends a form of the console's own page.
func (s *site) post(path string, body io.Reader) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(s.t.Context(), http.MethodPost, "/console"+path, body)
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// TestLimits_ConsoleAddress_KeepsKnownParametersOnly requests a page of a tree, whose links have the parameters of its
// address.
func TestLimits_ConsoleAddress_KeepsKnownParametersOnly(t *testing.T) {
	t.Parallel()
	id := uuid.NewString()
	s := newSite(t, noauth2, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"resource_providers": [{"uuid": "`+id+`", "root_provider_uuid": "`+id+`", "name": "host", "generation": 1}]}`)
	})
	w := s.send(http.MethodGet, "/console/providers/"+id+"?unknown=1&class=VCPU&class=VGPU&wait=true", nil)
	wantStatus(t, w, http.StatusOK)
	wantText(t, w, "/console/providers/"+id+"?class=VCPU&amp;wait=true&amp;at="+id)
	if strings.Contains(w.Body.String(), "unknown") || strings.Contains(w.Body.String(), "VGPU") {
		t.Errorf("the page has the parameter: %s", w.Body)
	}
}

func TestLimits_ConsoleAddress_BoundsItsParameters(t *testing.T) {
	t.Parallel()
	s := newSite(t, noauth2, nil)
	for query, text := range map[string]string{
		"class=" + strings.Repeat("a", maxValue+1):                "The parameter class has 1025 bytes. The limit is 1024.",
		"shape=" + strings.Repeat("a", maxShape+1):                "The parameter shape has 8193 bytes. The limit is 8192.",
		strings.Repeat("a&", maxParameters):                       "The address has 257 parameters, of which a page reads at most 256.",
		"a=1" + strings.Repeat("&required=CUSTOM", maxParameters): "The address has 257 parameters, of which a page reads at most 256.",
	} {
		for _, path := range []string{"/console/capacity", "/console/candidates"} {
			if strings.HasSuffix(path, "candidates") && !strings.Contains(text, "parameters") {
				continue // each is a part of the query of the API
			}
			w := s.send(http.MethodGet, path+"?"+query, nil)
			wantStatus(t, w, http.StatusBadRequest)
			wantText(t, w, text)
		}
	}
}

// A form leads back to the first page instead of an address that would not fit into the form.
func TestLimits_ConsoleLongAddress_IsNotInForms(t *testing.T) {
	t.Parallel()
	s := newSite(t, noauth2, nil)
	long := "/console/candidates?required=" + strings.Repeat("A", maxBack)
	w := s.send(http.MethodGet, long, nil)
	if strings.Contains(w.Body.String(), `name="back" value="/console/candidates`) {
		t.Error("a form of the page has its address")
	}
	w = s.send(http.MethodPost, "/console/theme", url.Values{"back": {long}})
	if got := w.Header().Get("Location"); got != "/console" {
		t.Errorf("Location = %.100q, want /console", got)
	}
}

// reading are the functions that read the parameter of the address that their first argument names.
var reading = []string{"query", "figure", "providerNamed", "historyBound", "choices", "entry"}

// TestConsole_Parameters_AreThoseThatThePageReads follows the calls of each page in the source, and finds the parameters
// that it reads.
func TestConsole_Parameters_AreThoseThatThePageReads(t *testing.T) {
	t.Parallel()
	functions, routes := parseConsole(t)
	pages := 0
	for _, page := range routes {
		reads := map[string]bool{}
		follow(functions, "visit."+page.build, map[string]bool{}, reads)
		delete(reads, "card") // all pages know it
		known := slices.Sorted(slices.Values(page.parameters))
		if got := slices.Sorted(maps.Keys(reads)); !page.isQuery && !slices.Equal(got, known) {
			t.Errorf("%s reads %q and knows %q", page.pattern, got, known)
		}
		pages += len(reads)
	}
	if pages < 30 {
		t.Errorf("the pages read %d parameters", pages)
	}
}

// receiverOf returns "visit." for methods of a visit, "other." for those of other types, and "" for functions.
func receiverOf(function *ast.FuncDecl) string {
	if function.Recv == nil {
		return ""
	}
	if pointer, ok := function.Recv.List[0].Type.(*ast.StarExpr); ok && isIdent(pointer.X, "visit") {
		return "visit."
	}
	return "other."
}

// isMethodOfVisit reports whether a call is of a method of v.
func isMethodOfVisit(call *ast.CallExpr) bool {
	selector, ok := call.Fun.(*ast.SelectorExpr)
	return ok && isIdent(selector.X, "v")
}

func isIdent(of ast.Expr, name string) bool {
	ident, ok := of.(*ast.Ident)
	return ok && ident.Name == name
}

// parsedPage is a call of page in the source.
type parsedPage struct {
	pattern, build string
	parameters     []string
	isQuery        bool
}

// parseConsole returns the functions of the package by name, and the pages.
func parseConsole(t *testing.T) (map[string]*ast.FuncDecl, []parsedPage) {
	t.Helper()
	functions := map[string]*ast.FuncDecl{}
	var pages []parsedPage
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ".go") || strings.HasSuffix(entry.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), entry.Name(), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, declared := range file.Decls {
			if function, ok := declared.(*ast.FuncDecl); ok && function.Body != nil {
				functions[receiverOf(function)+function.Name.Name] = function
			}
		}
	}
	ast.Inspect(functions["other.routes"], func(node ast.Node) bool {
		if call, ok := node.(*ast.CallExpr); ok && called(call) == "page" {
			pages = append(pages, parsePage(call))
		}
		return true
	})
	return functions, pages
}

func parsePage(call *ast.CallExpr) parsedPage {
	pattern := call.Args[0]
	if sum, ok := pattern.(*ast.BinaryExpr); ok {
		pattern = sum.X
	}
	made := parsedPage{pattern: literal(pattern), build: call.Args[2].(*ast.SelectorExpr).Sel.Name}
	made.isQuery = strings.HasPrefix(made.pattern, "GET /candidates")
	for _, argument := range call.Args[3:] {
		made.parameters = append(made.parameters, literal(argument))
	}
	return made
}

// called returns the name of the called method or function.
func called(call *ast.CallExpr) string {
	switch function := call.Fun.(type) {
	case *ast.SelectorExpr:
		return function.Sel.Name
	case *ast.Ident:
		return function.Name
	}
	return ""
}

// literal returns the value of a string literal, "" of other expressions.
func literal(of ast.Expr) string {
	if basic, ok := of.(*ast.BasicLit); ok && basic.Kind == token.STRING {
		text, _ := strconv.Unquote(basic.Value)
		return text
	}
	return ""
}

// follow adds the parameters that a function reads, the functions that it calls, and the methods of its visit that it names.
func follow(functions map[string]*ast.FuncDecl, name string, seen, reads map[string]bool) {
	function := functions[name]
	if function == nil || seen[name] {
		return
	}
	seen[name] = true
	ast.Inspect(function.Body, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.CallExpr:
			name := called(node)
			follow(functions, name, seen, reads)
			if slices.ContainsFunc(node.Args, func(argument ast.Expr) bool { return isIdent(argument, "v") }) {
				follow(functions, "other."+name, seen, reads)
			}
			switch {
			case slices.Contains(reading, name) && isMethodOfVisit(node) && literal(node.Args[0]) != "":
				reads[literal(node.Args[0])] = true
			case name == "filters":
				for _, argument := range node.Args[1:] {
					reads[literal(argument)] = true
				}
			}
		case *ast.SelectorExpr:
			if isIdent(node.X, "v") {
				follow(functions, "visit."+node.Sel.Name, seen, reads)
			}
		}
		return true
	})
}

// TestLimits_ConsolePageTooLarge_IsAnErrorPage has a page whose text alone is as large as a page may be.
func TestLimits_ConsolePageTooLarge_IsAnErrorPage(t *testing.T) {
	t.Parallel()
	s := newSite(t, noauth2, nil)
	size := 0
	s.c.page("GET /large", "who", func(v *visit) error {
		v.head(strings.Repeat("a", size), "", whoData{})
		return nil
	})
	size = maxPage / 4 // a title is twice in a page
	wantStatus(t, s.send(http.MethodGet, "/console/large", nil), http.StatusOK)
	size = maxPage / 2
	w := s.send(http.MethodGet, "/console/large", nil)
	wantStatus(t, w, http.StatusInternalServerError)
	wantText(t, w, "The page would have more than 4 MiB. Narrow it by its filters")
	if w.Body.Len() > 64<<10 {
		t.Errorf("the page of the error has %d bytes", w.Body.Len())
	}
}

// endingRow ends the request while a page is written.
type endingRow struct {
	end   context.CancelFunc
	calls *int
}

// String is called by the template.
func (e endingRow) String() string {
	if *e.calls++; *e.calls == 2 {
		e.end()
	}
	return "x"
}

func TestLimits_ConsoleRequestEnds_StopsThePage(t *testing.T) {
	t.Parallel()
	ctx, end := context.WithCancel(t.Context())
	defer end()
	calls := 0
	rows := make([]endingRow, 1000)
	for i := range rows {
		rows[i] = endingRow{end, &calls}
	}
	pages := pageSet{"rows": template.Must(template.New("rows").Parse(`{{range .}}{{.}}{{end}}`))}
	var out strings.Builder
	if err := pages.renderPart(ctx, &out, "rows", "rows", rows); err == nil || calls != 2 || out.Len() > 0 {
		t.Errorf("error = %v after %d of %d rows, wrote %d bytes", err, calls, len(rows), out.Len())
	}
}
