package server_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/berthd/berth/internal/test/servertest"
	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/wire/microversion"
)

// newMachines returns a server with the Bare Metal API.
func newMachines(t *testing.T, prefix string) *service {
	t.Helper()
	return newServiceWith(t, func(options *server.Options) {
		servertest.Baremetal("berth-1")(options)
		options.Prefix = prefix
	})
}

const ironicVersion = "X-OpenStack-Ironic-API-Version"

// told returns the document inside an error of the Bare Metal API.
func told(t *testing.T, answer *httptest.ResponseRecorder) map[string]any {
	t.Helper()
	var outer map[string]string
	if err := json.Unmarshal(answer.Body.Bytes(), &outer); err != nil || len(outer) != 1 {
		t.Fatalf("%v in %s", err, answer.Body)
	}
	var inner map[string]any
	if err := json.Unmarshal([]byte(outer["error_message"]), &inner); err != nil {
		t.Fatalf("%v in %s", err, answer.Body)
	}
	if got := answer.Header().Get("Content-Type"); got != "application/json" {
		t.Errorf("content type %q", got)
	}
	return inner
}

func unrouted(code float64, title, description string) map[string]any {
	return map[string]any{"code": code, "title": title, "description": description}
}

func refused(text string) map[string]any {
	return map[string]any{"faultcode": "Client", "faultstring": text, "debuginfo": nil}
}

func expect(t *testing.T, answer *httptest.ResponseRecorder, status int, inner map[string]any) {
	t.Helper()
	if got := told(t, answer); answer.Code != status || !reflect.DeepEqual(got, inner) {
		t.Errorf("status %d and %v, want %d and %v", answer.Code, got, status, inner)
	}
}

func TestRoute_BaremetalOff_Returns404(t *testing.T) {
	t.Parallel()
	s := newService(t, "")
	for _, path := range []string{"/v1", "/v1/", "/v1/nodes"} {
		answer := s.get(path, "X-Auth-Token", "admin")
		if answer.Code != http.StatusNotFound || answer.Header().Get("OpenStack-API-Version") != "placement 1.0" ||
			answer.Header().Get("X-OpenStack-Ironic-API-Maximum-Version") != "" {
			t.Errorf("%s: status %d, headers %v", path, answer.Code, answer.Header())
		}
	}
}

func TestRoute_BaremetalAndPlacement_ServedSideBySide(t *testing.T) {
	t.Parallel()
	s := newMachines(t, "")
	root := s.get("/")
	if root.Code != http.StatusOK || !strings.Contains(root.Body.String(), `"v1.0"`) || root.Header().Get(ironicVersion) != "" {
		t.Errorf("root = %d, %v, %s, want that of Placement", root.Code, root.Header(), root.Body)
	}
	for _, path := range []string{"/v1nodes", "/v10", "/v2", "/nodes"} {
		if answer := s.get(path); answer.Code != http.StatusUnauthorized || answer.Header().Get(ironicVersion) != "" {
			t.Errorf("%s: status %d, headers %v", path, answer.Code, answer.Header())
		}
	}
	// Each API reads its own entry of the common header.
	both := []string{"OpenStack-API-Version", "placement 1.39, baremetal 1.60", "X-Auth-Token", "admin"}
	if got := s.get("/traits", both...).Header().Get("OpenStack-API-Version"); got != "placement 1.39" {
		t.Errorf("version of Placement = %q", got)
	}
	if got := s.get("/v1/drivers", both...).Header().Get(ironicVersion); got != "1.60" {
		t.Errorf("version of Bare Metal = %q", got)
	}
}

// found is the part of the discovery document that the tests read.
type found struct {
	ID      string
	Links   []struct{ Href, Rel string }
	Version struct {
		ID, Status, Version string
		Min                 string `json:"min_version"`
		Links               []struct{ Href, Rel string }
	}
	Nodes, Conductors, Allocations []struct{ Href, Rel string }
}

