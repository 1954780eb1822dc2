package baremetal

import (
	"context"
	"encoding/json"
	"net/http"
	neturl "net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/microversion"
	"github.com/berthd/berth/server/wire/request"
)

// asking returns the context and the arguments of a request.
func asking(t *testing.T, version microversion.Version, rawQuery string) (context.Context, args) {
	t.Helper()
	ctx := request.With(at(version), &request.Info{
		Base: "https://machines:6385", Prefix: "/bm", RawQuery: rawQuery, HTTP: &http.Request{Method: http.MethodGet},
	})
	given, err := arguments(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return ctx, given
}

func refusal(t *testing.T, err error, kind fault.Kind, text string) {
	t.Helper()
	if found := fault.As(err); found == nil || found.Kind != kind || found.Detail != text {
		t.Errorf("got %v, want %q", err, text)
	}
}

func TestQuery_Fields_SelectMembers(t *testing.T) {
	t.Parallel()
	whole := thing{UUID: "u", Extra: map[string]any{}, Links: []Link{}}
	for _, test := range []struct {
		version microversion.Version
		query   string
		want    string
	}{
		{82, "", `{"uuid":"u","name":null,"extra":{},"owner":null,"links":[]}`},
		{49, "", `{"uuid":"u","name":null,"extra":{},"links":[]}`},
		{82, "fields=name", `{"name":null,"links":[]}`},
		{82, "fields=OWNER,%20uuid,uuid", `{"uuid":"u","owner":null,"links":[]}`},
		{82, "fields=links", `{"links":[]}`},
	} {
		ctx, given := asking(t, test.version, test.query)
		chosen, err := thingShape.asked(ctx, given, thingShape.all(ctx))
		if err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(thingShape.show(chosen, &whole))
		if err != nil || string(got) != test.want {
			t.Errorf("%s at %s: %s (%v), want %s", test.query, test.version, got, err, test.want)
		}
	}
}

func TestQuery_UnknownFields_Rejected(t *testing.T) {
	t.Parallel()
	ctx, given := asking(t, 82, "fields=uuid,foo,bar")
	_, err := thingShape.asked(ctx, given, nil)
	refusal(t, err, fault.Invalid, `Field(s) "foo", "bar" are not valid`)
	ctx, given = asking(t, 82, "fields=")
	_, err = thingShape.asked(ctx, given, nil)
	refusal(t, err, fault.Invalid, `Field(s) "" are not valid`)
	ctx, given = asking(t, 49, "fields=owner,uuid")
	_, err = thingShape.asked(ctx, given, nil)
	refusal(t, err, fault.NotAcceptable, "The field owner exists from version 1.50 on; this request is of version 1.49.")
}

func TestQuery_PageParameters_Parsed(t *testing.T) {
	t.Parallel()
	marker := uuid.MustParse("c0ffee00-5ca1-4b1e-8000-000000000001")
	for query, want := range map[string]store.Page{
		"":                           {Limit: 1000, SortKey: "id", SortDir: "asc"},
		"limit=2":                    {Limit: 2, SortKey: "id", SortDir: "asc"},
		"limit=5000&sort_dir=desc":   {Limit: 1000, SortKey: "id", SortDir: "desc"},
		"limit=99999999999999999999": {Limit: 1000, SortKey: "id", SortDir: "asc"},
		"sort_key=name&marker=" + marker.String(): {Limit: 1000, SortKey: "name", SortDir: "asc", Marker: &marker},
		"marker=C0FFEE005CA14B1E8000000000000001": {Limit: 1000, SortKey: "id", SortDir: "asc", Marker: &marker},
	} {
		_, given := asking(t, 82, query)
		if got, err := pageOf(given, "name"); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v (%v), want %+v", query, got, err, want)
		}
	}
	for query, want := range map[string]string{
		"limit=0":                     "Limit must be positive",
		"limit=-1":                    "Limit must be positive",
		"limit=-99999999999999999999": "Limit must be positive",
		"limit=99999999999999999999x": "Invalid value '99999999999999999999x' for limit: it is not an integer.",
		"limit=x":                     "Invalid value 'x' for limit: it is not an integer.",
		"marker=x":                    "Expected UUID for marker: x",
		"sort_key=extra":              `The sort_key value "extra" is an invalid field for sorting`,
		"sort_dir=up":                 "Invalid sort direction: up. Acceptable values are 'asc' or 'desc'",
	} {
		_, given := asking(t, 82, query)
		_, err := pageOf(given, "name")
		refusal(t, err, fault.Invalid, want)
	}
}

