package console_test

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berthd/berth/internal/test/browser"
)

// TestConsole_APIReference_FitsIsDarkAndSearches opens the reference of the API from the console, in each window, and leads back.
func TestConsole_APIReference_FitsIsDarkAndSearches(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; it runs without -short")
	}
	t.Parallel()
	chromium := browser.Start(t)
	s := newSite(t, siteOptions{})
	for _, window := range windows {
		window.options.Window = *looks != "" // for the picture
		page := chromium.Open(t, s.url+"/console/who", window.options)
		page.Click(t, `.nav a[href="/docs"]`)
		page.WaitFor(t, `document.querySelectorAll(".opblock").length > 20`)
		page.Settle(t)
		if status := page.Status(); status != http.StatusOK {
			t.Errorf("%s: status = %d", window.name, status)
		}
		page.WaitFor(t, `document.documentElement.scrollWidth <= innerWidth`)
		page.WaitFor(t, `document.querySelectorAll("#api option").length === 3 && document.querySelector("#microversion").value === "1.39"`)
		if *looks != "" {
			page.Screenshot(t, filepath.Join(*looks, "reference-"+window.name+".png"))
		}
		page.Type(t, "#find", "put aggregates")
		page.WaitFor(t, `[...document.querySelectorAll(".opblock")].filter((one) => one.offsetParent).length === 1`)
		page.Type(t, "#find", " nothing-like-this")
		page.WaitFor(t, `document.querySelector("#none").textContent !== ""`)
		page.Choose(t, "#api", "baremetal/1.82")
		page.WaitFor(t, `location.search === "?microversion=baremetal/1.82" && document.querySelector("#microversion").value === "baremetal/1.82"`)
		page.WaitFor(t, `document.querySelectorAll(".opblock").length > 20`)
		page.Settle(t)
		page.Click(t, `header a[href="console"]`)
		if got := page.URL(t); !strings.Contains(got, "/console") {
			t.Errorf("%s: the link leads to %s", window.name, got)
		}
		if events := page.Events(); len(events) > 0 {
			t.Errorf("%s: events: %q", window.name, events)
		}
	}
}
