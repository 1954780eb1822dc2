package route_test

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berthd/berth/server/api/apierr"
	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/wire/microversion"
	"github.com/berthd/berth/server/wire/request"
)

// Lid is a resource with members of extensions.
type Lid struct {
	Name   string  `json:"name"`
	Handle *string `json:"handle,omitempty" since:"berth 2"`
}

type lidAnswer struct{ Body Lid }

type lidPath struct {
	Name string `path:"name"`
}

func showLid(_ context.Context, in *lidPath) (*lidAnswer, error) {
	return &lidAnswer{Body: Lid{Name: in.Name}}, nil
}

func openLid(context.Context, *none) (*lidAnswer, error) {
	return &lidAnswer{Body: Lid{Name: "open"}}, nil
}

func putLid(_ context.Context, _ *none, body *Lid) (*lidAnswer, error) { return &lidAnswer{*body}, nil }

// lids returns a table with a path that an extension adds a method to, and a path of an extension that precedes one
// with a variable.
func lids() *route.Table {
	berth := microversion.Berth
	heavy := route.Query(func(at microversion.Version) []*huma.Param {
		if at < berth(2) {
			return nil
		}
		return []*huma.Param{{Name: "heavy", In: "query", Schema: &huma.Schema{Type: huma.TypeString}}}
	})
	return boxes(
		&route.Operation{ID: "lid-open", Method: http.MethodGet, Path: "/lids/open", Summary: "Open",
			Variants: []route.Variant{route.From(berth(2), openLid)}},
		&route.Operation{ID: "lid-show", Method: http.MethodGet, Path: "/lids/{name}", Summary: "Show", Checks: []route.Check{route.Version},
			Variants: []route.Variant{route.From(5, showLid, heavy)}},
		&route.Operation{ID: "lid-put", Method: http.MethodPut, Path: "/lids/{name}", Summary: "Put", Checks: []route.Check{route.LenientJSON},
			Variants: []route.Variant{route.Write(1, route.Body[none]{}, putLid)}},
		&route.Operation{ID: "lid-paint", Method: http.MethodPost, Path: "/lids/{name}", Summary: "Paint",
			Variants: []route.Variant{route.From(berth(1), showLid)}},
		&route.Operation{ID: "lid-stack", Method: http.MethodPost, Path: "/stack", Summary: "Stack",
			Variants: []route.Variant{route.From(berth(1), openLid)}},
	)
}

// sendAt serves a request without a body, or with a JSON body, at a version.
func sendAt(t *testing.T, table *route.Table, at microversion.Version, method, target, body string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	info := &request.Info{Service: request.Baremetal, HTTP: r}
	r = r.WithContext(microversion.With(request.With(t.Context(), info), at))
	info.HTTP = r
	w := httptest.NewRecorder()
	if err := table.Serve(w, r); err != nil {
		apierr.Write(w, r, err)
	}
	return w
}

func TestRoute_OperationOfExtension_ExistsSinceItsVersion(t *testing.T) {
	t.Parallel()
	table := lids()
	for _, test := range []struct {
		version microversion.Version
		target  string
		status  int
		allow   string
		text    string
	}{
		{4, "POST /lids/a", 405, "GET, PUT", ""},
		{9, "POST /lids/a", 405, "GET, PUT", ""},
		{9, "DELETE /lids/a", 405, "GET, PUT", ""},
		{microversion.Berth(1), "POST /lids/a", 200, "", `{"name":"a"}`},
		{microversion.Berth(2), "POST /lids/a", 200, "", `{"name":"a"}`},
		{microversion.Berth(1), "DELETE /lids/a", 405, "GET, PUT, POST", ""},
		// A path of an extension does not exist below its version, and does not shadow another one.
		{9, "POST /stack", 404, "", ""},
		{9, "GET /stack", 404, "", ""},
		{microversion.Berth(1), "POST /stack", 200, "", `{"name":"open"}`},
		{microversion.Berth(1), "GET /stack", 405, "POST", ""},
		{4, "GET /lids/open", 404, "", ""},
		{9, "GET /lids/open", 200, "", `{"name":"open"}`},
		{microversion.Berth(1), "PUT /lids/open", 200, "", `{"name":"b"}`},
		{microversion.Berth(1), "GET /lids/open", 200, "", `{"name":"open"}`},
		{microversion.Berth(2), "PUT /lids/open", 405, "GET", ""},
	} {
		method, path, _ := strings.Cut(test.target, " ")
		body := ""
		if method == http.MethodPut {
			body = `{"name": "b"}`
		}
		answer := sendAt(t, table, test.version, method, path, body)
		if answer.Code != test.status || answer.Header().Get("Allow") != test.allow || !strings.Contains(answer.Body.String(), test.text) {
			t.Errorf("%s at %s: %d, Allow %q, %s, want %+v", test.target, test.version.Label(), answer.Code, answer.Header().Get("Allow"), answer.Body, test)
		}
	}
}

func TestQuery_ParameterOfExtension_UnknownBelow(t *testing.T) {
	t.Parallel()
	table := lids()
	for version, want := range map[microversion.Version]int{9: 400, microversion.Berth(1): 400, microversion.Berth(2): 200} {
		answer := sendAt(t, table, version, http.MethodGet, "/lids/a?heavy=1", "")
		if answer.Code != want || want == 400 && !strings.Contains(answer.Body.String(), "Unexpected arguments: heavy") {
			t.Errorf("%s: %d %s", version.Label(), answer.Code, answer.Body)
		}
	}
}

func TestMicroversion_BodyMemberOfExtension_UnknownBelow(t *testing.T) {
	t.Parallel()
	table := lids()
	for version, want := range map[microversion.Version]int{9: 400, microversion.Berth(1): 400, microversion.Berth(2): 200} {
		answer := sendAt(t, table, version, http.MethodPut, "/lids/a", `{"name": "a", "handle": "left"}`)
		if answer.Code != want || want == 400 && !strings.Contains(answer.Body.String(), "('handle' was unexpected)") {
			t.Errorf("%s: %d %s", version.Label(), answer.Code, answer.Body)
		}
	}
}

func TestOpenAPI_DocumentOfExtension_HasItsOperations(t *testing.T) {
	t.Parallel()
	table := lids()
	for version, want := range map[microversion.Version]struct {
		label, members, operations string
	}{
		7:                     {"1.7", "name", "lid-put lid-show"},
		9:                     {"1.7", "name", "lid-put lid-show"},
		microversion.Berth(1): {"1.39, berth 1.1", "name", "lid-paint lid-put lid-show lid-stack"},
		microversion.Berth(2): {"1.39, berth 1.2", "handle name", "lid-open lid-paint lid-put lid-show lid-stack"},
	} {
		raw, err := table.Document(version)
		if err != nil {
			t.Fatal(err)
		}
		var document struct {
			Info       struct{ Version string }
			Paths      map[string]map[string]struct{ OperationID string }
			Components struct {
				Schemas map[string]struct{ Properties map[string]any }
			}
		}
		if err := json.Unmarshal(raw, &document); err != nil {
			t.Fatal(err)
		}
		var operations []string
		for _, item := range document.Paths {
			for _, op := range item {
				operations = append(operations, op.OperationID)
			}
		}
		slices.Sort(operations)
		members := slices.Sorted(maps.Keys(document.Components.Schemas["Lid"].Properties))
		if document.Info.Version != want.label || strings.Join(members, " ") != want.members || strings.Join(operations, " ") != want.operations {
			t.Errorf("%s: document of %q with members %q and operations %q", version.Label(), document.Info.Version, members, operations)
		}
	}
}