func TestRoute_BaremetalDiscovery_PublicWithLinks(t *testing.T) {
	t.Parallel()
	bare, below := newMachines(t, ""), newMachines(t, "/placement")
	for name, test := range map[string]struct {
		answer *httptest.ResponseRecorder
		base   string
	}{
		"at the root":                {bare.get("/v1"), "http://example.com"},
		"with a slash":               {bare.get("/v1/"), "http://example.com"},
		"below the prefix":           {below.get("/placement/v1/"), "http://example.com/placement"},
		"beside the prefix":          {below.get("/v1"), "http://example.com"},
		"with a token":               {bare.get("/v1", "X-Auth-Token", "u"), "http://example.com"},
		"with another Accept header": {bare.get("/v1", "Accept", "text/html"), "http://example.com"},
	} {
		var got found
		if err := json.Unmarshal(test.answer.Body.Bytes(), &got); err != nil || test.answer.Code != http.StatusOK {
			t.Errorf("%s: status %d, %v in %s", name, test.answer.Code, err, test.answer.Body)
			continue
		}
		if got.ID != "v1" || got.Links[0].Href != test.base+"/v1/" || got.Version.Version != "1.82" || got.Version.Min != "1.1" ||
			got.Version.Status != "CURRENT" || got.Version.Links[0].Href != test.base+"/v1/" ||
			got.Nodes[0].Href != test.base+"/v1/nodes/" || got.Nodes[1].Href != test.base+"/nodes/" {
			t.Errorf("%s: %+v", name, got)
		}
		if got := test.answer.Header().Get("Content-Type"); got != "application/json" {
			t.Errorf("%s: content type %q", name, got)
		}
	}
}

