package server_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/wire/microversion"
)

const commonHeader = "OpenStack-API-Version"

// errorItem is an error of the Placement API.
type errorItem struct {
	Status     int
	Detail     string
	Code       string
	MaxVersion *string `json:"max_version"`
	MinVersion *string `json:"min_version"`
}

func errorOf(t *testing.T, answer *httptest.ResponseRecorder) errorItem {
	t.Helper()
	var body struct{ Errors []errorItem }
	if err := json.Unmarshal(answer.Body.Bytes(), &body); err != nil || len(body.Errors) != 1 {
		t.Fatalf("%v in %s", err, answer.Body)
	}
	return body.Errors[0]
}

var (
	unsupportedBerth = " of berth was requested but is not supported by this service, which has 1.0 to " +
		microversion.ExtensionMax.String() + "."
	needsPlacement = `Version 1.1 of berth needs version 1.39 of placement in the same header, such as "placement 1.39, berth 1.1". Got: `
)

// TestMicroversion_ExtensionsOfPlacement_Negotiated sends each combination to an existing path, an unknown one, a wrong
// method and a body without a type, which all follow the negotiation.
func TestMicroversion_ExtensionsOfPlacement_Negotiated(t *testing.T) {
	t.Parallel()
	s := newService(t, "")
	for _, test := range []struct {
		header    string
		status    int // 0: no error of the negotiation
		code      string
		text      string
		announced []string
	}{
		{"placement 1.39", 0, "", "", []string{"placement 1.39"}},
		{"placement 1.39, berth 1.0", 0, "", "", []string{"placement 1.39"}},
		{"placement 1.39, berth", 0, "", "", []string{"placement 1.39"}},
		{"placement 1.7, berth 1.0", 0, "", "", []string{"placement 1.7"}},
		{"berth 1.0", 0, "", "", []string{"placement 1.0"}},
		{"placement 1.39, berth 1.1", 0, "", "", []string{"placement 1.39", "berth 1.1"}},
		{"BERTH Latest,placement latest", 0, "", "", []string{"placement 1.39", microversion.ExtensionMax.HeaderValue()}},
		{"berth 1.9, placement 1.39, berth 1.1", 0, "", "", []string{"placement 1.39", "berth 1.1"}},

		{"placement 1.39, berth 1.9", 406, "berth.version.unsupported", "Version 1.9" + unsupportedBerth, nil},
		{"placement 1.39, berth 1.01", 406, "berth.version.unsupported", "Version 1.01" + unsupportedBerth, nil},
		{"placement 1.10, berth pony", 406, "berth.version.unsupported", "Version pony" + unsupportedBerth, nil},
		{"berth 2.0", 406, "berth.version.unsupported", "Version 2.0" + unsupportedBerth, nil},

		{"placement 1.36, berth 1.1", 400, "berth.version", needsPlacement + "placement 1.36.", []string{"placement 1.36"}},
		{"placement 1.10, berth 1.1", 400, "berth.version", needsPlacement + "placement 1.10.", []string{"placement 1.10"}},
		{"berth 1.1", 400, "berth.version", needsPlacement + "no version of placement, which means 1.0.", []string{"placement 1.0"}},

		{"placement 1.40, berth 1.9", 406, "", "Invalid microversion: Unacceptable version header: 1.40", nil},
		{"placement 1.40, berth 1.1", 406, "", "Invalid microversion: Unacceptable version header: 1.40", nil},
		{"berth pony, placement pony", 400, "",
			"Invalid microversion: invalid version string: pony; expected two numbers such as 1.39, or latest", nil},
	} {
		for _, target := range []string{"GET /resource_classes", "GET /mystery", "DELETE /usages", "POST /reshaper"} {
			method, path, _ := strings.Cut(target, " ")
			answer := s.send(method, path, "X-Auth-Token", "admin", commonHeader, test.header)
			if got := answer.Header().Values(commonHeader); !slices.Equal(got, test.announced) {
				t.Errorf("%s with %q: version headers %q, want %q", target, test.header, got, test.announced)
			}
			if got := answer.Header().Get("Vary"); got != "" != (test.announced != nil) {
				t.Errorf("%s with %q: vary %q", target, test.header, got)
			}
			if test.status == 0 {
				if strings.Contains(answer.Body.String(), "berth.version") || answer.Code == http.StatusNotAcceptable {
					t.Errorf("%s with %q: %d %s", target, test.header, answer.Code, answer.Body)
				}
				continue
			}
			got := errorOf(t, answer)
			_, text, _ := strings.Cut(got.Detail, "\n\n ")
			if answer.Code != test.status || got.Code != test.code || strings.TrimSuffix(text, "  ") != test.text {
				t.Errorf("%s with %q: %d, code %q, text %q", target, test.header, answer.Code, got.Code, text)
			}
			if ranged := got.MaxVersion != nil || got.MinVersion != nil; ranged != strings.Contains(test.header, "placement 1.40") {
				t.Errorf("%s with %q: has a range of versions: %v", target, test.header, ranged)
			}
		}
	}
}

