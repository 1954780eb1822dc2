package browser

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/chromedp/chromedp"
)

// eval returns the value of a JavaScript expression.
func eval[T any](t testing.TB, p *Page, expression string) T {
	t.Helper()
	return run(t, p, "evaluate "+expression, chromedp.Evaluate[T](expression))
}

// Eval returns the value of a JavaScript expression as encoding/json decodes it, and nil for undefined.
func (p *Page) Eval(t testing.TB, expression string) any {
	t.Helper()
	return eval[any](t, p, "("+expression+") ?? null")
}

// URL returns the address of the page.
func (p *Page) URL(t testing.TB) string {
	t.Helper()
	return eval[string](t, p, "location.href")
}

// Count returns the number of elements that match a CSS selector.
func (p *Page) Count(t testing.TB, selector string) int {
	t.Helper()
	return eval[int](t, p, "document.querySelectorAll("+quote(selector)+").length")
}

// Text returns the visible text of the only element that matches a CSS selector, with single spaces. It fails the test
// if not exactly one element matches.
func (p *Page) Text(t testing.TB, selector string) string {
	t.Helper()
	texts := p.Texts(t, selector)
	if len(texts) != 1 {
		t.Fatalf("%d elements match %q, want 1", len(texts), selector)
	}
	return texts[0]
}

// Texts returns the visible text of each element that matches a CSS selector, with single spaces.
func (p *Page) Texts(t testing.TB, selector string) []string {
	t.Helper()
	return eval[[]string](t, p, "[...document.querySelectorAll("+quote(selector)+
		`)].map(element => (element.innerText ?? element.textContent).trim().replace(/\s+/g, " "))`)
}

// Attribute returns an attribute of the only element that matches a CSS selector, and whether the element has it.
func (p *Page) Attribute(t testing.TB, selector, name string) (string, bool) {
	t.Helper()
	if count := p.Count(t, selector); count != 1 {
		t.Fatalf("%d elements match %q, want 1", count, selector)
	}
	value := eval[*string](t, p, "document.querySelector("+quote(selector)+").getAttribute("+quote(name)+")")
	if value == nil {
		return "", false
	}
	return *value, true
}

// Focused describes the element that has the focus, such as `a "Providers"` or `input#q`. It is `body` if no element has it.
func (p *Page) Focused(t testing.TB) string {
	t.Helper()
	return eval[string](t, p, `(element => {
		const text = (element === document.body ? "" : element.innerText || "").trim().replace(/\s+/g, " ").slice(0, 40);
		return element.localName + (element.id ? "#" + element.id : element.name ? "[name=" + element.name + "]" : "") +
			(text ? " " + JSON.stringify(text) : "");
	})(document.activeElement)`)
}

// Screenshot writes a PNG of the whole page to a file.
func (p *Page) Screenshot(t testing.TB, file string) {
	t.Helper()
	image := run(t, p, "take a screenshot", chromedp.FullScreenshot(100))
	if err := os.WriteFile(file, image, 0o644); err != nil {
		t.Fatal(err)
	}
}

// quote returns a JavaScript literal of a string.
func quote(text string) string {
	literal, err := json.Marshal(text)
	if err != nil {
		panic(err) // no string causes an error
	}
	return string(literal)
}
