package console_test

import (
	"strings"
	"testing"

	"github.com/berthd/berth/internal/test/browser"
)

// pressUntil presses a key until the focused element contains a text. The focus must reach it within the stops of a page.
func pressUntil(t *testing.T, page *browser.Page, key, text string) {
	t.Helper()
	var seen []string
	for range 60 {
		page.Press(t, key)
		focused := page.Focused(t)
		if strings.Contains(focused, text) {
			return
		}
		seen = append(seen, focused)
	}
	t.Fatalf("%s does not reach %q; it reaches %q", key, text, seen)
}

// TestConsole_WithoutScripts_LeadsToADryRunClaim goes from the overview over find, list, tree and comparison to candidates
// and a claim, by links and forms only.
func TestConsole_WithoutScripts_LeadsToADryRunClaim(t *testing.T) {
	t.Parallel()
	chromium := browser.Start(t)
	s := newSite(t, siteOptions{hosts: 12})
	page := chromium.Open(t, s.url+"/console", browser.Options{NoScript: true})
	page.Type(t, "[data-find]", "gpu-0")
	page.Press(t, "Enter")
	if !strings.Contains(page.URL(t), "/providers?q=gpu-0") {
		t.Fatalf("find leads to %s", page.URL(t))
	}
	page.Click(t, `a[href$="/providers/`+s.Provider+`"]`)
	if got := page.Text(t, "h1"); got != "gpu-01" {
		t.Fatalf("the tree is %q", got)
	}
	page.Click(t, `.actions a[href*="/compare"]`)
	page.Type(t, "#with", "gpu-02")
	page.Press(t, "Enter")
	if got := page.Text(t, "h1"); got != "gpu-01 compared with gpu-02" {
		t.Fatalf("the comparison is %q", got)
	}
	page.Click(t, `.nav a[href$="/candidates"]`)
	page.Type(t, "textarea[name=start]", "resources:VCPU=2\nresources:MEMORY_MB=1024")
	page.Click(t, "form:has(textarea[name=start]) button")
	if got := page.Texts(t, "#asked-query"); len(got) != 1 || !strings.Contains(got[0], "candidates") {
		t.Fatalf("the candidates are %q at %s", got, page.URL(t))
	}
	page.Click(t, `form[action$="/candidates/claim"] button`)
	if text := page.Text(t, "main"); !strings.Contains(text, "PUT /allocations/") || !strings.Contains(text, "dry run") {
		t.Errorf("the claim is %q", text)
	}
	page.MustBeClean(t)
}

// TestConsole_KeyboardOnly_LeadsToCandidates does the same without a mouse: single keys, arrows in tables, Tab and Enter.
func TestConsole_KeyboardOnly_LeadsToCandidates(t *testing.T) {
	t.Parallel()
	chromium := browser.Start(t)
	s := newSite(t, siteOptions{hosts: 12})
	page := chromium.Open(t, s.url+"/console", browser.Options{})
	page.Press(t, "/")
	if got := page.Focused(t); !strings.Contains(got, "[name=q]") {
		t.Fatalf("/ focuses %s", got)
	}
	page.Press(t, "g", "p", "u", "-", "0", "Enter")
	page.WaitFor(t, `location.pathname.endsWith("/providers")`)
	page.Settle(t)
	pressUntil(t, page, "Tab", `"gpu-01"`)
	page.Press(t, "ArrowDown")
	if got := page.Focused(t); !strings.Contains(got, `"gpu-01_gpu0"`) {
		t.Errorf("ArrowDown focuses %s", got)
	}
	page.Press(t, "ArrowUp", "Enter")
	page.WaitFor(t, `location.pathname.includes("/providers/")`)
	page.Settle(t)
	if got := page.Text(t, "h1"); got != "gpu-01" {
		t.Fatalf("Enter leads to %q", got)
	}
	page.Press(t, "g", "c")
	page.WaitFor(t, `location.pathname.endsWith("/candidates")`)
	page.Settle(t)
	pressUntil(t, page, "Tab", "textarea")
	for _, key := range "resources:VCPU=2" {
		page.Press(t, string(key))
	}
	pressUntil(t, page, "Tab", "Use it")
	page.Press(t, "Enter")
	page.WaitFor(t, `location.search.includes("resources=VCPU")`)
	page.Settle(t)
	pressUntil(t, page, "Tab", "Dry-run claim")
	page.Press(t, "Enter")
	page.WaitFor(t, `document.querySelector("main").innerText.includes("PUT /allocations/")`)
	page.Press(t, "?")
	if page.Count(t, "dialog[open]") != 1 {
		t.Error("? does not open the list of keys")
	}
	page.Press(t, "Escape")
	if events := page.Events(); len(events) > 0 {
		t.Errorf("events: %q", events)
	}
}
