package console_test

import (
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/client/baremetal"
	"github.com/berthd/berth/internal/demo"
)

// nextPage is the link to the next page of a list.
var nextPage = regexp.MustCompile(`href="([^"]*)" rel="next"`)

// TestConsole_Lists_PageThroughAll follows the links of a list and finds each item of the API once.
func TestConsole_Lists_PageThroughAll(t *testing.T) {
	t.Parallel()
	log := &syncBuffer{}
	s := newSite(t, siteOptions{hosts: 60, log: log})
	want := map[string]map[string]bool{"/providers?view=list": {}, "/providers": {}, "/consumers": {}}
	for p, err := range s.api.Providers(t.Context(), client.ProviderQuery{PageSize: 1000}) {
		if err != nil {
			t.Fatal(err)
		}
		want["/providers?view=list"][p.UUID.String()] = true
	}
	for sum, err := range s.api.CapacityTrees(t.Context(), client.CapacityQuery{}, 0) {
		if err != nil {
			t.Fatal(err)
		}
		want["/providers"][sum.Tree.UUID.String()] = true
	}
	for c, err := range s.api.Consumers(t.Context(), client.ConsumerFilter{}) {
		if err != nil {
			t.Fatal(err)
		}
		want["/consumers"][c.UUID.String()] = true
	}
	row := regexp.MustCompile(`<th scope="row".*?href="/console/(?:providers|consumers)/([0-9a-f-]{36})"`)
	for list, wanted := range want {
		found := map[string]bool{}
		for address := "/console" + list; address != ""; {
			log.take()
			status, body := s.get(t, address, nil)
			if status != http.StatusOK {
				t.Fatalf("%s: status = %d", address, status)
			}
			if calls := strings.Count(log.take(), "msg=request") - 1; calls > 6 {
				t.Errorf("%s: calls = %d", address, calls)
			}
			rows := row.FindAllStringSubmatch(strings.ReplaceAll(body, "\n", " "), -1)
			if len(rows) > 100 {
				t.Errorf("%s has %d rows, want at most 100", address, len(rows))
			}
			for _, match := range rows {
				if found[match[1]] {
					t.Errorf("%s is listed twice in %s", match[1], list)
				}
				found[match[1]] = true
			}
			next := nextPage.FindStringSubmatch(body)
			if address = ""; next != nil {
				address = html.UnescapeString(next[1])
			}
		}
		if len(found) != len(wanted) {
			t.Errorf("%s: %d rows, want %d", list, len(found), len(wanted))
		}
		for id := range found {
			if !wanted[id] {
				t.Errorf("%s shows %s, which the API does not", list, id)
			}
		}
	}
}

// TestConsole_Find_LeadsToThePage looks for things by texts of all forms.
func TestConsole_Find_LeadsToThePage(t *testing.T) {
	t.Parallel()
	s := newSite(t, siteOptions{hosts: 12})
	rack := ""
	for id, name := range demo.AggregateNames() {
		if name == "rack 1" {
			rack = id.String()
		}
	}
	metal := must(baremetal.New(s.api).NodeShow(t.Context(), "metal-07"))(t).UUID.String()
	for text, want := range map[string]string{
		s.Provider: "/providers/" + s.Provider, s.Consumer: "/consumers/" + s.Consumer, s.Aggregate: "/aggregates/" + s.Aggregate,
		s.Request: "/explanations/" + s.Request, "gpu-01": "/providers/" + s.Provider, "gpu-0": "/providers?q=gpu-0",
		"VGPU": "/classes/VGPU", "HW_NUMA_R": "/traits/HW_NUMA_ROOT", "atlas": "/consumers?project=atlas", s.Consumer[:18]: "/consumers/" + s.Consumer,
		"HW_CPU_X86_AVX": "/traits/HW_CPU_X86_AVX", "HW_CPU_X86_": "", "no-such-name": "", "": "",
		"vgpu": "/classes/VGPU", "VGPU free": "/classes/VGPU", "vgpu, free": "/classes/VGPU", "memory mb": "/classes/MEMORY_MB", "gpu h100": "/traits/CUSTOM_GPU_H100",
		"custom_gpu_h100": "/traits/CUSTOM_GPU_H100", "rack 1": "/aggregates/" + rack, "gpu": "", "nothing (of this) kind?": "", "%": "", "metal-07": "/baremetal/nodes/" + metal,
		strings.Repeat("long ", 100): "",
	} {
		r := httptest.NewRequest(http.MethodGet, s.url+"/console/find?q="+url.QueryEscape(text), nil)
		r.RequestURI = ""
		answer, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode >= http.StatusBadRequest {
			t.Errorf("find %q: status = %d", text, answer.StatusCode)
		}
		if got := strings.TrimPrefix(answer.Header.Get("Location"), "/console"); got != want {
			t.Errorf("find %q leads to %q (status %d), want %q", text, got, answer.StatusCode, want)
		}
	}
	_, body := s.get(t, "/console/find", nil)
	wantTexts(t, body, "What to enter", "the UUID of a consumer", "request ID")
}

// TestConsole_InvalidInput_HasItsStatus sends addresses that no page can show.
func TestConsole_InvalidInput_HasItsStatus(t *testing.T) {
	t.Parallel()
	s := newSite(t, siteOptions{})
	unknown := uuid.Must(uuid.NewV7()).String()
	for address, want := range map[string]int{
		"/providers/" + unknown: 404, "/providers/" + unknown + "/traits": 404, "/providers/" + unknown + ".json": 404, "/consumers/" + unknown: 404,
		"/providers/x": 400, "/providers/" + unknown + "?at=x": 400, "/providers/" + unknown + "?consumer=x": 400, "/consumers/x": 400,
		"/providers?trait=NO_SUCH": 400, "/providers?marker=x": 400, "/consumers?tree=x": 400, "/consumers?marker=x": 400,
		"/providers": 200, "/providers?q=none": 200, "/consumers": 200, "/find": 200,
	} {
		if status, body := s.get(t, "/console"+address, nil); status != want || !strings.Contains(body, "<main") {
			t.Errorf("%s: status = %d, want %d", address, status, want)
		}
	}
}

// TestConsole_RefusedCaller_SeesNoNames opens pages as a caller whom policy denies everything.
func TestConsole_RefusedCaller_SeesNoNames(t *testing.T) {
	t.Parallel()
	s := newSite(t, siteOptions{hosts: 12})
	refused := s.persona(t, "no role")
	for _, address := range []string{
		"/providers", "/providers?view=list", "/providers.csv", "/consumers", "/consumers.json", "/providers/" + s.Provider, "/providers/" + s.Provider + ".svg",
		"/providers/" + s.Provider + "/traits", "/consumers/" + s.Consumer, "/find?q=gpu-0",
	} {
		status, body := s.get(t, "/console"+address, refused)
		if status != http.StatusForbidden || strings.Contains(body, "gpu-01") || strings.Contains(body, "atlas") {
			t.Errorf("%s: status = %d, want 403 without names", address, status)
		}
	}
}
