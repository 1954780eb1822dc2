package placement_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

const (
	searchPath     = "/allocation_candidates"
	extendedHeader = "placement 1.39, berth 1.1"
)

// sendTo sends a request with the headers of an administrator, which the given ones replace; an empty one is left out.
func sendTo(t *testing.T, listener *httptest.Server, method, path, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, listener.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	for name, value := range map[string]string{
		"X-Auth-Token": "admin", "X-Roles": "admin,service", "OpenStack-API-Version": extendedHeader, "Content-Type": "application/json",
	} {
		if _, given := request.Header[http.CanonicalHeaderKey(name)]; !given {
			request.Header.Set(name, value)
		}
	}
	answer, err := listener.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, string(text)
}

func TestCandidates_SearchBody_SameResponseAsQueryString(t *testing.T) {
	t.Parallel()
	listener := wideTree(t, 3)
	const body = `{"groups": {"1": {"resources": {"SRIOV_NET_VF": 1}}, "2": {"resources": {"SRIOV_NET_VF": 1}}}, "group_policy": "isolate", "limit": 5}`
	posted, got := sendTo(t, listener, http.MethodPost, searchPath, body)
	read, want := sendTo(t, listener, http.MethodGet, pairs+"&limit=5", "")
	if posted.StatusCode != http.StatusOK || got != want || strings.Count(got, `"mappings"`) != 5 {
		t.Fatalf("status = %d, body = %s\nwant %s", posted.StatusCode, got, want)
	}
	for _, name := range []string{"Content-Type", "Cache-Control", "Vary", "OpenStack-API-Version"} {
		if posted, read := posted.Header.Values(name), read.Header.Values(name); strings.Join(posted, "|") != strings.Join(read, "|") {
			t.Errorf("%s = %q, want %q", name, posted, read)
		}
	}
	if posted.Header.Get("Last-Modified") == "" {
		t.Error("Last-Modified is missing")
	}
}

func TestCandidates_SearchBodyChecks_FirstErrorReported(t *testing.T) {
	t.Parallel()
	listener := wideTree(t, 1)
	const valid = `{"groups": {"": {"resources": {"SRIOV_NET_VF": 1}}}}`
	media, html, reader := []string{"Content-Type", "text/plain"}, []string{"Accept", "text/html"}, []string{"X-Roles", "reader"}
	for _, test := range []struct {
		name, path, body string
		headers          [][]string
		status           int
		code, want       string
	}{
		{"all errors: media type", "?limit=1", `{`, [][]string{media, html, reader}, 415, "", "The media type text/plain is not supported, use application/json"},
		{"no media type", "", "", [][]string{{"Content-Type", ""}}, 415, "", "The media type None is not supported"},
		{"all but the media type", "?limit=1", `{`, [][]string{html, reader}, 406, "", "Only application/json is provided"},
		{"all but media types", "?limit=1", `{`, [][]string{reader}, 403, "placement.undefined_code", "placement:allocation_candidates:list"},
		{"parameter and body", "?limit=1", `{`, nil, 400, "placement.undefined_code",
			"Invalid query string parameters: Additional properties are not allowed ('limit' was unexpected)"},
		{"parameter", "?limit=1", valid, nil, 400, "placement.undefined_code", "Invalid query string parameters: Additional properties are not allowed ('limit' was unexpected)"},
		{"malformed", "", `{`, nil, 400, "placement.undefined_code", "Malformed JSON: "},
		{"empty", "", ``, nil, 400, "placement.undefined_code", "Malformed JSON: the body is empty"},
		{"duplicate key", "", `{"groups": {"": {"resources": {"VCPU": 1, "VCPU": 2}}}}`, nil, 400, "placement.undefined_code", "Malformed JSON: duplicate key 'VCPU'"},
		{"no group", "", `{"groups": {}}`, nil, 400, "placement.undefined_code", "JSON does not validate: {} does not have enough properties"},
		{"no groups", "", `{}`, nil, 400, "placement.undefined_code", "JSON does not validate: 'groups' is a required property"},
		{"zero", "", `{"groups": {"": {"resources": {"VCPU": 0}}}}`, nil, 400, "placement.undefined_code", "JSON does not validate: 0 is less than the minimum of 1"},
		{"unknown member", "", `{"groups": {"": {"resources": {"VCPU": 1}}}, "explain": "empty"}`, nil, 400, "placement.undefined_code",
			"JSON does not validate: Additional properties are not allowed ('explain' was unexpected)"},
		{"policy", "", `{"groups": {"": {"resources": {"VCPU": 1}}}, "group_policy": "x"}`, nil, 400, "placement.undefined_code",
			"JSON does not validate: 'x' is not one of ['none', 'isolate']"},
		{"no resources", "", `{"groups": {"_X": {"required": ["CUSTOM_NIC"]}}}`, nil, 400, "placement.query.missing_value",
			"There must be at least one resources or resources[$S] parameter."},
		{"split class", "", `{"groups": {"": {"resources": {"VCPU": 10}}}, "can_split": ["MEMORY_MB"]}`, nil, 400, "berth.query.bad_value",
			"`can_split` names classes that the group without a suffix does not ask for: MEMORY_MB."},
		{"order", "", `{"groups": {"": {"resources": {"VCPU": 10}}}, "order": "big"}`, nil, 400, "berth.query.bad_value",
			"Expected 'order' parameter to be one of: id, pack:CLASS, spread:CLASS, random. Got: big"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			headers := []string{}
			for _, header := range test.headers {
				headers = append(headers, header...)
			}
			answer, text := sendTo(t, listener, http.MethodPost, searchPath+test.path, test.body, headers...)
			if answer.StatusCode != test.status || !strings.Contains(plain(text), test.want) || !strings.Contains(text, test.code) {
				t.Errorf("status = %d, body = %s, want %d %s %s", answer.StatusCode, text, test.status, test.code, test.want)
			}
		})
	}
}

// plain returns the detail of an error, or the text itself if it is not JSON.
func plain(text string) string {
	var body struct{ Errors []struct{ Detail string } }
	if json.Unmarshal([]byte(text), &body) != nil || len(body.Errors) == 0 {
		return text
	}
	return body.Errors[0].Detail
}

func TestCandidates_SearchBody_OnlyWithExtensions(t *testing.T) {
	t.Parallel()
	listener := wideTree(t, 1)
	const body = `{"groups": {"": {"resources": {"SRIOV_NET_VF": 1}}}}`
	for _, version := range []string{"placement 1.39", "placement 1.39, berth 1.0", "placement 1.2"} {
		answer, text := sendTo(t, listener, http.MethodPost, searchPath, body, "OpenStack-API-Version", version)
		if allow := answer.Header.Get("Allow"); answer.StatusCode != http.StatusMethodNotAllowed || allow != "GET" {
			t.Errorf("%s: status = %d, Allow = %q: %s", version, answer.StatusCode, allow, text)
		}
	}
	answer, text := sendTo(t, listener, http.MethodDelete, searchPath, "")
	if allow := answer.Header.Get("Allow"); answer.StatusCode != http.StatusMethodNotAllowed || allow != "GET, POST" {
		t.Errorf("status = %d, Allow = %q: %s", answer.StatusCode, allow, text)
	}
}