func TestQuery_NextLink_KeepsFilters(t *testing.T) {
	t.Parallel()
	last := uuid.MustParse("c0ffee00-5ca1-4b1e-8000-000000000002")
	ctx, given := asking(t, 82, "owner=a%26b&fields=uuid,name&limit=2&marker=c0ffee00-5ca1-4b1e-8000-000000000001&sort_dir=desc&sort_key=name")
	page, err := pageOf(given, "name")
	if err != nil {
		t.Fatal(err)
	}
	if link := next(ctx, "/v1/things", given, page, 1, last.String()); link != nil {
		t.Errorf("next of a page that is not full = %s, want none", *link)
	}
	link, err := neturl.Parse(*next(ctx, "/v1/things", given, page, 2, last.String()))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(link.String(), "https://machines:6385/bm/v1/things?") {
		t.Errorf("next = %s", link)
	}
	sent := strings.Split(link.RawQuery, "&")
	slices.Sort(sent)
	want := []string{"fields=uuid%2Cname", "limit=2", "marker=" + last.String(), "owner=a%26b", "sort_dir=desc", "sort_key=name"}
	if !slices.Equal(sent, want) {
		t.Errorf("query of next = %q, want %q", sent, want)
	}
}

func TestQuery_Ident_UUIDOrName(t *testing.T) {
	t.Parallel()
	for sent, want := range map[string]string{
		"c0ffee00-5ca1-4b1e-8000-000000000001": "c0ffee00-5ca1-4b1e-8000-000000000001",
		"C0FFEE005CA14B1E8000000000000001":     "c0ffee00-5ca1-4b1e-8000-000000000001",
		"rack-7.example~_org":                  "rack-7.example~_org",
		"1":                                    "1",
	} {
		if got, err := ident(sent); err != nil || got != want {
			t.Errorf("%q: %q (%v), want %q", sent, got, err, want)
		}
	}
	for _, sent := range []string{"", "a b", "a/b", "ä", "a\n", "a:b", strings.Repeat("a", 256)} {
		_, err := ident(sent)
		refusal(t, err, fault.Invalid, "Expected a logical name or UUID but received "+sent+".")
	}
}

func TestJSON_Time_HasMicrosecondsAndOffset(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		at   time.Time
		want string
	}{
		{time.Date(2026, 11, 20, 16, 8, 1, 836794999, time.FixedZone("", 3600)), `"2026-11-20T15:08:01.836794+00:00"`},
		{time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), `"2026-01-02T03:04:05.000000+00:00"`},
	} {
		if got, err := json.Marshal(Time(test.at)); err != nil || string(got) != test.want {
			t.Errorf("got %s (%v), want %s", got, err, test.want)
		}
	}
	if got, err := json.Marshal(maybe(nil)); err != nil || string(got) != "null" {
		t.Errorf("missing time = %s (%v)", got, err)
	}
}

func TestQuery_BooleanSpellings_Parsed(t *testing.T) {
	t.Parallel()
	for sent, want := range map[string]bool{
		"True": true, "true": true, "1": true, "yes": true, "on": true, "False": false, "false": false, "0": false, "no": false, "off": false,
	} {
		_, given := asking(t, 82, "detail="+sent)
		if got, err := given.flag("detail"); err != nil || got == nil || *got != want {
			t.Errorf("%s: %v (%v)", sent, got, err)
		}
	}
	_, given := asking(t, 82, "detail=maybe")
	_, err := given.flag("detail")
	refusal(t, err, fault.Invalid, "Invalid value 'maybe' for detail: it is neither true nor false.")
	if got, err := given.flag("other"); got != nil || err != nil {
		t.Errorf("omitted flag = %v (%v)", got, err)
	}
}

func TestJSON_Links_AreAbsolute(t *testing.T) {
	t.Parallel()
	ctx, _ := asking(t, 82, "")
	want := []Link{{Href: "https://machines:6385/bm/v1/nodes/u", Rel: "self"}, {Href: "https://machines:6385/bm/nodes/u", Rel: "bookmark"}}
	if got := links(ctx, "nodes/u"); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestMicroversion_BaremetalFieldVersions_AllListed(t *testing.T) {
	t.Parallel()
	for _, field := range slices.Concat(
		discoveryShape.fields, driverShape.fields, nodeShape.fields, nodeStatesShape.fields, portShape.fields, conductorShape.fields,
		newShape[NodeCreate]().fields, newShape[NodePower]().fields, newShape[PortCreate]().fields,
	) {
		if field.Since > 0 && !slices.Contains(changes, field.Since) {
			t.Errorf("%s exists since %s, which is not listed", field.Name, field.Since)
		}
	}
	if !slices.IsSorted(changes) || changes[0] != microversion.BaremetalMin {
		t.Errorf("changes = %v", changes)
	}
}
