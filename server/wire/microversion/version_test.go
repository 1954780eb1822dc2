package microversion_test

import (
	"encoding/json"
	"net/http"
	"reflect"
	"testing"

	"github.com/berthd/berth/server/wire/microversion"
)

func TestMicroversion_Version_FormattedAsText(t *testing.T) {
	t.Parallel()
	cases := []struct {
		version      microversion.Version
		text, header string
	}{
		{microversion.Min, "1.0", "placement 1.0"},
		{microversion.V(7), "1.7", "placement 1.7"},
		{microversion.V(10), "1.10", "placement 1.10"},
		{microversion.Max, "1.39", "placement 1.39"},
	}
	for _, c := range cases {
		t.Run(c.text, func(t *testing.T) {
			t.Parallel()
			if c.version.String() != c.text || c.version.HeaderValue() != c.header {
				t.Errorf("got %q and %q, want %q and %q", c.version.String(), c.version.HeaderValue(), c.text, c.header)
			}
		})
	}
}

func TestMicroversion_Versions_ComparedNumerically(t *testing.T) {
	t.Parallel()
	if microversion.V(9) >= microversion.V(10) {
		t.Error("1.9 is not older than 1.10")
	}
}

func TestMicroversion_ResponseHeaders_AnnounceVersionAndVary(t *testing.T) {
	t.Parallel()
	got := http.Header{"Vary": {"something"}, "X-Kept": {"yes"}}
	microversion.V(7).SetHeaders(got)
	want := http.Header{
		"Openstack-Api-Version": {"placement 1.7"},
		"Vary":                  {"openstack-api-version"},
		"X-Kept":                {"yes"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestMicroversion_TransportFeatures_BeginAtTheirVersion(t *testing.T) {
	t.Parallel()
	for _, v := range microversion.All() {
		if v.HasCacheHeaders() != (int(v) >= 15) {
			t.Errorf("%v: HasCacheHeaders = %v", v, v.HasCacheHeaders())
		}
		if v.HasErrorCode() != (int(v) >= 23) {
			t.Errorf("%v: HasErrorCode = %v", v, v.HasErrorCode())
		}
	}
}

func TestMicroversion_Context_CarriesVersion(t *testing.T) {
	t.Parallel()
	if v, ok := microversion.Lookup(t.Context()); v != microversion.Min || ok {
		t.Errorf("without a version: got %v, %v", v, ok)
	}
	if v := microversion.From(t.Context()); v != microversion.Min {
		t.Errorf("without a version: got %v", v)
	}
	ctx := microversion.With(t.Context(), microversion.V(7))
	if v, ok := microversion.Lookup(ctx); v != microversion.V(7) || !ok {
		t.Errorf("with 1.7: got %v, %v", v, ok)
	}
	if v := microversion.From(ctx); v != microversion.V(7) {
		t.Errorf("with 1.7: got %v", v)
	}
}

func TestMicroversion_VersionsDocument_MatchesContract(t *testing.T) {
	t.Parallel()
	got, err := json.Marshal(microversion.VersionsDocument())
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"versions":[{"id":"v1.0","max_version":"1.39","min_version":"1.0",` +
		`"status":"CURRENT","links":[{"rel":"self","href":""}]}]}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
