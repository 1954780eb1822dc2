package console

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// overviewSite is a service with 1,000 resource classes, with more trees than a map has, almost none of them in an
// aggregate, and with a query that found nothing in several windows.
func overviewSite(t *testing.T) *site {
	return newSite(t, noauth2, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			_, _ = io.WriteString(w, `{"versions": [{"id": "v1.0", "min_version": "1.0", "max_version": "1.39", "status": "CURRENT", "links": [], "berth_extensions": {"min_version": "1.1", "max_version": "1.4"}}]}`)
		case "/aggregates":
			_, _ = io.WriteString(w, `{"aggregates": [{"uuid": "a9900000-0000-4000-8000-000000000001", "resource_provider_count": 1}]}`)
		case "/resource_providers":
			_, _ = io.WriteString(w, `{"resource_providers": []}`)
		case "/capacity":
			if r.URL.Query().Get("group_by") == "tree" {
				_, _ = io.WriteString(w, `{"capacity": [{"resource_class": "VCPU", "capacity": 9, "used": 1, "tree": {"uuid": "c0ffee00-0000-4000-8000-000000000001", "name": "cmp-1"}}],
					"capacity_links": [{"rel": "next", "href": "/capacity?marker=x"}]}`)
				return
			}
			var sums []string
			for n := range 1000 {
				sums = append(sums, fmt.Sprintf(`{"resource_class": "CUSTOM_%03d", "resource_providers": 1, "capacity": 1000, "used": %d, "free": %d}`, n, n, 1000-n))
			}
			_, _ = io.WriteString(w, `{"capacity": [`+strings.Join(sums, ",")+`], "as_of": "2026-11-12T14:02:11Z"}`)
		case "/explanations":
			var found []string
			for n, query := range []string{"resources=VCPU:9&limit=1", "resources=VGPU:1&required=A", "resources=VCPU:9&limit=5", "resources=VCPU:9&in_tree=x"} {
				found = append(found, fmt.Sprintf(`{"id": %d, "kind": "candidates", "question": %q, "requests": %d, "last_asked_at": "2026-11-12T14:0%d:00Z",
					"request_ids": ["req-%d"], "reason": "amount", "summary": "reason %d. More."}`, n, query, 9-n, n, n, n))
			}
			_, _ = io.WriteString(w, `{"explanations": [`+strings.Join(found, ",")+`]}`)
		default:
			w.WriteHeader(http.StatusForbidden)
		}
	})
}

func TestConsole_OverviewOfManyClasses_IsBounded(t *testing.T) {
	t.Parallel()
	s := overviewSite(t)
	w := s.send(http.MethodGet, "/console?card=left", nil)
	wantText(t, w, "1 to 100 of 1,000 classes, by their used part", ">CUSTOM_999</a>", `href="/console?from=100"`)
	if rows, size := strings.Count(w.Body.String(), "<tr>"), w.Body.Len(); rows > 101 || size > 100_000 {
		t.Errorf("the overview has %d rows and %d bytes", rows, size)
	}
	wantText(t, s.send(http.MethodGet, "/console?card=left&from=900", nil), "901 to 1,000 of", ">CUSTOM_000</a>", "First page")
}

func TestConsole_OverviewWithEqualQueries_ShowsTheirSum(t *testing.T) {
	t.Parallel()
	w := overviewSite(t).send(http.MethodGet, "/console?card=unplaced", nil)
	wantText(t, w, "×16", "×8", "×6", "9 VCPU <code>in_tree=x</code>", "reason 2", "/console/explanations/req-2")
	if strings.Contains(w.Body.String(), "reason 0") {
		t.Errorf("an older reason is shown: %s", mainOf(w))
	}
}

func TestConsole_OverviewOfTreesWithoutAggregates_ShowsThem(t *testing.T) {
	t.Parallel()
	w := overviewSite(t).send(http.MethodGet, "/console?card=where", nil)
	wantText(t, w, "cmp-1: ", "no aggregate", "these are of the oldest", `<a href="/console/providers?view=map&amp;class=VCPU">The map alone</a>`)
}

// A page reads a bounded number of trees to sort them, and says where the others are.
func TestConsole_MoreTreesThanAPageSorts_SaysSo(t *testing.T) {
	t.Parallel()
	pages := 0
	s := newSite(t, noauth2, func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/capacity") {
			_, _ = io.WriteString(w, `{}`)
			return
		}
		pages++
		id := uuid.NewString()
		_, _ = io.WriteString(w, `{"capacity": [{"resource_class": "VCPU", "capacity": 9, "used": 1, "tree": {"uuid": "`+id+`", "name": "cmp-`+strconv.Itoa(9-pages)+`"}}],
			"capacity_links": [{"rel": "next", "href": "/capacity?marker=x"}]}`)
	})
	w := s.send(http.MethodGet, "/console/providers?sort=name", nil)
	wantStatus(t, w, http.StatusOK)
	wantText(t, w, "There are more trees.", "the oldest 4,000", "sort=newest", "cmp-5")
	if pages != 4 {
		t.Errorf("the page reads %d pages, want 4", pages)
	}
}