func TestMicroversion_ExtensionsAtRoot_NeedNoMicroversion(t *testing.T) {
	t.Parallel()
	bare, below := newService(t, ""), newService(t, "/placement")
	for header, want := range map[string][]string{
		"berth 1.1":                 {"placement 1.0", "berth 1.1"},
		"placement 1.10, berth 1.1": {"placement 1.10", "berth 1.1"},
		"placement 1.39, berth 1.1": {"placement 1.39", "berth 1.1"},
		"placement 1.39, berth 1.0": {"placement 1.39"},
	} {
		for name, answer := range map[string]*httptest.ResponseRecorder{
			"the root": bare.get("/", commonHeader, header), "the prefix": below.get("/placement", commonHeader, header),
			"the prefix with a slash": below.get("/placement/", commonHeader, header),
		} {
			if got := answer.Header().Values(commonHeader); answer.Code != http.StatusOK || !slices.Equal(got, want) {
				t.Errorf("%s with %q: status %d, version headers %q, want %q", name, header, answer.Code, got, want)
			}
		}
	}
	if answer := bare.get("/", commonHeader, "berth 1.9"); errorOf(t, answer).Code != "berth.version.unsupported" {
		t.Errorf("%d %s", answer.Code, answer.Body)
	}
}

func TestMicroversion_ExtensionsWithoutToken_Return401First(t *testing.T) {
	t.Parallel()
	for _, header := range []string{"berth 1.1", "berth 1.9", "placement 1.39, berth 1.1"} {
		answer := newService(t, "").get("/traits", commonHeader, header)
		if answer.Code != http.StatusUnauthorized || answer.Header().Get(commonHeader) != "" {
			t.Errorf("%q: status %d, headers %v", header, answer.Code, answer.Header())
		}
	}
}

// TestMicroversion_ExtensionErrors_FollowAccept checks the other formats of errors.
func TestMicroversion_ExtensionErrors_FollowAccept(t *testing.T) {
	t.Parallel()
	s := newService(t, "")
	answer := s.get("/traits", "X-Auth-Token", "admin", commonHeader, "placement 1.39, berth 1.9", "Accept", "text/html")
	if answer.Code != http.StatusNotAcceptable || !strings.Contains(answer.Body.String(), "Version 1.9"+unsupportedBerth) ||
		!strings.HasPrefix(answer.Header().Get("Content-Type"), "text/html") {
		t.Errorf("%d %v %s", answer.Code, answer.Header(), answer.Body)
	}
}

// variable matches the parts of a response that differ between equal requests.
var variable = regexp.MustCompile(`req-[0-9a-f-]{36}`)

// wholeResponse returns a response with its headers, without the request ID and times.
func wholeResponse(answer *httptest.ResponseRecorder) string {
	header := answer.Header().Clone()
	header.Del("Last-Modified")
	var text strings.Builder
	_ = header.Write(&text) // a builder returns no error
	return variable.ReplaceAllString(http.StatusText(answer.Code)+"\n"+text.String()+"\n"+answer.Body.String(), "ID")
}

// TestMicroversion_FirstExtension_ChangesNothingInPlacement compares responses with and without "berth 1.0", byte by
// byte, and with "berth 1.1" except for its header.
func TestMicroversion_FirstExtension_ChangesNothingInPlacement(t *testing.T) {
	t.Parallel()
	s := newService(t, "")
	targets := []string{
		"GET /", "GET /resource_classes", "GET /traits", "GET /traits/HW_CPU_X86_AVX", "GET /traits/CUSTOM_NONE", "GET /resource_providers",
		"GET /resource_providers?nothing=1", "GET /resource_providers/c0ffee00-5ca1-4b1e-8000-000000000001", "GET /usages?project_id=p",
		"GET /allocation_candidates?resources=VCPU:1", "GET /allocation_candidates?resources=VCPU:1&order=id",
		"GET /allocation_candidates", "POST /allocation_candidates", "DELETE /allocation_candidates", "PATCH /traits", "GET /mystery",
		"POST /reshaper", "PUT /traits/CUSTOM_NEW", "PUT /allocations/c0ffee00-5ca1-4b1e-8000-000000000001", "HEAD /traits", "OPTIONS /usages",
	}
	for _, version := range microversion.All() {
		for _, target := range targets {
			method, path, _ := strings.Cut(target, " ")
			send := func(also string) string {
				return wholeResponse(s.send(method, path, "X-Auth-Token", "admin", commonHeader, version.HeaderValue()+also))
			}
			if method == http.MethodPut {
				send("") // the first of two equal requests may differ
			}
			plain, first := send(""), send(", berth 1.0")
			if plain != first {
				t.Errorf("%s at %s: the response differs:\n%s\nwith berth 1.0:\n%s", target, version, plain, first)
			}
		}
	}
}

