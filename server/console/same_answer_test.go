package console_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// answered are the pages of the test of answers: those of the matrix, exports, and cards that a browser without scripts asks for.
var answered = append([]page{
	{name: "overview-fits", address: "?shape=VCPU:4&card=fits"},
	{name: "capacity-fits", address: "/capacity?class=VGPU&group_by=tree&shape=VGPU:1&card=fits"},
	{name: "providers-export", address: "/providers.csv"},
	{name: "consumers-export", address: "/consumers.csv"},
	{name: "capacity-export", address: "/capacity.csv?class=VCPU"},
	{name: "tree-picture", address: "/providers/{provider}.svg"},
}, pages...)

// compare returns what is wrong with a page, compared with the responses to its calls when the caller sends them.
func (s *site) compare(t *testing.T, address, body string, calls []call, names map[string]bool, token, roles string) (wrong []string) {
	t.Helper()
	own, refused, sources := address, len(calls) > 0, []string{}
	for _, one := range calls {
		status, text := s.repeat(t, one, token, roles)
		if status != one.status {
			wrong = append(wrong, fmt.Sprintf("%s %s: status = %d on the page, %d for its caller", one.method, one.target, one.status, status))
		}
		own, refused, sources = own+"\n"+one.id, refused && status >= http.StatusBadRequest, append(sources, text)
	}
	if refused { // the text of an error is no source of names
		sources = nil
	}
	if found := absent(body, names, append(sources, own)...); len(found) > 0 {
		wrong = append(wrong, fmt.Sprintf("the API does not tell %q", found))
	}
	if found, _ := absentSums(body, sources...); len(found) > 0 {
		wrong = append(wrong, fmt.Sprintf("the API does not tell the sums %q", found))
	}
	return wrong
}

// TestConsole_Pages_ShowWhatTheAPIAnswersTheirUser opens each page as each caller. All names, UUIDs and sums of a page must
// be in the responses of the API to the calls of the page, repeated by that caller.
func TestConsole_Pages_ShowWhatTheAPIAnswersTheirUser(t *testing.T) {
	t.Parallel()
	log, recorder := &syncBuffer{}, &callRecorder{}
	s := newSite(t, siteOptions{hosts: 12, log: log, watch: recorder.watch})
	names := s.names(t)
	for _, caller := range callers {
		cookies, shown, sums := s.persona(t, caller.persona), map[string]bool{}, 0
		for _, page := range answered {
			address := strings.TrimPrefix(page.on(s), s.url)
			log.take()
			recorder.take()
			_, body := s.get(t, address, cookies)
			for _, calls := range log.calls() {
				if len(calls) > 6 {
					t.Errorf("%s of %s: calls = %q, want at most 6", page.name, caller.persona, calls)
				}
			}
			wrong := s.compare(t, address, body, recorder.take(), names, caller.token, caller.roles)
			if strings.Contains(body, "the page makes more than") {
				wrong = append(wrong, "the page needs more calls than it may make")
			}
			if len(wrong) > 0 {
				t.Errorf("%s of %s: %q", page.name, caller.persona, wrong)
			}
			for _, name := range absent(body, names, address) {
				shown[name] = shown[name] || names[name]
			}
			_, compared := absentSums(body)
			sums += compared
		}
		t.Logf("%s: %d things of the sample data, %d amounts of sums", caller.persona, len(shown), sums)
		if isReader := strings.HasPrefix(caller.roles, "admin"); isReader != (len(shown) > len(names)/2 && sums > 50) {
			t.Errorf("%s: %d things of the sample data and %d amounts of sums are shown", caller.persona, len(shown), sums)
		}
	}
}

// TestConsole_PageWithMoreThanItsCaller_IsFound checks that the comparison finds pages that show more than they should.
func TestConsole_PageWithMoreThanItsCaller_IsFound(t *testing.T) {
	t.Parallel()
	names := map[string]bool{"gpu-01": true, "gpu-02": true}
	const told = `{"resource_providers": [{"name": "gpu-01", "uuid": "c0ffee00-5ca1-4b1e-8000-000000000001"}],
		"capacity": [{"resource_class": "VGPU", "used": 15.0, "free": 17}, {"resource_class": "VCPU", "used": 1008}]}`
	for page, want := range map[string]string{
		"<b>gpu-01</b> /c0ffee00-5ca1-4b1e-8000-000000000001 c0ffee00… gpu": "[]",
		`<a title="gpu-02">`:                    "[gpu-02]",
		"gpu&#45;02 gpu-01_numa0":               "[gpu-02]",
		"/c0ffee00-5ca1-4b1e-8000-000000000002": "[c0ffee00-5ca1-4b1e-8000-000000000002]",
		"<code>c0ffee01…</code>":                "[c0ffee01…]",
	} {
		if got := fmt.Sprint(absent(page, names, told)); got != want {
			t.Errorf("%s: %s, want %s", page, got, want)
		}
	}
	for cells, want := range map[string]string{
		`data-label="Used">46.9 %<span>15</span></td><td data-label="Free"><b>17</b>, 2 TiB</td>`: "[] 2",
		`data-label="Used">1,008</td>`:     "[VGPU: 1008] 1", // of another class
		`data-label="Free"><b>18</b></td>`: "[VGPU: 18] 1",
	} {
		found, compared := absentSums(`<tr><th scope="row"><a href="/console/classes/VGPU">VGPU</a></th><td data-label="Used, reserved, free"></td><td `+cells+"</tr>", told)
		if got := fmt.Sprint(found, compared); got != want {
			t.Errorf("%s: %s, want %s", cells, got, want)
		}
	}
}

// TestConsole_CallsWithOtherRoles_AreFound opens pages of a console that sends its calls with more roles than its user has.
func TestConsole_CallsWithOtherRoles_AreFound(t *testing.T) {
	t.Parallel()
	recorder := &callRecorder{promote: "admin,service"}
	s := newSite(t, siteOptions{hosts: 12, watch: recorder.watch})
	names, cookies := s.names(t), s.persona(t, "no role")
	for _, address := range []string{"", "/providers", "/consumers", "/capacity", "/baremetal"} {
		recorder.take()
		_, body := s.get(t, "/console"+address, cookies)
		wrong := strings.Join(s.compare(t, "/console"+address, body, recorder.take(), names, "guest", ""), ", ")
		if !strings.Contains(wrong, "403 for its caller") || !strings.Contains(wrong, "the API does not tell") {
			t.Errorf("%s: found %q", address, wrong)
		}
	}
}
