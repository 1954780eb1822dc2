package browser

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

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
			p := Start(t).Open(t, address, Options{})
			isWanted := func(fault string) bool { return strings.Contains(fault, test.want) }
			// Most faults are events, which need no run of axe.
			if slices.ContainsFunc(p.Events(), isWanted) {
				return
			}
			if faults := p.Faults(t); !slices.ContainsFunc(faults, isWanted) {
				t.Errorf("faults = %q, want one with %q", faults, test.want)
			}
		})
	}
}

func TestConsole_FaultInPage_FailsTest(t *testing.T) {
	t.Parallel()
	p := Start(t).Open(t, serve(t, document(`<script src="/error.js"></script>`, `<p class="pale">Text</p>`)), Options{})
	recorder := &recorder{TB: t}
	p.MustBeClean(recorder)
	if got := recorder.messages; len(got) != 2 || !strings.Contains(got[0], "console.error: planted 1") || !strings.Contains(got[1], "axe: color-contrast: ") {
		t.Errorf("failures = %q, want those of the console and of the contrast", got)
	}
}
