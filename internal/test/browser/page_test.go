package browser

import (
	"image"
	"image/png"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

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
	p := Start(t).Open(t, serve(t, document("", `<svg class="bar" width="101" height="9" role="img" aria-label="Bar"></svg><p hidden>Hidden</p><div class="tall"></div>`)), Options{Window: true})
	boxes := p.Boxes(t)
	if len(boxes) != 2 || boxes[0].Element != "h1" || boxes[0].Text != "Test" || boxes[1].Element != "svg.bar" ||
		boxes[1].Width != 100 || boxes[1].Height != 8 || boxes[1].X != 8 || boxes[1].Y <= boxes[0].Y {
		t.Errorf("boxes = %v", boxes)
	}
	file := filepath.Join(t.TempDir(), "page.png")
	p.Screenshot(t, file)
	if size := pngSize(t, file); size.X != 1280 || size.Y < 2000 {
		t.Errorf("size of the screenshot = %v, want 1280x2000 or higher", size)
	}
	if value, found := p.Attribute(t, "svg", "role"); value != "img" || !found {
		t.Errorf("role = %q, %t, want img", value, found)
	}
	if value, found := p.Attribute(t, "svg", "style"); found {
		t.Errorf("style = %q, want none", value)
	}
}

func TestConsole_ResponseMissing_ErrorNamesRequest(t *testing.T) {
	t.Parallel()
	browser := Start(t) // skips the test without a browser
	address := serve(t, document(`<script src="/never.js" defer></script>`, ""))
	recorder := &recorder{TB: t}
	recorder.run(func() { browser.Open(recorder, address, Options{Timeout: 3 * time.Second}) })
	want := "fail: cannot open " + address + ": context deadline exceeded\nrequest in flight: " + address + "/never.js"
	if got := strings.Join(recorder.messages, "\n"); got != want {
		t.Errorf("message = %q, want %q", got, want)
	}
}

func TestConsole_ValueChosen_FormSendsIt(t *testing.T) {
	t.Parallel()
	b := Start(t)
	p := b.Open(t, serve(t, document("", `<form action="/echo"><label>List <select name="q"><option value="a">A</option>`+
		`<option value="b">B</option></select></label><button>Send</button></form>`)), Options{})
	p.Choose(t, "select", "b")
	p.Click(t, "button")
	if got := p.Text(t, "#q"); got != "b" {
		t.Errorf("field = %q, want b", got)
	}
	if got := p.Eval(t, "undefined"); got != nil {
		t.Errorf("undefined = %v, want nil", got)
	}
	if got := b.Version(t); !strings.Contains(got, "Chrome/") {
		t.Errorf("version = %q, want that of Chrome", got)
	}
}

// pngSize returns the size of an image.
func pngSize(t *testing.T, file string) image.Point {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	config, err := png.DecodeConfig(f)
	if err != nil {
		t.Fatal(err)
	}
	return image.Pt(config.Width, config.Height)
}
