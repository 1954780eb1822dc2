package placement_test

import (
	"net/http"
	"strings"
	"testing"
)

// TestCandidates_NotInTree_SameErrorsOfQueryAndBody sends the errors of not_in_tree, and the parameter without berth 1.3.
func TestCandidates_NotInTree_SameErrorsOfQueryAndBody(t *testing.T) {
	t.Parallel()
	listener := wideTree(t, 1)
	const some = "ba000000-0000-4000-8000-000000000001"
	for name, test := range map[string]struct{ version, value, want, wantOfBody string }{
		"no UUID":     {"1.3", some + ", gold", `"code":"berth.query.bad_value"|Expected 'not_in_tree' parameter to contain valid UUID(s). Got: gold`, ""},
		"empty":       {"1.3", some + ",", `"code":"berth.query.bad_value"|Expected 'not_in_tree' parameter to contain valid UUID(s). Got: `, ""},
		"too many":    {"1.3", strings.Repeat(some+",", 1000) + some, "'not_in_tree' may have at most 1000 elements. Got: 1001", ""},
		"berth 1.2":   {"1.2", some, "'not_in_tree' does not match any of the regexes", "Additional properties are not allowed ('not_in_tree' was unexpected)"},
		"after roots": {"1.3", "gold&root_member_of=iron", "Expected 'root_member_of' parameter", ""},
	} {
		header := []string{"OpenStack-API-Version", "placement 1.39, berth " + test.version}
		value, further, _ := strings.Cut(test.value, "&root_member_of=")
		query := searchPath + "?resources=VCPU:1&not_in_tree=" + strings.ReplaceAll(value, " ", "%20")
		body := `{"groups": {"": {"resources": {"VCPU": 1}}}, "not_in_tree": ["` + strings.ReplaceAll(value, ",", `","`) + `"]`
		if further != "" {
			query, body = query+"&root_member_of="+further, body+`, "root_member_of": ["`+further+`"]`
		}
		read, got := sendTo(t, listener, http.MethodGet, query, "", header...)
		posted, gotOfBody := sendTo(t, listener, http.MethodPost, searchPath, body+"}", header...)
		if read.StatusCode != http.StatusBadRequest || posted.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: status = %d and %d, want 400", name, read.StatusCode, posted.StatusCode)
		}
		wantOfBody := test.wantOfBody
		if wantOfBody == "" {
			wantOfBody = test.want
		}
		for text, want := range map[string]string{got: test.want, gotOfBody: wantOfBody} {
			for part := range strings.SplitSeq(want, "|") {
				if !strings.Contains(text, part) {
					t.Errorf("%s: %s, want %s", name, text, part)
				}
			}
		}
	}
}
