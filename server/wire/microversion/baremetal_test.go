package microversion_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/berthd/berth/server/wire/microversion"
)

func TestMicroversion_BaremetalHeaders_CommonTakesPrecedence(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		common, own string
		want        microversion.Version
	}{
		{"", "", 1},
		{"", "1.1", 1},
		{"", " 1.82 ", 82},
		{"", "1.07", 7},
		{"", "Latest", 82},
		{"baremetal 1.60", "", 60},
		{"baremetal 1.60", "1.70", 60},
		{"placement 1.39, BareMetal latest", "1.70", 82},
		{"placement 1.39", "1.70", 70},
		{"baremetal", "1.70", 70},
	} {
		header := http.Header{}
		if test.common != "" {
			header.Set("OpenStack-API-Version", test.common)
		}
		if test.own != "" {
			header.Set("X-OpenStack-Ironic-API-Version", test.own)
		}
		if got, err := microversion.NegotiateBaremetal(header); err != nil || got != test.want {
			t.Errorf("%+v: %s, %v", test, got, err)
		}
	}
}

func TestMicroversion_BaremetalMalformed_DistinctFromUnsupported(t *testing.T) {
	t.Parallel()
	for text, malformed := range map[string]bool{
		"1.0": false, "1.83": false, "1.999": false, "0.60": false, "2.1": false, "1.99999": false,
		"1": true, "1.": true, ".1": true, "1.2.3": true, "+1.5": true, "1.-5": true, "x.y": true,
	} {
		_, err := microversion.NegotiateBaremetal(http.Header{"Openstack-Api-Version": {"baremetal " + text}})
		var refused *microversion.BaremetalError
		header := http.Header{}
		if !errors.As(err, &refused) || refused.Malformed != malformed || refused.Text != text {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if refused.SetHeaders(header); (len(header) == 0) != malformed {
			t.Errorf("%q: headers = %v", text, header)
		}
	}
}
