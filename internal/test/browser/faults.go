package browser

import (
	_ "embed"
	"testing"

	"github.com/chromedp/chromedp"
)

// axe finds faults of accessibility. testdata/README.md has its origin.
//
//go:embed testdata/axe.min.js
var axe string

// axeScript runs axe and returns a line per fault.
const axeScript = `axe.run(document, {
	runOnly: {type: "tag", values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]},
	resultTypes: ["violations"],
	preload: false,
}).then(results => results.violations.flatMap(rule => rule.nodes.map(node =>
	"axe: " + rule.id + ": " + rule.help + ": " + node.target.join(" ") + ": " +
	[...node.any, ...node.all, ...node.none].map(check => check.message).join("; "))))`

// widthScript returns the elements that reach beyond the right edge of the window, if the page can be scrolled there.
const widthScript = `document.documentElement.scrollWidth <= document.documentElement.clientWidth ? [] :
	["the page is " + document.documentElement.scrollWidth + " px wide, the window " + document.documentElement.clientWidth]
	.concat([...document.querySelectorAll("body *")]
		.filter(element => element.getBoundingClientRect().right > document.documentElement.clientWidth)
		.slice(0, 5)
		.map(element => "reaches beyond the window: " + element.tagName.toLowerCase() +
			[...element.classList].map(name => "." + name).join("") + " " + element.textContent.trim().slice(0, 40)))`

// Faults returns the events of the page, what axe finds, and the elements that reach beyond the window. JavaScript that
// is off in the page does not hinder axe.
func (p *Page) Faults(t testing.TB) []string {
	t.Helper()
	p.Settle(t)
	if !eval[bool](t, p, `typeof axe !== "undefined"`) {
		p.do(t, "load axe", chromedp.Evaluate[chromedp.Void](axe+";0"))
	}
	if p.options.NoScript {
		// axe waits for promises and timers, which do not run while JavaScript is off.
		p.do(t, "turn JavaScript on for axe", setScript(true))
		defer func() { p.do(t, "turn JavaScript off", setScript(false)) }()
	}
	faults := run(t, p, "run axe", chromedp.Evaluate[[]string](axeScript, chromedp.EvalAwaitPromise))
	faults = append(faults, eval[[]string](t, p, widthScript)...)
	return append(p.Events(), faults...)
}

// MustBeClean fails the test if Faults returns any.
func (p *Page) MustBeClean(t testing.TB) {
	t.Helper()
	for _, fault := range p.Faults(t) {
		t.Errorf("%s: %s", p.URL(t), fault)
	}
}
