package console_test

import (
	"html"
	"net/http"
	"regexp"
	"testing"
)

// TestConsole_CandidatesOfOneTree_LinkToOneOfEach checks the link on a page of candidates that one tree has filled.
func TestConsole_CandidatesOfOneTree_LinkToOneOfEach(t *testing.T) {
	t.Parallel()
	s := newSite(t, siteOptions{})
	smallCloud(t, s, 2)
	const query = "/console/candidates?resources_CPU=VCPU:4&resources_MEM=MEMORY_MB:8192&group_policy=none&order=id"
	link := regexp.MustCompile(`href="([^"]*)">One of each tree<`)
	for address, want := range map[string]string{
		query + "&limit=4":                  "The first 4 candidates in 1 tree",
		query + "&limit=5":                  "The first 5 candidates in 2 trees",
		query + "&limit=1":                  "The first 1 candidate in 1 tree",
		query + "&limit=9":                  "8 candidates in 2 trees",
		query + "&limit=2&limit_per_tree=1": "The first 2 candidates in 2 trees",
	} {
		status, body := s.get(t, address, nil)
		if status != http.StatusOK {
			t.Fatalf("%s: status = %d: %s", address, status, textOf(body))
		}
		wantTexts(t, body, want)
		found := link.FindStringSubmatch(body)
		if (found != nil) != (address == query+"&limit=4") {
			t.Errorf("%s: link = %q", address, found)
		}
		if found != nil {
			_, body = s.get(t, html.UnescapeString(found[1]), nil)
			wantTexts(t, body, "2 candidates in 2 trees")
		}
	}
}
