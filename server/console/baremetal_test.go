package console_test

import (
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// TestConsole_BareMetal_TellsUsesReasonsAndNames opens the pages of the sample data: of six nodes in the state available or
// allocated, two are allocated and one is in maintenance.
func TestConsole_BareMetal_TellsUsesReasonsAndNames(t *testing.T) {
	t.Parallel()
	s := newSite(t, siteOptions{hosts: 12})
	_, body := s.get(t, "/console/baremetal", nil)
	wantTexts(t, body, "allocated 2", "available 2", "in maintenance 1", "in maintenance: a fan fails", "db-primary", "db-standby")
	_, card := s.get(t, "/console?card=metal", nil)
	for use, names := range map[string]string{
		"available": "metal-05", "in maintenance": "metal-04", "manageable": "metal-06", "allocated": "db-primary",
	} {
		link := regexp.MustCompile(`<a href="([^"]*/baremetal[^"]*)">` + use + `</a><b class="push">(\d)</b>`).FindStringSubmatch(card)
		if link == nil {
			t.Errorf("the overview has no nodes that are %s: %s", use, textOf(card))
			continue
		}
		status, body := s.get(t, html.UnescapeString(link[1]), nil)
		if n := strings.Count(body, `<th scope="row">`); status != http.StatusOK || n != int(link[2][0]-'0') {
			t.Errorf("%s leads to %d nodes, want %s: %s", use, n, link[2], textOf(body))
		}
		wantTexts(t, body, names)
	}
	_, body = s.get(t, "/console/baremetal/allocations", nil)
	wantTexts(t, body, "no available nodes match the resource class platinum", "metal-0")
	_, body = s.get(t, "/console/baremetal/nodes/"+s.Node, nil)
	wantTexts(t, body, "allocation db-")
	allocation := regexp.MustCompile(`/console/baremetal/allocations/[0-9a-f-]{36}`).FindString(body)
	_, body = s.get(t, allocation, nil)
	wantTexts(t, body, "node metal-0")
}
