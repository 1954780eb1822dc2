package browser

import (
	"fmt"
	"testing"
)

// Box is a visible element of a page: one with a text of its own, a control or a picture.
type Box struct {
	// Element is the name of the element with its classes, such as `span.chip`.
	Element string `json:"element"`
	// Text is the element's own text, without that of its children.
	Text string `json:"text"`
	// X, Y, Width and Height are in CSS pixels from the top left corner of the page, rounded to multiples of 4.
	X      int `json:"x"`
	Y      int `json:"y"`
	Width  int `json:"width"`
	Height int `json:"height"`
}

// String returns a line of a golden list.
func (b Box) String() string {
	return fmt.Sprintf("%d,%d %dx%d %s %q", b.X, b.Y, b.Width, b.Height, b.Element, b.Text)
}

const boxesScript = `[...document.querySelectorAll("body *")].flatMap(element => {
	const own = [...element.childNodes].filter(node => node.nodeType === Node.TEXT_NODE)
		.map(node => node.textContent).join(" ").trim().replace(/\s+/g, " ");
	const isPicture = element.matches("input, select, textarea, button, img, svg, hr");
	const box = element.getBoundingClientRect();
	if (!own && !isPicture || box.width === 0 || box.height === 0 || !element.checkVisibility({visibilityProperty: true})) {
		return [];
	}
	const round = number => Math.round(number / 4) * 4;
	return [{
		element: element.localName + [...element.classList].map(name => "." + name).join(""),
		text: own, x: round(box.x + scrollX), y: round(box.y + scrollY), width: round(box.width), height: round(box.height),
	}];
})`

// Boxes returns the visible elements in the order of the document. The list does not depend on the machine if the page
// uses only its own fonts.
func (p *Page) Boxes(t testing.TB) []Box {
	t.Helper()
	return eval[[]Box](t, p, boxesScript)
}
