package console_test

import (
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/berthd/berth/internal/demo"
	"github.com/berthd/berth/internal/test/browser"
)

var (
	matrix = flag.Bool("matrix", false, "test the pages in all states, colors and widths")
	looks  = flag.String("looks", "", "directory for a picture of each page in each state")
	shown  = flag.String("pictures", "", "directory for the pictures of docs/console.md, such as ../../docs/console")
	large  = flag.Int("large", 3700, "hosts of the large cloud: 3,700 have 10,000 providers")
)

// page is a row of the matrix: an address, in which {names} are those of the site.
type page struct{ name, address string }

// pages are all pages of the console that GET shows.
var pages = []page{
	{name: "overview", address: ""},
	{name: "find", address: "/find?q=HW_CPU_X86_"},
	{name: "providers", address: "/providers"},
	{name: "providers-fullest", address: "/providers?sort=fullest"},
	{name: "providers-names", address: "/providers?view=list&q=gpu-0"},
	{name: "providers-map", address: "/providers?view=map&class=VCPU"},
	{name: "tree", address: "/providers/{provider}"},
	{name: "tree-consumer", address: "/providers/{provider}?consumer={consumer}&at={provider}"},
	{name: "tree-consumers", address: "/providers/{provider}/consumers"},
	{name: "tree-traits", address: "/providers/{provider}/traits"},
	{name: "tree-api", address: "/providers/{provider}/api"},
	{name: "compare", address: "/providers/{provider}/compare?with={neighbor}"},
	{name: "consumers", address: "/consumers"},
	{name: "consumers-leases", address: "/consumers?sort=lease"},
	{name: "consumer", address: "/consumers/{consumer}"},
	{name: "candidates", address: "/candidates"},
	{name: "candidates-found", address: "/candidates?resources=VCPU:4,MEMORY_MB:8192&resources_GPU=VGPU:1&group_policy=none&limit=20"},
	{name: "candidates-none", address: "/candidates?resources=VGPU:1&required=CUSTOM_GPU_H100,CUSTOM_GPU_L40S&limit=20"},
	{name: "funnel", address: "/candidates/funnel?resources=VGPU:1&required=CUSTOM_GPU_H100,CUSTOM_GPU_L40S"},
	{name: "explanations", address: "/explanations"},
	{name: "explanation", address: "/explanations/{request}"},
	{name: "history", address: "/history"},
	{name: "history-tree", address: "/history?tree={provider}"},
	{name: "history-node", address: "/history?provider={node}"},
	{name: "history-nothing", address: "/history?tree={provider}&topic=allocation&until=2020-01-01"},
	{name: "capacity", address: "/capacity?class=VCPU"},
	{name: "what-if", address: "/capacity/what-if?shape=resources%3DVCPU%3A4"},
	{name: "class", address: "/classes/VGPU"},
	{name: "trait", address: "/traits/CUSTOM_GPU_H100"},
	{name: "aggregate", address: "/aggregates/{aggregate}"},
	{name: "baremetal", address: "/baremetal"},
	{name: "baremetal-allocations", address: "/baremetal/allocations"},
	{name: "baremetal-conductors", address: "/baremetal/conductors"},
	{name: "node", address: "/baremetal/nodes/{node}"},
	{name: "node-allocation", address: "/baremetal/allocations/{allocation}"},
	{name: "consistency", address: "/consistency"},
	{name: "start", address: "/start"},
	{name: "who", address: "/who"},
	{name: "not-found", address: "/nothing"},
}

// on returns the address of a page on a site.
func (p page) on(s *site) string {
	return s.url + "/console" + strings.NewReplacer("{provider}", s.Provider, "{neighbor}", s.Neighbor, "{consumer}", s.Consumer, "{request}", s.Request,
		"{aggregate}", s.Aggregate, "{node}", s.Node, "{allocation}", s.NodeAllocation).Replace(p.address)
}

// window is a way to look at a page. Boxes are compared in the light one, which is a real window: without one, texts are up to
// 8 pixels wider.
type window struct {
	name    string
	options browser.Options
}

var windows = []window{
	{"light", browser.Options{Width: 1440, Height: 900, Window: true}},
	{"390", browser.Options{Width: 390, Height: 844}},
	{"dark", browser.Options{Width: 1440, Height: 900, Dark: true}},
}

// state is a state of the service and of its caller.
type state struct {
	name    string
	options siteOptions
	persona string
}

