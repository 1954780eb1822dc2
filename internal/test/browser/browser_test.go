package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// policy is a Content-Security-Policy as strict as that of the console.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// document returns a page without faults, with a body.
func document(head, body string) string {
	return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Test</title><link rel="icon" href="/icon.svg">` +
		`<meta name="viewport" content="width=device-width"><link rel="stylesheet" href="/style.css">` + head +
		`</head><body><main><h1>Test</h1>` + body + `</main></body></html>`
}

// serve serves a page at /, and the files that a page may load.
func serve(t *testing.T, page string) string {
	t.Helper()
	mux := http.NewServeMux()
	file := func(path, kind, text string) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.Header().Set("Content-Security-Policy", policy)
			fmt.Fprint(w, text)
		})
	}
	file("/{$}", "text/html; charset=utf-8", page)
	file("/next", "text/html; charset=utf-8", document("", `<p id="next">Next</p>`))
	file("/style.css", "text/css", "body { background: #fff; color: #000 } .wide { width: 2000px } .pale { color: #ccc }\n"+
		"@media (prefers-color-scheme: dark) { body { background: #000; color: #fff } }")
	file("/icon.svg", "image/svg+xml", `<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16"/>`)
	file("/error.js", "text/javascript", "console.error('planted', 1)")
	file("/warning.js", "text/javascript", "console.warn('planted')")
	file("/exception.js", "text/javascript", "throw new Error('planted')")
	file("/rejection.js", "text/javascript", "Promise.reject(new Error('planted'))")
	file("/alert.js", "text/javascript", "alert('planted')")
	file("/eval.js", "text/javascript", "try { new Function('return 1')() } catch {}")
	file("/foreign.js", "text/javascript", "fetch('http://example.org/').catch(() => {})")
	file("/write.js", "text/javascript", "document.querySelector('#by-script').textContent = 'JavaScript runs'")
	file("/keys.js", "text/javascript", "addEventListener('keydown', e => document.querySelector('#keys').textContent += "+
		"(e.shiftKey ? 'S-' : '') + (e.ctrlKey ? 'C-' : '') + e.key + ' ')")
	mux.HandleFunc("GET /echo", func(w http.ResponseWriter, r *http.Request) {
		cookie, _ := r.Cookie("name")
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, document("", fmt.Sprintf("<p id=cookie>%v</p><p id=header>%s</p><p id=q>%s</p>", cookie, r.Header.Get("X-Test"), r.FormValue("q"))))
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

func TestConsole_PageWithoutFaults_IsClean(t *testing.T) {
	t.Parallel()
	address := serve(t, document("", `<p class="text">Some text</p><img src="/icon.svg" alt="An icon">`))
	for name, o := range map[string]Options{
		"light": {}, "dark": {Dark: true}, "narrow": {Width: 320, Height: 700}, "without JavaScript": {NoScript: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := Start(t).Open(t, address, o)
			p.MustBeClean(t)
			if p.Status() != http.StatusOK {
				t.Errorf("status = %d, want 200", p.Status())
			}
		})
	}
}

func TestConsole_PlantedFault_IsReported(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ head, body, want string }{
		"inline script":            {head: `<script>document.title = "x"</script>`, want: "security: Executing inline script violates"},
		"inline style":             {body: `<p style="color: red">Text</p>`, want: "security: Applying inline style violates"},
		"inline handler":           {body: `<button onclick="f()">Button</button><img src="/icon.svg" alt="" onload="f()">`, want: "inline event handler violates"},
		"eval":                     {head: `<script src="/eval.js"></script>`, want: "security: eval violates script-src"},
		"console.error":            {head: `<script src="/error.js"></script>`, want: "console.error: "},
		"console.warn":             {head: `<script src="/warning.js"></script>`, want: "console.warning: "},
		"exception":                {head: `<script src="/exception.js"></script>`, want: "exception: Uncaught Error: planted"},
		"unhandled rejection":      {head: `<script src="/rejection.js"></script>`, want: "exception: Uncaught (in promise) Error: planted"},
		"dialog":                   {head: `<script src="/alert.js"></script>`, want: "dialog: planted"},
		"missing image":            {body: `<img src="/missing.png" alt="Missing">`, want: "network: Failed to load resource: the server responded with a status of 404"},
		"missing style sheet":      {head: `<link rel="stylesheet" href="/missing.css">`, want: "Refused to apply style from"},
		"request to another host":  {head: `<script src="/foreign.js"></script>`, want: "example.org"},
		"low contrast":             {body: `<p class="pale">Text</p>`, want: "axe: color-contrast: "},
		"image without text":       {body: `<img src="/icon.svg">`, want: "axe: image-alt: "},
		"page wider than window":   {body: `<p class="wide">Text</p>`, want: "reaches beyond the window: p.wide Text"},
		"text outside of landmark": {body: `</main><p>Outside</p><main>`, want: "axe: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := serve(t, document(test.head, test.body))
			faults := Start(t).Open(t, address, Options{}).Faults(t)
			if !slices.ContainsFunc(faults, func(fault string) bool { return strings.Contains(fault, test.want) }) {
				t.Errorf("faults = %q, want one with %q", faults, test.want)
			}
		})
	}
}

