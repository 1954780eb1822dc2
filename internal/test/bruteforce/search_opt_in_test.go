package bruteforce_test

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/berthd/berth/internal/test/bruteforce"
)

// unknownParam is the error of 1.39 for a parameter of berth 1.1.
func unknownParam(name string) string {
	const suffix = "([a-zA-Z0-9_-]{1,64})?$"
	return "Invalid query string parameters: '" + name + "' does not match any of the regexes: '^in_tree" + suffix + "', '^member_of" + suffix +
		"', '^required" + suffix + "', '^resources" + suffix + "'"
}

// searchForms are the parameters and forms of berth 1.1, with the errors of 1.39.
var searchForms = []struct{ query, code, detail string }{
	{"resources=VCPU:1&root_member_of={AZ1}", "placement.undefined_code", unknownParam("root_member_of")},
	{"resources=VCPU:1&isolate=_A,_B", "placement.undefined_code", unknownParam("isolate")},
	{"resources=VCPU:1&can_split=VCPU", "placement.undefined_code", unknownParam("can_split")},
	{"resources=VCPU:1&order=id", "placement.undefined_code", unknownParam("order")},
	{"resources=VCPU:1&limit_per_tree=1", "placement.undefined_code", unknownParam("limit_per_tree")},
	{"resources=VCPU:1&limit_per_tree=0", "placement.undefined_code", unknownParam("limit_per_tree")},
	{"resources_A=VCPU:1&resources_B=VCPU:1", "placement.undefined_code",
		`The "group_policy" parameter is required when specifying more than one "resources{N}" parameter.`},
	{"resources_A=VCPU:1&resources_B=VCPU:1&group_policy=none&same_subtree=_A,!_B", "placement.query.bad_value",
		"Real suffixes should be specified in `same_subtree`: ['!_B'] not found in ['_A', '_B']."},
	{"resources_A=VCPU:1&same_subtree=_A,!", "placement.query.bad_value",
		"Real suffixes should be specified in `same_subtree`: ['!'] not found in ['_A']."},
	{"resources=VCPU:1&required_X=CUSTOM_GOLD", "placement.query.bad_value",
		"Resourceless suffixed group request should be specified in `same_subtree` query param: bad group(s) - ['_X']."},
	{"resources_A=VCPU:1&required=CUSTOM_GOLD", "placement.query.bad_value",
		"Resourceless suffixed group request should be specified in `same_subtree` query param: bad group(s) - ['']."},
}

// requestID is the member that differs between responses.
var requestID = regexp.MustCompile(`"request_id": ?"[^"]*"`)

// withoutRequestID returns what must be equal in two responses: the status, the headers and the body.
func withoutRequestID(t *testing.T, response *httptest.ResponseRecorder) string {
	t.Helper()
	var text strings.Builder
	headers := response.Result().Header
	headers.Del("X-Openstack-Request-Id")
	if err := headers.Write(&text); err != nil {
		t.Fatal(err)
	}
	return http.StatusText(response.Code) + "\n" + text.String() + "\n" + requestID.ReplaceAllString(response.Body.String(), "")
}

// TestCandidates_SearchWithoutOptIn_AsAt139 sends each parameter and form of berth 1.1 without berth, and with berth 1.0,
// which adds nothing to the Placement API (docs/contract/berth/README.md#negotiation).
func TestCandidates_SearchWithoutOptIn_AsAt139(t *testing.T) {
	t.Parallel()
	server := setup(t)
	deployment := mustParse(t, "az  VCPU=8  traits:CUSTOM_GOLD  aggs:AZ1\n")
	if err := server.load(deployment); err != nil {
		t.Fatal(err)
	}
	for _, form := range searchForms {
		target := "/allocation_candidates?" + bruteforce.Expand(form.query)
		plain := server.request(0, http.MethodGet, target, "placement 1.39", "")
		if plain.Code != http.StatusBadRequest {
			t.Fatalf("%s: status = %d, want 400", form.query, plain.Code)
		}
		if code, detail := decodeFailure(t, plain.Body.Bytes()); code != form.code || bruteforce.Phrase(detail) != form.detail {
			t.Errorf("%s: %s %s, want %s %s", form.query, code, detail, form.code, form.detail)
		}
		opted := server.request(0, http.MethodGet, target, "placement 1.39, berth 1.0", "")
		if got, want := withoutRequestID(t, opted), withoutRequestID(t, plain); got != want {
			t.Errorf("%s with berth 1.0:\n%s\nwithout berth:\n%s", form.query, got, want)
		}
	}
	for _, version := range []string{"placement 1.39", "placement 1.39, berth 1.0", "placement 1.10"} {
		response := server.request(0, http.MethodPost, "/allocation_candidates", version, `{"groups": {"": {"resources": {"VCPU": 1}}}}`)
		if response.Code != http.StatusMethodNotAllowed || response.Header().Get("Allow") != "GET" {
			t.Errorf("POST with %s: status = %d, Allow = %s, want 405, GET", version, response.Code, response.Header().Get("Allow"))
		}
	}
}

func mustParse(t *testing.T, text string) *bruteforce.Deployment {
	t.Helper()
	deployment, err := bruteforce.ParseDeployment(text)
	if err != nil {
		t.Fatal(err)
	}
	return deployment
}