func TestOpenAPI_ExtensionDocuments_ServedAndListed(t *testing.T) {
	t.Parallel()
	s := newService(t, "")
	page := s.get("/docs").Body.String()
	served := map[string][]string{
		"placement": {"1.1"},
		"baremetal": {"1.0", "1.1"},
	}
	for _, document := range server.ExtensionDocuments() {
		want, err := document.Build()
		if err != nil {
			t.Fatal(err)
		}
		names := []string{document.Extension.String()}
		if document.Extension == 0 {
			names = served[document.API]
		}
		for _, name := range names {
			if got := s.get("/openapi/berth/" + document.API + "-" + name + ".json").Body.Bytes(); len(got) == 0 || !bytes.Equal(got, want) {
				t.Errorf("%s %s: %d bytes, want %d", document.API, name, len(got), len(want))
			}
		}
		if option := `<option value="` + document.Path() + `">` + document.Title() + `</option>`; !strings.Contains(page, option) {
			t.Errorf("the page lacks %s", option)
		}
		var read struct{ Info struct{ Version string } }
		if err := json.Unmarshal(want, &read); err != nil || !strings.HasSuffix(read.Info.Version, ", "+document.Extension.HeaderValue()) {
			t.Errorf("%s: version %q, %v", document.Path(), read.Info.Version, err)
		}
	}
	for api := range served {
		latest := s.get("/openapi/berth/" + api + "-latest.json").Body.String()
		if newest := s.get("/openapi/berth/" + api + "-" + microversion.ExtensionMax.String() + ".json").Body.String(); latest != newest || latest == "" {
			t.Errorf("%s: the latest document differs from the newest", api)
		}
	}
	for _, name := range []string{"placement-1.0", "placement-1.99", "baremetal-1.99", "placement-1.39", "placement", "mystery-1.1", ""} {
		if answer := s.get("/openapi/berth/" + name + ".json"); answer.Code != http.StatusNotFound {
			t.Errorf("%s: status %d", name, answer.Code)
		}
	}
}

func TestMicroversion_ExtensionsOfBaremetal_Negotiated(t *testing.T) {
	t.Parallel()
	s := newMachines(t, "")
	for _, test := range []struct {
		header string
		status int
		text   string
	}{
		{"baremetal 1.82", 404, "The resource could not be found."},
		{"baremetal 1.82, berth 1.0", 404, "Allocation none could not be found."},
		{"baremetal 1.82, berth 1.1", 404, "Allocation none could not be found."},
		{"placement 1.10, baremetal 1.52, berth LATEST", 404, "Allocation none could not be found."},
		{"placement pony, baremetal 1.52, berth 1.1", 404, "Allocation none could not be found."},
		{"baremetal 1.51, berth 1.1", 404, "The resource could not be found."},
		{"berth 1.1", 404, "The resource could not be found."},
		{"baremetal 1.82, berth 1.99", 406, "Version 1.99" + unsupportedBerth},
		{"baremetal 1.82, berth pony", 406, "Version pony" + unsupportedBerth},
		{"baremetal 1.83, berth pony", 406, "Version 1.83 was requested but the minor version is not supported by this service. " +
			"The supported version range is: [1.1, 1.82]."},
	} {
		answer := s.send(http.MethodPost, "/v1/allocations/none/retry", commonHeader, test.header)
		inner := told(t, answer)
		if answer.Code != test.status || inner["faultstring"] != test.text && inner["description"] != test.text {
			t.Errorf("%q: %d %v", test.header, answer.Code, inner)
		}
		if got := answer.Header().Values(commonHeader); len(got) != 0 {
			t.Errorf("%q: version headers of Placement %q", test.header, got)
		}
	}
}