func TestConsole_FaultInPage_FailsTest(t *testing.T) {
	t.Parallel()
	p := Start(t).Open(t, serve(t, document("", `<p class="pale">Text</p>`)), Options{})
	recorder := &failures{TB: t}
	p.MustBeClean(recorder)
	if len(recorder.messages) != 1 || !strings.Contains(recorder.messages[0], "color-contrast") {
		t.Errorf("failures = %q, want one of color-contrast", recorder.messages)
	}
}

// failures is a test that records its failures.
type failures struct {
	testing.TB
	messages []string
}

func (f *failures) Error(arguments ...any) { f.messages = append(f.messages, fmt.Sprint(arguments...)) }

func TestConsole_ColorScheme_IsEmulated(t *testing.T) {
	t.Parallel()
	address := serve(t, document("", ""))
	for isDark, want := range map[bool]string{false: "rgb(255, 255, 255)", true: "rgb(0, 0, 0)"} {
		p := Start(t).Open(t, address, Options{Dark: isDark})
		if got := p.Eval(t, "getComputedStyle(document.body).backgroundColor"); got != want {
			t.Errorf("dark %t: background = %v, want %s", isDark, got, want)
		}
	}
}

func TestConsole_JavaScriptOff_LinksAndFormsWork(t *testing.T) {
	t.Parallel()
	address := serve(t, document(`<script src="/write.js" defer></script>`,
		`<p id="by-script">Nothing runs</p><a href="/next">Next</a><form action="/echo"><label>Text <input name="q"></label><button>Send</button></form>`))
	for noScript, want := range map[bool]string{false: "JavaScript runs", true: "Nothing runs"} {
		p := Start(t).Open(t, address, Options{NoScript: noScript})
		if got := p.Text(t, "#by-script"); got != want {
			t.Errorf("off %t: text = %q, want %q", noScript, got, want)
		}
		p.Type(t, "input", "some text")
		p.Click(t, "button")
		if got := p.Text(t, "#q"); got != "some text" || p.Status() != http.StatusForbidden {
			t.Errorf("off %t: field = %q, status %d, want \"some text\", 403", noScript, got, p.Status())
		}
		p.Goto(t, address)
		p.Click(t, "a")
		if got := p.URL(t); got != address+"/next" {
			t.Errorf("off %t: address = %s, want /next", noScript, got)
		}
		if events := p.Events(); len(events) > 0 {
			t.Errorf("off %t: events = %q, want none", noScript, events)
		}
	}
}

func TestConsole_CookiesAndHeader_AreSentByOnePage(t *testing.T) {
	t.Parallel()
	address := serve(t, "") + "/echo"
	with := Start(t).Open(t, address, Options{Cookies: map[string]string{"name": "value"}, Header: map[string]string{"X-Test": "header"}})
	without := Start(t).Open(t, address, Options{})
	got := [][]string{with.Texts(t, "#cookie, #header"), without.Texts(t, "#cookie, #header")}
	if want := [][]string{{"name=value", "header"}, {"", ""}}; !reflect.DeepEqual(got, want) {
		t.Errorf("cookies and headers = %q, want %q", got, want)
	}
}

func TestConsole_Keys_ReachFocusedElement(t *testing.T) {
	t.Parallel()
	p := Start(t).Open(t, serve(t, document(`<script src="/keys.js" defer></script>`,
		`<a href="/next">First</a> <a href="/next" id="second">Second</a><p id="keys"></p>`)), Options{})
	if got := p.Focused(t); got != "body" {
		t.Errorf("focus = %s, want body", got)
	}
	p.Press(t, "Tab", "Tab")
	if got := p.Focused(t); got != `a#second "Second"` {
		t.Errorf("focus = %s, want the second link", got)
	}
	p.Press(t, "Shift+Tab", "ArrowDown", "/", "g", "?", "Control+Enter")
	if got, want := p.Text(t, "#keys"), "Tab Tab S-Tab ArrowDown / g S-? C-Enter"; got != want {
		t.Errorf("keys = %q, want %q", got, want)
	}
	if got := p.Focused(t); got != `a "First"` {
		t.Errorf("focus = %s, want the first link", got)
	}
	p.Press(t, "Enter")
	if got := p.Text(t, "#next"); got != "Next" {
		t.Errorf("text = %q, want that of the next page", got)
	}
}

func TestConsole_Boxes_AreRoundedAndOrdered(t *testing.T) {
	t.Parallel()
	p := Start(t).Open(t, serve(t, document("", `<svg class="bar" width="101" height="9" role="img" aria-label="Bar"></svg><p hidden>Hidden</p>`)), Options{})
	boxes := p.Boxes(t)
	if len(boxes) != 2 || boxes[0].Element != "h1" || boxes[0].Text != "Test" || boxes[1].Element != "svg.bar" ||
		boxes[1].Width != 100 || boxes[1].Height != 8 || boxes[1].X != 8 || boxes[1].Y <= boxes[0].Y {
		t.Errorf("boxes = %v", boxes)
	}
	file := filepath.Join(t.TempDir(), "page.png")
	p.Screenshot(t, file)
	if size := pngSize(t, file); size.X != 1280 || size.Y < 900 {
		t.Errorf("size of the screenshot = %v, want 1280x900 or higher", size)
	}
	if value, found := p.Attribute(t, "svg", "role"); value != "img" || !found {
		t.Errorf("role = %q, %t, want img", value, found)
	}
	if value, found := p.Attribute(t, "svg", "style"); found {
		t.Errorf("style = %q, want none", value)
	}
}
