package request

import (
	"regexp"
	"testing"
)

// FuzzGlobalID checks that the request ID of a client, which is logged, has the format of OpenStack's services or is
// ignored.
func FuzzGlobalID(f *testing.F) {
	for _, seed := range []string{
		"", "req-0a1b2c3d-0000-4000-8000-00000000abcd", "req-0A1B2C3D-0000-4000-8000-00000000abcd",
		"req-{0a1b2c3d-0000-4000-8000-0000000abcd}", "req-urn:uuid:0a1b2c3d-0000-4000-8000-00000000abcd", "req-\n", "req-" + "١٢٣",
	} {
		f.Add(seed)
	}
	form := regexp.MustCompile(`^req-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	f.Fuzz(func(t *testing.T, id string) {
		if got := globalID(id); got != "" && (got != id || !form.MatchString(got)) {
			t.Errorf("globalID(%q) = %q", id, got)
		}
	})
}