var states = []state{
	{name: "full", options: siteOptions{hosts: 24, ordered: true}},
	{name: "empty"},
	{name: "refused", options: siteOptions{hosts: 12}, persona: "no role"},
	{name: "plain", options: siteOptions{hosts: 12, plain: true}},
	{name: "large"},
}

// TestConsole_Pages_AreCleanInEachWindow opens each page: no violation of the policy, exception, failed load or error of the
// browser's console, nothing that axe finds, no page that is wider than its window, and with full data in light colors the
// golden list of boxes. Without -matrix it looks at full data, light and in a narrow window.
func TestConsole_Pages_AreCleanInEachWindow(t *testing.T) {
	chromium := browser.Start(t)
	for _, state := range states {
		if !*matrix && state.name != "full" {
			continue
		}
		t.Run(state.name, func(t *testing.T) {
			t.Parallel()
			if state.name == "large" {
				state.options.hosts = *large
			}
			s := newSite(t, state.options)
			var cookies map[string]string
			if state.persona != "" {
				cookies = s.persona(t, state.persona)
			}
			for _, window := range windows {
				if !*matrix && window.options.Dark {
					continue
				}
				window.options.Cookies = cookies
				window.options.Window = window.options.Window || *looks != ""
				idle := &idlePages{t: t, chromium: chromium, options: window.options}
				for _, page := range pages {
					t.Run(page.name+"/"+window.name, func(t *testing.T) {
						if !slices.Contains(counting, page.name) { // those come first
							t.Parallel()
						}
						open := idle.open(t, page.on(s))
						look(t, open, filepath.Join(state.name, page.name+"-"+window.name+".png"))
						if state.options.ordered && window.name == "light" && !slices.Contains(withoutBoxes, page.name) {
							mustLookAsBefore(t, open, page.name)
						}
					})
				}
			}
		})
	}
}

// idlePages are open pages of a browser with the same options. Subtests use them one after the other: a new page takes five
// times the CPU time of an address.
type idlePages struct {
	t        *testing.T // the test whose subtests use the pages; they close at its end
	chromium *browser.Browser
	options  browser.Options
	mutex    sync.Mutex
	pages    []*browser.Page
}

// open opens an address in a page that no other subtest uses, or in a new one. After a failed subtest, no other one uses its page.
func (i *idlePages) open(t *testing.T, address string) *browser.Page {
	t.Helper()
	i.mutex.Lock()
	var page *browser.Page
	if last := len(i.pages) - 1; last >= 0 {
		page, i.pages = i.pages[last], i.pages[:last]
	}
	i.mutex.Unlock()
	if page == nil {
		page = i.chromium.Open(i.t, address, i.options)
	} else {
		page.Forget()
		page.Goto(t, address)
	}
	t.Cleanup(func() {
		if !t.Failed() {
			i.mutex.Lock()
			defer i.mutex.Unlock()
			i.pages = append(i.pages, page)
		}
	})
	return page
}

// look checks an open page, and writes its picture with -looks.
func look(t *testing.T, page *browser.Page, file string) {
	t.Helper()
	if status := page.Status(); status >= http.StatusInternalServerError {
		t.Errorf("status = %d", status)
	}
	page.MustBeClean(t)
	if *looks == "" {
		return
	}
	file = filepath.Join(*looks, file)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	page.Screenshot(t, file)
}

// documented are the pages whose pictures docs/console.md has.
var documented = []string{"overview", "tree-consumer", "providers-map", "candidates-found", "explanation", "capacity", "compare", "history-node", "baremetal", "node"}

// TestConsole_Documentation_HasPicturesOfItsPages draws the pictures of the documentation with -pictures, and else checks
// that each of them exists and that the documentation shows it.
func TestConsole_Documentation_HasPicturesOfItsPages(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/console.md")
	if err != nil {
		t.Fatal(err)
	}
	var s *site
	if *shown != "" {
		s = newSite(t, siteOptions{hosts: demo.DefaultHosts})
	}
	for _, page := range pages {
		if !slices.Contains(documented, page.name) {
			continue
		}
		for _, suffix := range []string{"", "-dark"} {
			file := page.name + suffix + ".png"
			if s != nil {
				open := browser.Start(t).Open(t, page.on(s), browser.Options{Width: 1280, Height: 800, Dark: suffix != "", Window: true})
				open.Screenshot(t, filepath.Join(*shown, file))
			}
			if !strings.Contains(string(text), "console/"+file) {
				t.Errorf("docs/console.md does not show console/%s", file)
			}
			if _, err := os.Stat(filepath.Join("../../docs/console", file)); err != nil {
				t.Error(err)
			}
		}
	}
}
