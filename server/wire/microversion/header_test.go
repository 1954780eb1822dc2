package microversion_test

import (
	"maps"
	"testing"

	"github.com/berthd/berth/server/wire/microversion"
)

func TestMicroversion_Header_Parsed(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name   string
		values []string
		want   map[string]string
	}{
		{"no header asks for nothing", nil, nil},
		{"an empty header asks for nothing", []string{""}, nil},
		{"one service", []string{"placement 1.7"}, map[string]string{"placement": "1.7"}},
		{"several services in one header", []string{"compute 2.90, placement 1.7,berth 1.0"},
			map[string]string{"compute": "2.90", "placement": "1.7", "berth": "1.0"}},
		{"repeated headers count as one", []string{"compute 2.90", "placement 1.7"},
			map[string]string{"compute": "2.90", "placement": "1.7"}},
		{"the last entry of a service wins", []string{"placement 1.7,placement 1.3"},
			map[string]string{"placement": "1.3"}},
		{"the last header of a service wins", []string{"placement 1.7", "placement 1.3"},
			map[string]string{"placement": "1.3"}},
		{"service names ignore case", []string{"Placement 1.7, PLACEMENT 1.3, BareMetal 1.60"},
			map[string]string{"placement": "1.3", "baremetal": "1.60"}},
		{"an entry without version is skipped", []string{"placement"}, nil},
		{"an entry without version does not cancel an earlier one", []string{"placement 1.7, placement ,"},
			map[string]string{"placement": "1.7"}},
		{"a bare version is a service without version", []string{"1.7"}, nil},
		{"whitespace around the parts is dropped", []string{"  placement \t 1.7  "},
			map[string]string{"placement": "1.7"}},
		{"only the first gap splits", []string{"placement 1.5 foo"}, map[string]string{"placement": "1.5 foo"}},
		{"version texts are kept as they are", []string{"placement LATEST"}, map[string]string{"placement": "LATEST"}},
	}
	services := []string{"placement", "PlaceMent", "compute", "berth", "baremetal", "1.7", ""}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			requested := microversion.Parse(c.values)
			got := map[string]string{}
			for _, service := range services {
				if text, ok := requested.Version(service); ok {
					got[service] = text
				}
			}
			want := maps.Clone(c.want)
			if want == nil {
				want = map[string]string{}
			}
			if text, ok := want["placement"]; ok {
				want["PlaceMent"] = text
			}
			if !maps.Equal(got, want) {
				t.Errorf("Parse(%q) holds %v, want %v", c.values, got, want)
			}
		})
	}
}

func TestMicroversion_ZeroRequested_MeansMinimum(t *testing.T) {
	t.Parallel()
	v, err := microversion.Negotiate(microversion.Requested{})
	if v != microversion.Min || err != nil {
		t.Errorf("got %v, %v; want %v, nil", v, err, microversion.Min)
	}
}
