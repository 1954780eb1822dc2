package microversion_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/berthd/berth/server/microversion"
)

func TestMicroversion_ExtensionHeader_Recognized(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]bool{
		"":                            false,
		"baremetal 1.82":              false,
		"berth":                       false,
		"baremetal 1.82, berth 1.0":   true,
		"Berth latest,baremetal 1.82": true,
	} {
		if got, err := microversion.Extended(http.Header{"Openstack-Api-Version": {header}}); got != want || err != nil {
			t.Errorf("%q: %v, %v", header, got, err)
		}
	}
	_, err := microversion.Extended(http.Header{"Openstack-Api-Version": {"berth 1.1"}})
	var refused *microversion.ExtensionError
	if !errors.As(err, &refused) || refused.Text != "1.1" {
		t.Errorf("got %v", err)
	}
}