func TestMicroversion_BaremetalDiscovery_ListsResourcesOfVersion(t *testing.T) {
	t.Parallel()
	s := newMachines(t, "")
	for version, want := range map[string][2]bool{"1.1": {}, "1.48": {}, "1.49": {true}, "1.51": {true}, "1.52": {true, true}, "latest": {true, true}} {
		var got map[string]any
		if err := json.Unmarshal(s.get("/v1", ironicVersion, version).Body.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		_, conductors := got["conductors"]
		_, allocations := got["allocations"]
		if conductors != want[0] || allocations != want[1] {
			t.Errorf("%s: %v", version, got)
		}
	}
}

func TestMicroversion_BaremetalHeaders_Negotiated(t *testing.T) {
	t.Parallel()
	s := newMachines(t, "")
	const common = "OpenStack-API-Version"
	for _, test := range []struct {
		headers []string
		want    string
	}{
		{nil, "1.1"},
		{[]string{ironicVersion, "1.60"}, "1.60"},
		{[]string{ironicVersion, "latest"}, "1.82"},
		{[]string{ironicVersion, "LATEST"}, "1.82"},
		{[]string{ironicVersion, ""}, "1.1"},
		{[]string{common, "baremetal 1.58"}, "1.58"},
		{[]string{common, "Baremetal latest"}, "1.82"},
		{[]string{common, "placement 1.39"}, "1.1"},
		{[]string{common, "placement 1.39", ironicVersion, "1.52"}, "1.52"},
		{[]string{common, "baremetal 1.58", ironicVersion, "1.999"}, "1.58"},
	} {
		got := s.get("/v1", test.headers...)
		if got.Code != http.StatusOK || got.Header().Get(ironicVersion) != test.want {
			t.Errorf("%q: status %d, version %q, want %q", test.headers, got.Code, got.Header().Get(ironicVersion), test.want)
		}
	}
}

func TestMicroversion_BaremetalUnsupported_Returns406(t *testing.T) {
	t.Parallel()
	s := newMachines(t, "")
	for _, version := range []string{"1.999", "1.83", "1.0", "2.1", "0.1"} {
		answer := s.get("/v1/drivers", ironicVersion, version)
		expect(t, answer, http.StatusNotAcceptable, unrouted(406, "Not Acceptable", "Version "+version+
			" was requested but the minor version is not supported by this service. The supported version range is: [1.1, 1.82]."))
		header := answer.Header()
		if header.Get("X-OpenStack-Ironic-API-Minimum-Version") != "1.1" || header.Get("X-OpenStack-Ironic-API-Maximum-Version") != "1.82" ||
			header.Get(ironicVersion) != "" || header.Get("Openstack-Request-Id") == "" {
			t.Errorf("%s: headers %v", version, header)
		}
	}
	for _, version := range []string{"pony", "1", "1.", "1.2.3", "1.x", "-1.5", "1. 5"} {
		answer := s.get("/v1", ironicVersion, version)
		expect(t, answer, http.StatusNotAcceptable, unrouted(406, "Not Acceptable", "Invalid value for X-OpenStack-Ironic-API-Version header"))
		if header := answer.Header(); header.Get("X-OpenStack-Ironic-API-Maximum-Version") != "" || header.Get(ironicVersion) != "" {
			t.Errorf("%s: headers %v", version, header)
		}
	}
}

func TestErrors_BaremetalRoutingError_UsesIronicFormat(t *testing.T) {
	t.Parallel()
	s := newMachines(t, "")
	expect(t, s.get("/v1/mystery"), http.StatusNotFound, unrouted(404, "Not Found", "The resource could not be found."))
	expect(t, s.get("/v1//drivers"), http.StatusNotFound, unrouted(404, "Not Found", "The resource could not be found."))
	wrong := s.send(http.MethodDelete, "/v1/drivers")
	expect(t, wrong, http.StatusMethodNotAllowed,
		unrouted(405, "Method Not Allowed", "The method DELETE is not allowed for this resource."))
	if wrong.Header().Get("Allow") != "GET" {
		t.Errorf("headers are %v", wrong.Header())
	}
	for _, answer := range []*httptest.ResponseRecorder{s.get("/v1/mystery"), wrong, s.get("/v1/drivers?foo=1"), s.get("/v1/drivers", "X-Auth-Token", "u")} {
		header := answer.Header()
		if header.Get(ironicVersion) != "1.1" || header.Get("X-OpenStack-Ironic-API-Minimum-Version") != "1.1" ||
			header.Get("X-OpenStack-Ironic-API-Maximum-Version") != "1.82" ||
			!strings.HasPrefix(header.Get("Openstack-Request-Id"), "req-") ||
			header.Get("Openstack-Request-Id") != header.Get("X-Openstack-Request-Id") {
			t.Errorf("status %d: headers = %v", answer.Code, header)
		}
	}
}

func TestRoute_BaremetalHead_Returns405(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/v1", "/v1/drivers"} {
		answer := newMachines(t, "").send(http.MethodHead, path)
		if answer.Code != http.StatusMethodNotAllowed || answer.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%s: status %d, headers %v", path, answer.Code, answer.Header())
		}
	}
}

func TestQuery_BaremetalUnknownArguments_Return400(t *testing.T) {
	t.Parallel()
	s := newMachines(t, "")
	expect(t, s.get("/v1/drivers?foo=1&type=dynamic", ironicVersion, "1.30"), http.StatusBadRequest, refused("Unexpected arguments: foo"))
	expect(t, s.get("/v1/drivers/?foo&bar=2"), http.StatusBadRequest, refused("Unexpected arguments: bar, foo"))
	expect(t, s.get("/v1/drivers/x?type=dynamic", ironicVersion, "1.30"), http.StatusBadRequest, refused("Unexpected arguments: type"))
	expect(t, s.get("/v1?detail=True"), http.StatusBadRequest, refused("Unexpected arguments: detail"))
	expect(t, s.get("/v1/drivers?type=dynamic", ironicVersion, "1.29"), http.StatusNotAcceptable,
		refused("Only later versions than 1.29 have the arguments: type"))
}

