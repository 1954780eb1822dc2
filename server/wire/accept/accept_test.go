package accept_test

import (
	"testing"

	"github.com/berthd/berth/server/wire/accept"
)

// FuzzParse checks that each media type has a quality from 0 to 1 in any header, and that a header with
// */* at its end accepts each media type.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"", "*/*", "application/json", "text/html;q=0.9, application/json;q=0.1", "text/*;q=NaN", "a/b;q=1e9", "a/b;q=-0",
		"/,/", "application/json;;;q==1", "\xff/\x00", "text/html;Q=0x1p-2", "a/b/c;q=+Inf",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, header string) {
		ranges := accept.Parse(header)
		for _, mediaType := range []string{"application/json", "text/html", "text/plain", "", "/"} {
			if q := ranges.Quality(mediaType); !(q >= 0 && q <= 1) {
				t.Errorf("%q: quality of %q = %v", header, mediaType, q)
			}
		}
		more := accept.Parse(header + ", */*")
		for _, mediaType := range []string{"application/json", "text/html"} {
			if ranges.Quality(mediaType) > 0 && more.Quality(mediaType) == 0 {
				t.Errorf("%q accepts %s, but not with */* appended", header, mediaType)
			}
		}
	})
}
