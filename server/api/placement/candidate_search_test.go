package placement

import (
	"encoding/json"
	"net/url"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/jsonbody"
	"github.com/berthd/berth/server/wire/querystring"
)

// searchValidator validates bodies like the server does.
var searchValidator = sync.OnceValues(func() (*jsonbody.Validator, error) {
	document, err := documentTable().Document(berth11)
	if err != nil {
		return nil, err
	}
	return jsonbody.Compile(document, "#/components/schemas/CandidateSearch")
})

// searched decodes a body like the server does. It returns false for a body that its schema rejects.
func searched(t testing.TB, body string) (*CandidateSearch, bool) {
	t.Helper()
	validator, err := searchValidator()
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonbody.Decode([]byte(body))
	if err != nil || validator.Validate(value) != nil {
		return nil, false
	}
	made := new(CandidateSearch)
	if err := json.Unmarshal([]byte(body), made); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return made, true
}

// rawQuery encodes parameters in their order.
func rawQuery(values querystring.Values) string {
	var parts []string
	for _, pair := range values.Pairs() {
		parts = append(parts, url.QueryEscape(pair.Name)+"="+url.QueryEscape(pair.Value))
	}
	return strings.Join(parts, "&")
}

// wantSameQuery compares the query of a body with that of a query string.
func wantSameQuery(t *testing.T, body *CandidateSearch, raw string) {
	t.Helper()
	got, gotErr := candidateQuery(body.values(), berth11)
	want, wantErr := askedAt(t, berth11, raw)
	if !reflect.DeepEqual(got, want) || !reflect.DeepEqual(fault.As(gotErr), fault.As(wantErr)) || (gotErr == nil) != (wantErr == nil) {
		t.Errorf("%s\nof the body  %s %v\nof the query %s %v", raw, asJSON(t, got), gotErr, asJSON(t, want), wantErr)
	}
}

const fullSearch = `{
	"limit_per_tree": 1, "limit": 10.0, "order": "pack:VCPU", "group_policy": "none",
	"groups": {
		"_NIC": {"required": ["CUSTOM_NIC"]},
		"": {"in_tree": "` + gold + `", "member_of": ["in:` + gold + "," + silver + `", "!` + gold + `"],
			"required": ["A,!B", "in:C,D"], "resources": {"VCPU": 10, "MEMORY_MB": 8192}},
		"_A": {"resources": {"SRIOV_NET_VF": 1e0}, "in_tree": "` + silver + `"},
		"_B": {"resources": {"SRIOV_NET_VF": 99999999999999999999}}
	},
	"can_split": ["VCPU", "MEMORY_MB"], "isolate": [["_A", "_B"], ["_NIC", "_A"]],
	"same_subtree": [["_NIC", "_A", "!_B"], ["_A"]], "root_required": ["CUSTOM_GOLD", "!CUSTOM_WINDOWS"],
	"root_member_of": ["` + gold + `", "!in:` + silver + `"]}`