func TestAuth_BaremetalNoauth2WithoutToken_IsAdmin(t *testing.T) {
	t.Parallel()
	s := newMachines(t, "")
	for name, test := range map[string]struct {
		headers []string
		want    int
	}{
		"no token":                     {nil, http.StatusOK},
		"keystoneauth without a token": {[]string{"X-Auth-Token", "notused"}, http.StatusOK},
		"the token of admin":           {[]string{"X-Auth-Token", "admin"}, http.StatusOK},
		"a service":                    {[]string{"X-Auth-Token", "nova", "X-Roles", "service"}, http.StatusOK},
		"a service of a project":       {[]string{"X-Auth-Token", "nova:p", "X-Roles", "service"}, http.StatusForbidden},
		"admin of the system":          {[]string{"X-Auth-Token", "admin", "OpenStack-System-Scope", "all"}, http.StatusOK},
		"a user of a project":          {[]string{"X-Auth-Token", "u:p"}, http.StatusForbidden},
		"an empty token":               {[]string{"X-Auth-Token", ""}, http.StatusForbidden},
		"no token, but a role of less": {[]string{"X-Roles", "reader"}, http.StatusOK},
		"no token, and another role":   {[]string{"X-Roles", "other"}, http.StatusForbidden},
	} {
		answer := s.get("/v1/drivers", test.headers...)
		if answer.Code != test.want {
			t.Errorf("%s: status %d, %s", name, answer.Code, answer.Body)
		}
	}
	expect(t, s.get("/v1/drivers", "X-Auth-Token", "u"), http.StatusForbidden,
		refused("Policy does not allow baremetal:driver:get to be performed."))
	if answer := s.get("/traits"); answer.Code != http.StatusUnauthorized {
		t.Errorf("Placement without a token: status %d", answer.Code)
	}
}

func TestErrors_BaremetalInternalError_HidesCause(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	made := servertest.New(t, servertest.Options{Server: func(options *server.Options) {
		servertest.Baremetal("")(options)
		options.Log = slog.New(slog.NewTextHandler(&log, nil))
	}})
	made.Store.Close()
	s := &service{t: t, handler: made.Handler}
	answer := s.get("/v1/drivers", ironicVersion, "1.82")
	expect(t, answer, http.StatusInternalServerError, map[string]any{
		"faultcode": "Server", "debuginfo": nil, "faultstring": "The server failed. Its log has the cause under the id of this request.",
	})
	if id := answer.Header().Get("Openstack-Request-Id"); id == "" || !strings.Contains(log.String(), id) {
		t.Errorf("the log has no cause of %s: %s", id, log.String())
	}
}

// TestMicroversion_BaremetalUnlisted_ChangeNothing checks that the list contains all versions with
// changes: the documents show only listed versions.
func TestMicroversion_BaremetalUnlisted_ChangeNothing(t *testing.T) {
	t.Parallel()
	listed, all := server.BaremetalTable(server.Options{}), server.BaremetalTableOfEveryVersion()
	for version := microversion.BaremetalMin; version <= microversion.BaremetalMax; version++ {
		own, err := all.Document(version)
		if err != nil {
			t.Fatal(err)
		}
		shared, err := listed.Document(version)
		if err != nil {
			t.Fatal(err)
		}
		nearest := listed.API().Nearest(version)
		shared = bytes.ReplaceAll(shared, []byte(nearest.String()), []byte(version.String()))
		own = bytes.ReplaceAll(own, []byte(nearest.String()), []byte(version.String()))
		if !bytes.Equal(own, shared) {
			t.Errorf("the document changes at %s, which is not in the list of changes", version)
		}
	}
}

func TestOpenAPI_BaremetalDocuments_ServedByVersion(t *testing.T) {
	t.Parallel()
	s := newMachines(t, "")
	table := server.BaremetalTable(server.Options{})
	for version, of := range map[string]uint8{"1.1": 1, "1.82": 82, "1.81": 77, "1.10": 9, "latest": 82} {
		want, err := table.Document(microversion.V(of))
		if err != nil {
			t.Fatal(err)
		}
		if got := s.get("/openapi/baremetal/" + version + ".json").Body.Bytes(); len(got) == 0 || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes, want the %d of 1.%d", version, len(got), len(want), of)
		}
	}
	for _, path := range []string{"/openapi/baremetal/1.83.json", "/openapi/baremetal/1.0.json", "/openapi/baremetal/"} {
		if answer := s.get(path); answer.Code != http.StatusNotFound {
			t.Errorf("%s: status %d", path, answer.Code)
		}
	}
}
