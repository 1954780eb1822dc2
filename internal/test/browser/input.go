package browser

import (
	"context"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// namedKeys are the keys of Press that are not single characters.
var namedKeys = map[string]string{
	"Enter": kb.Enter, "Tab": kb.Tab, "Escape": kb.Escape, "Space": " ", "Backspace": kb.Backspace, "Delete": kb.Delete,
	"ArrowUp": kb.ArrowUp, "ArrowDown": kb.ArrowDown, "ArrowLeft": kb.ArrowLeft, "ArrowRight": kb.ArrowRight,
	"Home": kb.Home, "End": kb.End, "PageUp": kb.PageUp, "PageDown": kb.PageDown,
}

var modifiers = map[string]chromedp.Modifier{
	"Shift": chromedp.ModifierShift, "Control": chromedp.ModifierCtrl, "Alt": chromedp.ModifierAlt,
}

// Click scrolls to the only element that matches a CSS selector, clicks its center, and waits as Settle does.
func (p *Page) Click(t testing.TB, selector string) {
	t.Helper()
	if count := p.Count(t, selector); count != 1 {
		t.Fatalf("%d elements match %q, want 1", count, selector)
	}
	p.do(t, "click "+selector, chromedp.Click(chromedp.CSS(selector), chromedp.NodeVisible))
	p.Settle(t)
}

// Type replaces the value of a text field by keys, and waits as Settle does.
func (p *Page) Type(t testing.TB, selector, text string) {
	t.Helper()
	if count := p.Count(t, selector); count != 1 {
		t.Fatalf("%d elements match %q, want 1", count, selector)
	}
	p.do(t, "focus "+selector, chromedp.Focus(chromedp.CSS(selector), chromedp.NodeVisible))
	p.do(t, "select the text of "+selector, chromedp.KeyEvent("a", chromedp.KeyModifiers(chromedp.ModifierCtrl)))
	p.do(t, "delete the text of "+selector, chromedp.KeyEvent(kb.Delete))
	p.do(t, "type into "+selector, chromedp.KeyEvent(text))
	p.Settle(t)
}

// Choose selects the option with a value, as a user does by mouse, and waits as Settle does.
func (p *Page) Choose(t testing.TB, selector, value string) {
	t.Helper()
	if !eval[bool](t, p, `(field => {
		const found = field instanceof HTMLSelectElement && [...field.options].some(option => option.value === `+quote(value)+`);
		if (found) {
			field.value = `+quote(value)+`;
			field.dispatchEvent(new Event("input", {bubbles: true}));
			field.dispatchEvent(new Event("change", {bubbles: true}));
		}
		return found;
	})(document.querySelector(`+quote(selector)+`))`) {
		t.Fatalf("%q is not a list with the value %q", selector, value)
	}
	p.Settle(t)
}

// Press presses keys one after another, and waits as Settle does. A key is a character, or a name such as "Enter",
// "Tab" or "ArrowDown", after modifiers as in "Shift+Tab" and "Control+Enter".
func (p *Page) Press(t testing.TB, keys ...string) {
	t.Helper()
	for _, key := range keys {
		name, held := key, chromedp.Modifier(0)
		for {
			before, after, found := strings.Cut(name, "+")
			modifier, known := modifiers[before]
			if !found || !known {
				break
			}
			name, held = after, held|modifier
		}
		code, isNamed := namedKeys[name]
		switch {
		case !isNamed && utf8.RuneCountInString(name) != 1:
			t.Fatalf("unknown key %q", key)
		case !isNamed:
			code = name
		}
		p.do(t, "press "+key, pressKey(code, held))
	}
	p.Settle(t)
}

// pressKey presses one key as a keyboard does: the text is a part of the event keydown, so that a page that prevents the
// event keeps the text out of a field to which it moves the focus. chromedp.KeyEvent sends the text in an event of its own.
func pressKey(key string, held chromedp.Modifier) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		r, _ := utf8.DecodeRuneInString(key)
		events := kb.Encode(r)
		down, up := *events[0], *events[len(events)-1]
		if char := events[1]; char.Type == kb.KeyChar && held&^chromedp.ModifierShift == 0 {
			down.Text, down.UnmodifiedText = char.Text, char.UnmodifiedText
		}
		for _, event := range []input.DispatchKeyEventParams{down, up} {
			event.Modifiers |= int64(held)
			if _, err := cdp.Call(ctx, target, input.DispatchKeyEvent, event); err != nil {
				return err
			}
		}
		return nil
	})
}
