package route_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berthd/berth/server/api/apierr"
	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/identity/policy"
	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/microversion"
	"github.com/berthd/berth/server/wire/request"
)

// Box is the resource of the API in these tests.
type Box struct {
	Name  string  `json:"name"`
	Color *string `json:"color,omitempty" since:"5"`
	Shape *string `json:"shape,omitempty" since:"7,unknown"`
}

// part is embedded, so that its members count as members of the embedding struct.
type part struct {
	Weight int `json:"weight" since:"5"`
}

type Crate struct {
	part
	Box  Box    `json:"box"`
	Note string `json:"-"`
}

type none struct{}

type answer struct{ Body Box }

func put(_ context.Context, _ *none, body *Box) (*answer, error) { return &answer{Body: *body}, nil }

// boxes returns an API with versions 1.1 to 1.9, of which 1.1, 1.5 and 1.7 differ.
func boxes(operations ...*route.Operation) *route.Table {
	return route.New(operations, route.Options{
		Policy: policy.NewBaremetal(), Bodies: route.BodyLimits{Max: 100},
		API: &route.API{
			Service: request.Baremetal, Min: 1, Max: 9, Changes: []microversion.Version{1, 5, 7}, StrictQuery: true,
			Extensions: []microversion.Version{microversion.Berth(1), microversion.Berth(2)}, Label: microversion.Version.Label,
			Title: "Boxes", Description: microversion.Version.String,
			VersionHeader: "Box-Version", VersionValue: microversion.Version.String,
			Headers: func(microversion.Version) map[string]*huma.Header { return map[string]*huma.Header{} },
			Errors:  reflect.TypeFor[apierr.Baremetal](),
			Usual:   route.Failure{Name: "always", When: "Always.", Fault: fault.New(fault.Invalid, "always")}, UsualName: "Usual",
			Denied: func(context.Context) any { return apierr.NewDenial() }, Unsupported: &microversion.BaremetalError{Text: "1.10"},
		},
	})
}

func putBox(optional bool) *route.Operation {
	return &route.Operation{
		ID: "box-put", Method: http.MethodPut, Path: "/box", Summary: "Put", Checks: []route.Check{route.LenientJSON},
		Variants: []route.Variant{route.Write(1, route.Body[none]{Optional: optional}, put,
			route.Query(func(at microversion.Version) []*huma.Param {
				if at < 5 {
					return nil
				}
				return []*huma.Param{{Name: "size", In: "query", Schema: &huma.Schema{Type: huma.TypeString}}}
			}))},
	}
}

func serve(t *testing.T, table *route.Table, version microversion.Version, target, body string) (status int, text string) {
	t.Helper()
	r := httptest.NewRequest(http.MethodPut, target, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	info := &request.Info{Service: request.Baremetal, HTTP: r}
	r = r.WithContext(microversion.With(request.With(t.Context(), info), version))
	info.HTTP = r
	w := httptest.NewRecorder()
	if err := table.Serve(w, r); err != nil {
		apierr.Write(w, r, err)
	}
	return w.Code, strings.TrimSpace(w.Body.String())
}

func TestMicroversion_BodyMember_AcceptedSinceItsVersion(t *testing.T) {
	t.Parallel()
	table := boxes(putBox(false))
	for _, test := range []struct {
		version microversion.Version
		body    string
		status  int
		text    string
	}{
		{4, `{"name": "a"}`, 200, `{"name":"a"}`},
		{4, `{"name": "a", "color": "red"}`, 406, "The field color can be sent from version 1.5 on; this request is of version 1.4."},
		{4, `{"name": "a", "color": null}`, 406, "The field color can be sent from version 1.5 on; this request is of version 1.4."},
		{5, `{"name": "a", "color": "red"}`, 200, `{"name":"a","color":"red"}`},
		{6, `{"name": "a", "shape": "round"}`, 400, "JSON does not validate: Additional properties are not allowed ('shape' was unexpected)"},
		{8, `{"name": "a", "shape": "round"}`, 200, `{"name":"a","shape":"round"}`},
		{9, `[]`, 400, "JSON does not validate: [] is not of type 'object'"},
		{9, `{"name": "a"`, 400, "Malformed JSON: "},
		{9, ``, 400, "Malformed JSON: "},
		{9, `{"name": "` + strings.Repeat("a", 100) + `"}`, 413, "The request's body is larger than the limit of 100 bytes"},
	} {
		status, text := serve(t, table, test.version, "/box", test.body)
		if status != test.status || !strings.Contains(text, test.text) {
			t.Errorf("%s at %s: %d %s, want %d %s", test.body, test.version, status, text, test.status, test.text)
		}
	}
}

func TestRoute_OptionalBodyMissing_TreatedAsEmptyObject(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"", " \n", "{}"} {
		if status, text := serve(t, boxes(putBox(true)), 9, "/box", body); status != 400 || !strings.Contains(text, "'name' is a required property") {
			t.Errorf("%q: %d %s", body, status, text)
		}
	}
}

func TestQuery_DocumentedParameters_Enforced(t *testing.T) {
	t.Parallel()
	table := boxes(putBox(false))
	for _, test := range []struct {
		version microversion.Version
		query   string
		status  int
		text    string
	}{
		{5, "size=1", 200, ""},
		{5, "", 200, ""},
		{5, "size=1&sise=2&a", 400, "Unexpected arguments: a, sise"},
		{4, "size=1", 406, "Only later versions than 1.4 have the arguments: size"},
		{4, "size=1&foo=2", 400, "Unexpected arguments: foo, size"},
		{5, "size=%ff", 400, `Invalid query string: the value of parameter \\\"size\\\" is not UTF-8`},
	} {
		status, text := serve(t, table, test.version, "/box?"+test.query, `{"name":"a"}`)
		if status != test.status || !strings.Contains(text, test.text) {
			t.Errorf("%s at %s: %d %s", test.query, test.version, status, text)
		}
	}
}

func TestOpenAPI_DocumentOfVersion_HasItsMembers(t *testing.T) {
	t.Parallel()
	table := boxes(putBox(false))
	for version, want := range map[microversion.Version]struct {
		own     string
		members []string
	}{
		1: {"1.1", []string{"name"}}, 4: {"1.1", []string{"name"}},
		5: {"1.5", []string{"color", "name"}}, 6: {"1.5", []string{"color", "name"}},
		7: {"1.7", []string{"color", "name", "shape"}}, 9: {"1.7", []string{"color", "name", "shape"}},
	} {
		raw, err := table.Document(version)
		if err != nil {
			t.Fatal(err)
		}
		var document struct {
			Info       struct{ Version string }
			Components struct {
				Schemas map[string]struct{ Properties map[string]any }
			}
		}
		if err := json.Unmarshal(raw, &document); err != nil {
			t.Fatal(err)
		}
		var members []string
		for name := range document.Components.Schemas["Box"].Properties {
			members = append(members, name)
		}
		slices.Sort(members)
		if document.Info.Version != want.own || !slices.Equal(members, want.members) {
			t.Errorf("%s: document of %s with members %q, want %s with %q", version, document.Info.Version, members, want.own, want.members)
		}
	}
}

func TestRoute_FieldsOf_ListsObjectMembers(t *testing.T) {
	t.Parallel()
	var got []string
	for _, field := range route.FieldsOf(reflect.TypeFor[*Crate]()) {
		got = append(got, field.Name+" "+field.Since.String())
	}
	if want := []string{"weight 1.5", "box 1.0"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := route.FieldsOf(reflect.TypeFor[[]Box]()); got != nil {
		t.Errorf("members of a list = %v, want none", got)
	}
}
