package querystring_test

import (
	"reflect"
	"testing"

	"github.com/berthd/berth/server/wire/querystring"
)

func TestQuery_Encode_ParsesAsSameValues(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		"resources=VCPU:8,MEMORY_MB:16384&required=!CUSTOM_A&member_of=in:a,b", "a=+%26%3D%25%2B%23&b=", "=", "ü=%C3%BC&ü=%0A",
	} {
		values, err := querystring.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		again, err := querystring.Parse(values.Encode())
		if err != nil || !reflect.DeepEqual(again, values) {
			t.Errorf("%q is encoded as %q: %v", raw, values.Encode(), err)
		}
	}
	const readable = "resources=VCPU:8,MEMORY_MB:16384&required=!CUSTOM_A&member_of=in:a,b"
	values, _ := querystring.Parse(readable)
	if got := values.Encode(); got != readable {
		t.Errorf("encoded = %q, want %q", got, readable)
	}
	if got := values.Without("required").Encode(); got != "resources=VCPU:8,MEMORY_MB:16384&member_of=in:a,b" {
		t.Errorf("without required = %q", got)
	}
}