func TestCandidates_SearchBody_EqualsQueryString(t *testing.T) {
	t.Parallel()
	for body, raw := range map[string]string{
		`{"groups": {"": {"resources": {"VCPU": 1}}}}`: "resources=VCPU:1",
		fullSearch: "required_NIC=CUSTOM_NIC&resources=VCPU:10,MEMORY_MB:8192&required=A,!B&required=in:C,D" +
			"&member_of=in:" + gold + "," + silver + "&member_of=!" + gold + "&in_tree=" + gold +
			"&resources_A=SRIOV_NET_VF:1&in_tree_A=" + silver + "&resources_B=SRIOV_NET_VF:9223372036854775807" +
			"&root_required=CUSTOM_GOLD,!CUSTOM_WINDOWS&root_member_of=" + gold + "&root_member_of=!in:" + silver +
			"&isolate=_A,_B&isolate=_NIC,_A&same_subtree=_NIC,_A,!_B&same_subtree=_A&can_split=VCPU,MEMORY_MB" +
			"&group_policy=none&order=pack:VCPU&limit=10&limit_per_tree=1",
		`{"groups": {"": {"resources": {"VCPU": 1}, "required": [], "member_of": []}, "_X": {}}, "isolate": [], "same_subtree": [[]],
			"can_split": [], "root_required": [], "root_member_of": []}`: "resources=VCPU:1",
		`{"groups": {"_X": {"required": ["CUSTOM_NIC"]}}}`:                                "required_X=CUSTOM_NIC",
		`{"groups": {"": {"resources": {"VCPU": 1}}}, "order": ""}`:                       "resources=VCPU:1&order=",
		`{"groups": {"": {"resources": {"VCPU": 1}}}, "can_split": [""]}`:                 "resources=VCPU:1&can_split=",
		`{"groups": {"": {"resources": {"VCPU": 1}}}, "can_split": ["VGPU,", "DISK_GB"]}`: "resources=VCPU:1&can_split=VGPU,,DISK_GB",
		`{"groups": {"": {"resources": {"VCPU": 1}, "required": ["", "A"]}}}`:             "resources=VCPU:1&required=&required=A",
		`{"groups": {"": {"resources": {"VCPU": 1}}}, "root_required": ["in:A", "B"]}`:    "resources=VCPU:1&root_required=in:A,B",
		`{"groups": {"_B": {"resources": {"VCPU": 1}}, "_A": {"resources": {"VCPU": 1}}},
			"isolate": [["_A", "_C"]], "group_policy": "none"}`: "resources_B=VCPU:1&resources_A=VCPU:1&group_policy=none&isolate=_A,_C",
		`{"groups": {"_B": {"resources": {"VCPU": 1}}}, "limit": 1e30}`: "resources_B=VCPU:1&limit=9223372036854775807",
	} {
		made, ok := searched(t, body)
		if !ok {
			t.Errorf("invalid body: %s", body)
			continue
		}
		wantSameQuery(t, made, raw)
		wantSameQuery(t, made, rawQuery(made.values()))
	}
}

func TestCandidates_SearchBodyInvalid_Rejected(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`{}`, `[]`, `{"groups": {}}`, `{"groups": {"": {"resources": {}}}}`, `{"groups": {"": {"resources": {"VCPU": 0}}}}`,
		`{"groups": {"": {"resources": {"VCPU": 1.5}}}}`, `{"groups": {"": {"resources": {"VCPU:1,DISK_GB": 1}}}}`,
		`{"groups": {"a b": {"resources": {"VCPU": 1}}}}`, `{"groups": {"` + strings.Repeat("x", 65) + `": {"resources": {"VCPU": 1}}}}`,
		`{"groups": {"": {"resources": {"VCPU": 1}, "limit": 1}}}`, `{"groups": {"": {"resources": {"VCPU": 1}, "in_tree": "x"}}}`,
		`{"groups": {"": {"resources": {"VCPU": 1}, "required": "A"}}}`, `{"groups": {"": {"resources": {"VCPU": 1}, "required": null}}}`,
		`{"groups": {"": {"resources": {"VCPU": 1}}, "": {"resources": {"VCPU": 1}}}}`, `{"groups": {"": null}}`, `{"groups": null}`,
		`{"groups": {"": {"resources": {"VCPU": 1}}}, "group_policy": "some"}`, `{"groups": {"": {"resources": {"VCPU": 1}}}, "limit": 0}`,
		`{"groups": {"": {"resources": {"VCPU": 1}}}, "limit_per_tree": "1"}`, `{"groups": {"": {"resources": {"VCPU": 1}}}, "order": null}`,
		`{"groups": {"": {"resources": {"VCPU": 1}}}, "isolate": ["_A,_B"]}`, `{"groups": {"": {"resources": {"VCPU": 1}}}, "explain": "empty"}`,
	} {
		if _, ok := searched(t, body); ok {
			t.Errorf("valid body: %s", body)
		}
	}
}

// FuzzCandidateSearch checks that a body and its query string are the same query.
func FuzzCandidateSearch(f *testing.F) {
	for _, seed := range []string{
		fullSearch, `{"groups": {"": {"resources": {"VCPU": 1}}}, "order": "spread:VCPU"}`, `{"groups": {"_X": {"required": ["!"]}}}`,
		`{"groups": {"": {"resources": {"VCPU": 1}, "required": ["&=%+"]}}, "can_split": ["\u0041&x=1"], "same_subtree": [["!"], []]}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		made, ok := searched(t, body)
		if !ok {
			return
		}
		wantSameQuery(t, made, rawQuery(made.values()))
		asked, err := candidateQuery(made.values(), berth11)
		if err != nil {
			return
		}
		for _, sentence := range brokenInvariants(asked, berth11) {
			t.Errorf("%s: %s: %+v", body, sentence, asked)
		}
	})
}
