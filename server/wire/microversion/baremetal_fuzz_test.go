package microversion_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/berthd/berth/server/wire/microversion"
)

// FuzzNegotiateBaremetal checks that every pair of headers either selects an existing version, which negotiates to
// itself, or returns a *BaremetalError.
func FuzzNegotiateBaremetal(f *testing.F) {
	for _, seed := range [][2]string{
		{"", ""}, {"baremetal 1.60", "1.10"}, {"baremetal latest", ""}, {"", "1.82"}, {"", "1.083"}, {"placement 1.39", " 1.5 "},
		{"baremetal 1.99999999999999999999", ""}, {"baremetal", "LATEST"}, {"", "1._5"}, {"", "١.٥"}, {"", "-1.5"}, {"", "1."},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, common, own string) {
		headers := http.Header{}
		headers.Set(microversion.Header, common)
		headers.Set(microversion.BaremetalHeader, own)
		got, err := microversion.NegotiateBaremetal(headers)
		if err != nil {
			var refused *microversion.BaremetalError
			if !errors.As(err, &refused) || refused.Text == "" {
				t.Fatalf("%q, %q: rejected with %v", common, own, err)
			}
			return
		}
		if got < microversion.BaremetalMin || got > microversion.BaremetalMax {
			t.Fatalf("%q, %q: means %d", common, own, got)
		}
		headers.Del(microversion.Header)
		headers.Set(microversion.BaremetalHeader, got.String())
		again, err := microversion.NegotiateBaremetal(headers)
		if again != got || err != nil {
			t.Errorf("%s does not negotiate to itself: %v, %v", got, again, err)
		}
	})
}
